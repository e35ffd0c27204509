import type { WireData } from "../../kernel/wire.ts";
import type { Query } from "../../store/database.ts";
import { statOf } from "../../store/disk/disk.ts";
import { commitMessage, enqueue } from "../../store/git/history.ts";
import type { StagedFile } from "../../store/publications.ts";
import { type ListedEntry, saveVersion } from "../../store/queries/entries.ts";
import { type Author, approvalTrailers, identityOf, summaryOf, writerColumns } from "../entry.ts";
import { type Cause, causeData, causeText } from "./cause.ts";
import { countWords } from "./document.ts";

/** The paths of entries' files: relative to the workspace, and absolute. */
export type EntryFiles = { pathOf(id: string): string; fileOf(id: string): string; now(): Date };

/** A new version of an entry whose file is staged, or was written by a person. */
export type FileVersion = {
  id: string;
  /** The version before, if there is one. */
  row: Pick<ListedEntry, "version" | "blob"> | undefined;
  bytes: Buffer;
  /** The name that git gives the bytes. */
  blob: string;
  body: string;
  title: string | null;
  links: string[] | null;
  author: Author;
  verb: "Commit" | "Append to" | "Edit" | "Rewrite";
  kind: "entry-committed" | "entry-appended" | "entry-edited";
  /** Undefined when the file has the bytes already. */
  file?: StagedFile | undefined;
  /** The bytes that an append adds. */
  added?: Buffer;
  data?: WireData;
  /** The git command that changed the file, if it was one. */
  cause?: Cause | undefined;
  /** True if the entry is a log and its earlier lines changed. */
  rewroteLog?: boolean;
};

/** Saves the version row, the index row and the event, and queues the commit. Returns the version's number. */
export async function saveFileVersion(
  tx: Query,
  { pathOf, fileOf, now }: EntryFiles,
  made: FileVersion,
): Promise<number> {
  const { id, row, bytes, blob, author, body, title } = made;
  const version = (row?.version ?? 0) + 1;
  const at = now().toISOString();
  const { approval, reverts } = author;
  const summary = summaryOf(id, version, author, made.verb);
  const by = writerColumns(author);
  await saveVersion(tx, {
    entry_id: id,
    version,
    blob,
    content: null,
    appended: 0,
    ...by,
    at,
    summary,
    title,
    words: countWords(body),
    stat: made.file?.stat ?? statOf(fileOf(id)),
    links: made.links,
    kind: made.kind,
    data: {
      ...made.data,
      ...(reverts ? { reverts: reverts.what } : {}),
      ...(author.proven ? { proven: true } : {}),
      ...(made.cause ? causeData(made.cause) : {}),
      ...(made.rewroteLog ? { rewrote_log: true } : {}),
    },
  });
  const named = { Entry: id, Version: version, Role: by.role, Run: by.run, Task: by.task, Epoch: by.epoch };
  const trailers = {
    ...named,
    Reverts: reverts?.what,
    Cause: made.cause && causeText(made.cause),
    "Rewrote-log": made.rewroteLog ? "yes" : undefined,
    ...(approval ? approvalTrailers(approval) : {}),
  };
  await enqueue(tx, {
    path: pathOf(id),
    blob,
    base: row?.blob,
    content: made.added ?? bytes,
    appended: made.added !== undefined,
    author: identityOf(author),
    byPerson: made.kind === "entry-edited",
    message: commitMessage(summary, trailers, approval?.note),
    at,
    onlyOn: approval?.on,
    file: made.file,
    group: author.group,
  });
  return version;
}
