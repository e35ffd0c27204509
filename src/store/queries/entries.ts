import type { WireData } from "../../kernel/wire.ts";
import { batches } from "../batches.ts";
import type { Query } from "../database.ts";
import { appendEvent } from "../events.ts";
import { prepared } from "../prepared.ts";
import type { EntryRow, EntryVersionRow } from "../tables.ts";
import { insertVersion } from "./versions.ts";

export type IndexedEntry = Omit<EntryRow, "num" | "indexed"> & { num: number; indexed: number };
/** The columns of an entry that its writer determines. */
export type NewEntry = Omit<EntryRow, "num" | "indexed">;

/** A version row together with the index columns and the event that it causes. */
export type NewVersion = EntryVersionRow & {
  title: string | null;
  words: number;
  stat: string;
  /** The ids of the nodes that its text links to; null when they are read later (pages/relink.ts). */
  links: string[] | null;
  /** The kind and additional data of the event. */
  kind: "entry-committed" | "entry-appended" | "entry-edited";
  data?: WireData;
};

export const findEntry = async (query: Query, id: string): Promise<IndexedEntry | undefined> =>
  (await selectEntry(query, { id }))[0];

export const allEntries = (query: Query): Promise<IndexedEntry[]> => query.selectFrom("entries").selectAll().execute();

/** The columns that lists and sweeps need: texts of links take most of the time with 10,000 entries. */
export type ListedEntry = Pick<
  IndexedEntry,
  "id" | "version" | "blob" | "last_author" | "title" | "words" | "updated_at" | "stat"
>;

export const listedEntries = (query: Query): Promise<ListedEntry[]> => selectListed(query, {});

const selectListed = prepared<object, ListedEntry>((query) =>
  query.selectFrom("entries").select(["id", "version", "blob", "last_author", "title", "words", "updated_at", "stat"]),
);

export async function entryIds(query: Query): Promise<string[]> {
  const rows = await query.selectFrom("entries").select("id").execute();
  return rows.map(({ id }) => id);
}

export const hasEntries = async (query: Query): Promise<boolean> =>
  (await query.selectFrom("entries").select("id").limit(1).executeTakeFirst()) !== undefined;

/** Whether anybody has written an entry or done anything else; a first look at empty files does not count. */
export async function isInUse(query: Query): Promise<boolean> {
  const written = query
    .selectFrom("entries")
    .select("id")
    .where((x) => x.or([x("version", ">", 1), x("words", ">", 0)]));
  if (await written.limit(1).executeTakeFirst()) return true;
  const done = query
    .selectFrom("events")
    .select("seq")
    .where("kind", "not in", ["entry-edited", "index-rebuilt", "schema-changed"]);
  return (await done.limit(1).executeTakeFirst()) !== undefined;
}

/** Writes the version row, the index row and the event. */
export async function saveVersion(tx: Query, version: NewVersion): Promise<void> {
  const { title, words, stat, links, kind, data, ...row } = version;
  await insertVersion(tx, row);
  await upsertEntry(tx, {
    id: row.entry_id,
    version: row.version,
    blob: row.blob,
    last_author: row.author,
    title,
    words,
    updated_at: row.at,
    stat,
    links: links && JSON.stringify(links),
  });
  const { entry_id, blob, author, role, run, task, epoch, at } = row;
  await appendEvent(tx, {
    at,
    actor: author,
    kind,
    subject: `entry:${entry_id}`,
    data: { version: row.version, source_sha: blob, role, run, task, epoch, ...data },
  });
}

/** Remembers a file's stat, unless the entry has a newer version. */
export async function setStat(tx: Query, id: string, version: number, stat: string): Promise<void> {
  await tx.updateTable("entries").set({ stat }).where("id", "=", id).where("version", "=", version).execute();
}

/** Sets the columns of an entry whose id has changed. */
export async function moveEntry(tx: Query, id: string, columns: Partial<NewEntry>): Promise<void> {
  await tx.updateTable("entries").set(columns).where("id", "=", id).execute();
}

/** Corrects the number of words, unless the entry has a newer version. */
export async function setWords(tx: Query, id: string, version: number, words: number): Promise<void> {
  await tx.updateTable("entries").set({ words }).where("id", "=", id).where("version", "=", version).execute();
}

/** Replaces the index of entries; the versions are replaced by `replaceVersions`. */
export async function replaceEntries(tx: Query, entries: NewEntry[]): Promise<void> {
  await tx.deleteFrom("entries").execute();
  for (const batch of batches(entries, 500)) await tx.insertInto("entries").values(batch).execute();
}

/** Writes an index row, whatever it says now. */
export async function writeEntry(tx: Query, entry: NewEntry): Promise<void> {
  await upsertEntry(tx, entry);
}

export async function removeEntry(tx: Query, id: string): Promise<void> {
  await tx.deleteFrom("entries").where("id", "=", id).execute();
}

const selectEntry = prepared<{ id: string }, IndexedEntry>((query, slot) =>
  query.selectFrom("entries").selectAll().where("id", "=", slot("id")),
);

const upsertEntry = prepared<NewEntry, unknown>((query, slot) => {
  const index = {
    version: slot("version"),
    blob: slot("blob"),
    last_author: slot("last_author"),
    title: slot("title"),
    words: slot("words"),
    updated_at: slot("updated_at"),
    stat: slot("stat"),
    links: slot("links"),
  };
  return query
    .insertInto("entries")
    .values({ id: slot("id"), ...index })
    .onConflict((conflict) => conflict.column("id").doUpdateSet(index));
});
