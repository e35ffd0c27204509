import { sql } from "kysely";
import type { Database, Query } from "../database.ts";
import { appendEvent } from "../events.ts";
import { prepared } from "../prepared.ts";
import type { EntryRow, EntryVersionRow } from "../tables.ts";

export type IndexedEntry = Omit<EntryRow, "num" | "indexed"> & { num: number; indexed: number };

/** What a new version puts into the index, beside the version row itself. */
export type NewVersion = EntryVersionRow & {
  title: string | null;
  words: number;
  stat: string;
  /** The ids of the nodes that its text links to; null when they are to be read later. */
  links: string[] | null;
  /** What happened, in the event log. */
  kind: "entry-committed" | "entry-appended" | "entry-edited" | "entry-recovered";
  data?: Record<string, unknown>;
};

export const findEntry = async (query: Query, id: string): Promise<IndexedEntry | undefined> =>
  (await selectEntry(query, { id }))[0];

export const allEntries = (query: Query): Promise<IndexedEntry[]> => query.selectFrom("entries").selectAll().execute();

/** Until the transaction ends nobody else writes this entry. SQLite has one writer at a time anyway. */
export async function lockEntry(tx: Query, engine: Database["engine"], id: string): Promise<void> {
  if (engine === "postgres") await sql`SELECT pg_advisory_xact_lock(hashtextextended(${id}, 7346))`.execute(tx);
}

/** The version row, the index and the event, together. */
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

export const versionsOf = (query: Query, id: string, limit: number) =>
  query
    .selectFrom("entry_versions")
    .select(["version", "author", "role", "run", "task", "epoch", "at", "summary"])
    .where("entry_id", "=", id)
    .orderBy("version", "desc")
    .limit(limit)
    .execute();

export const findVersion = (query: Query, id: string, version: number) =>
  query
    .selectFrom("entry_versions")
    .selectAll()
    .where("entry_id", "=", id)
    .where("version", "=", version)
    .executeTakeFirst();

const selectEntry = prepared<{ id: string }, IndexedEntry>((query, slot) =>
  query.selectFrom("entries").selectAll().where("id", "=", slot("id")),
);

const insertVersion = prepared<EntryVersionRow, unknown>((query, slot) =>
  query.insertInto("entry_versions").values({
    entry_id: slot("entry_id"),
    version: slot("version"),
    blob: slot("blob"),
    content: slot("content"),
    appended: slot("appended"),
    author: slot("author"),
    role: slot("role"),
    run: slot("run"),
    task: slot("task"),
    epoch: slot("epoch"),
    at: slot("at"),
    summary: slot("summary"),
  }),
);

const upsertEntry = prepared<Omit<EntryRow, "num" | "indexed">, unknown>((query, slot) => {
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
