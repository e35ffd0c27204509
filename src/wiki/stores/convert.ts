import { join } from "node:path";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { batches } from "../../store/batches.ts";
import type { Database, Query } from "../../store/database.ts";
import { readIfThere, statOf } from "../../store/disk/disk.ts";
import { appendEvent } from "../../store/events.ts";
import { blobOf, isBlob } from "../../store/git/blob.ts";
import type { Git } from "../../store/git/git.ts";
import { commitMessage, enqueue, readVersion } from "../../store/git/history.ts";
import { historyFolders, historyRefOf } from "../../store/git/history-ref.ts";
import { readLog } from "../../store/git/read-log.ts";
import type { Stage } from "../../store/publications.ts";
import { setEntryFile, setVersionText, versionsInOrder } from "../../store/queries/all-versions.ts";
import { allEntries, type IndexedEntry } from "../../store/queries/entries.ts";
import type { EntryVersionRow } from "../../store/tables.ts";
import { identityOf, renamedFrom } from "../entry.ts";
import { type EntryDocument, emptyDocument, parseDocument, readFront, withBody } from "./document.ts";
import { versionsIn } from "./rebuild.ts";
import { joinContents } from "./rows.ts";

/**
 * Converts the entries between the file store and the database store. Numbers, authors, times and summaries of the
 * versions stay; where their texts are changes, and with it the hash in `blob`: of the file's bytes in the one, of the
 * text or its addition in the other. The event `entry-moved` has the old and the new hash of each version, so that
 * the event log still proves every text.
 */
type Deps = {
  db: Database;
  git: Git;
  root: string;
  wiki: string;
  /** The title of an entry's section. */
  titleOf(id: string): string;
  actor: string;
  now(): Date;
};

type Hashes = Record<number, [before: string, after: string]>;

/** Puts the text of every version into its row. */
export async function toDatabase(tx: Query, deps: Deps): Promise<Result<number>> {
  let converted = 0;
  for (const { id } of await allEntries(tx)) {
    const hashes: Hashes = {};
    let before: { text: string; blob: string } | undefined;
    for (const batch of batches(await versionsInOrder(tx, id), 200)) {
      const known = await deps.git.readBlobs(batch.map(({ blob }) => blob));
      for (const { version, blob: name } of batch) {
        const bytes = known.get(name) ?? (await readVersion({ ...deps.db, read: tx }, deps.git, name));
        if (!bytes) return lostText(id, version);
        const { body: text } = parseDocument(bytes);
        const added = before && additionTo(before.text, text);
        const content: string = added ?? text;
        const blob: string = blobOf(added === undefined ? text : `${before?.blob}\n${content}`);
        await setVersionText(tx, { entry_id: id, version, content, appended: added === undefined ? 0 : 1, blob });
        hashes[version] = [name, blob];
        before = { text, blob };
        converted++;
      }
    }
    if (before) await setEntryFile(tx, id, { blob: before.blob, stat: "", title: null });
    await recordHashes(tx, deps, id, "database", hashes);
  }
  return ok(converted);
}

/** What a text adds to the one before, as the database store writes an appended line; undefined for another text. */
const additionTo = (before: string, text: string): string | undefined =>
  before.endsWith("\n") && text.length > before.length && text.startsWith(before)
    ? text.slice(before.length)
    : undefined;

/**
 * Writes the newest text of every entry into its file, and queues versions for git that it does not have. Refuses
 * when a file holds a text that is not a version of its entry: a person has edited it meanwhile.
 */
export async function toFiles(tx: Query, stage: Stage, deps: Deps): Promise<Result<number>> {
  const inHistory = await blobsInHistory(deps);
  let converted = 0;
  const edited: string[] = [];
  for (const entry of await allEntries(tx)) {
    const done = await entryToFile(tx, stage, deps, entry, inHistory);
    if (done === undefined) edited.push(join(deps.wiki, `${entry.id}.md`));
    converted += done ?? 0;
  }
  if (edited.length === 0) return ok(converted);
  return refuse(
    "conflict",
    `${edited.join(", ")}: edited while the entries were in the database. Move the files away, or copy their text into the entries, and run the command again`,
    { edited },
  );
}

/** The blobs of versions that git has, by entry and version. */
async function blobsInHistory({ git, wiki }: Deps): Promise<Map<string, string>> {
  const tip = await git.commitAt(await historyRefOf(git));
  if (!tip) return new Map();
  const versions = versionsIn(await readLog(git, tip, await historyFolders(git), [wiki]), wiki);
  return new Map(versions.map(({ row }) => [`${row.entry_id} ${row.version}`, row.blob]));
}

/** The number of versions; undefined when the file was edited. */
async function entryToFile(
  tx: Query,
  stage: Stage,
  deps: Deps,
  { id }: IndexedEntry,
  inHistory: Map<string, string>,
): Promise<number | undefined> {
  const { git, root, wiki } = deps;
  const format = await git.objectFormat();
  const path = join(wiki, `${id}.md`);
  const rows = await versionsInOrder(tx, id);
  const ids = idsOf(id, rows);
  const nameInGit = (at: number, version: number) =>
    inHistory.get(`${id} ${version}`) ?? inHistory.get(`${ids[at]} ${version}`);
  const texts = textsOf(id, rows);
  const recorded = new Map<string, Buffer>();
  for (const batch of batches([...rows.entries()], 200)) {
    const names = batch.flatMap(([at, { version }]) => nameInGit(at, version) ?? []);
    for (const [blob, bytes] of await git.readBlobs(names)) recorded.set(blob, bytes);
  }

  const hashes: Hashes = {};
  const known = new Set<string>();
  let document: EntryDocument = emptyDocument;
  let last: { bytes: Buffer; change: Change; isNew: boolean } | undefined;
  for (const [at, row] of rows.entries()) {
    const text = texts[at] ?? "";
    const found = recorded.get(nameInGit(at, row.version) ?? "");
    const isNew = !found || parseDocument(found).body !== text;
    const bytes: Buffer = isNew ? withBody(document, text, deps.titleOf(id)) : found;
    const blob = blobOf(bytes, format);
    if (last?.isNew) await enqueue(tx, last.change);
    last = { bytes, isNew, change: { ...changeOf(row, ids[at] ?? id, wiki), blob, ...changed(last, bytes) } };
    document = parseDocument(bytes);
    known.add(blob);
    hashes[row.version] = [row.blob, blob];
    await setVersionText(tx, { entry_id: id, version: row.version, content: null, appended: 0, blob });
  }
  if (!last) return 0;
  const { bytes, change, isNew } = last;
  const held = readIfThere(join(root, path), root);
  const blob = blobOf(bytes, format);
  if (held && !known.has(blobOf(held, format)) && parseDocument(held).body !== "") return undefined;
  const file = held && isBlob(held, blob) ? undefined : stage(path, bytes, held, change.movedFrom);
  if (isNew || file) await enqueue(tx, { ...change, file });
  const title = readFront(document, path).title ?? null;
  await setEntryFile(tx, id, { blob, stat: file?.stat ?? statOf(join(root, path)), title });
  await recordHashes(tx, deps, id, "files", hashes);
  return rows.length;
}

/** The id that the entry had at each version: a rename of its section is a version. */
function idsOf(id: string, rows: EntryVersionRow[]): string[] {
  let name = id;
  const ids = rows.toReversed().map((row) => {
    const now = name;
    name = renamedFrom(now, row) ?? now;
    return now;
  });
  return ids.reverse();
}

/** The text of each version. */
function textsOf(id: string, rows: EntryVersionRow[]): string[] {
  let text = "";
  let isWhole = true;
  return rows.map((row) => {
    const content = joinContents(id, [row]);
    const gap = isWhole && text !== "" && !text.endsWith("\n") ? "\n" : "";
    text = row.appended ? text + gap + content : content;
    isWhole = !row.appended;
    return text;
  });
}

type Change = Parameters<typeof enqueue>[1];

/** The bytes after those of the version before, if they only add to them. */
function changed(before: { bytes: Buffer; change: Change } | undefined, bytes: Buffer) {
  if (!before) return { content: bytes };
  const { length } = before.bytes;
  const isAdded = length > 0 && bytes.length > length && bytes.subarray(0, length).equals(before.bytes);
  const base = before.change.blob;
  return isAdded ? { base, content: bytes.subarray(length), appended: true } : { base, content: bytes };
}

function changeOf(row: EntryVersionRow, id: string, wiki: string): Omit<Change, "content" | "blob"> {
  const { version, author, role, run, task, epoch, at, summary } = row;
  const from = renamedFrom(id, row);
  const trailers = {
    Entry: id,
    Version: version,
    Role: role,
    Run: run,
    Task: task,
    Epoch: epoch,
    "Renamed-from": from,
  };
  return {
    path: join(wiki, `${id}.md`),
    ...(from === undefined ? {} : { movedFrom: join(wiki, `${from}.md`) }),
    author: identityOf({ name: author, ...(role ? { role } : {}) }),
    byPerson: role === null && summary.startsWith("Edit "),
    message: commitMessage(summary, trailers),
    at,
  };
}

async function recordHashes(tx: Query, { actor, now }: Deps, id: string, to: string, hashes: Hashes): Promise<void> {
  const at = now().toISOString();
  await appendEvent(tx, { at, actor, kind: "entry-moved", subject: `entry:${id}`, data: { to, hashes } });
}

const lostText = (id: string, version: number) =>
  refuse(
    "refused",
    `the text of ${id} version ${version} is not in git, so the entries cannot be moved. Check the repository: scriptorium doctor`,
  );
