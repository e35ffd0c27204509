import type { WireData } from "../../kernel/wire.ts";
import type { Query } from "../../store/database.ts";
import { blobOf } from "../../store/git/blob.ts";
import { commitMessage, enqueue } from "../../store/git/history.ts";
import { type IndexedEntry, saveVersion } from "../../store/queries/entries.ts";
import { type Author, approvalTrailers, identityOf, summaryOf, writerColumns } from "../entry.ts";
import { countWords } from "./document.ts";
import { statOf } from "./look.ts";

/** The paths of entries' files: relative to the workspace, and absolute. */
export type EntryFiles = { pathOf(id: string): string; fileOf(id: string): string; now(): Date };

/** A new version of an entry whose file is written. */
export type FileVersion = {
  id: string;
  row: IndexedEntry | undefined;
  bytes: Buffer;
  body: string;
  title: string | null;
  links: string[] | null;
  author: Author;
  verb: "Commit" | "Append to" | "Edit" | "Recover" | "Rewrite";
  kind: "entry-committed" | "entry-appended" | "entry-edited" | "entry-recovered";
  /** The bytes that an append adds. */
  added?: Buffer;
  data?: WireData;
};

/** Saves the version row, the index row and the event, and queues the commit. Returns the version's number. */
export async function saveFileVersion(
  tx: Query,
  { pathOf, fileOf, now }: EntryFiles,
  made: FileVersion,
): Promise<number> {
  const { id, row, bytes, author, body, title } = made;
  const version = (row?.version ?? 0) + 1;
  const at = now().toISOString();
  const { approval, reverts } = author;
  const summary = summaryOf(id, version, author, made.verb);
  const blob = blobOf(bytes);
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
    stat: statOf(fileOf(id)),
    links: made.links,
    kind: made.kind,
    ...(made.data || reverts ? { data: { ...made.data, ...(reverts ? { reverts: reverts.what } : {}) } } : {}),
  });
  const named = { Entry: id, Version: version, Role: by.role, Run: by.run, Task: by.task, Epoch: by.epoch };
  const trailers = { ...named, Reverts: reverts?.what, ...(approval ? approvalTrailers(approval) : {}) };
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
    onlyOnBase: approval !== undefined,
  });
  return version;
}
