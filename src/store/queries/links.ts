import { sql } from "kysely";
import type { Database, Query } from "../database.ts";
import { brokenLinks } from "./graph/derived.ts";

/** Entries whose links have not been read from their text, e.g. after the index was rebuilt. */
export const entriesWithoutLinks = (query: Query, limit: number): Promise<{ id: string; version: number }[]> =>
  query
    .selectFrom("entries")
    .innerJoin("sections", "sections.id", "entries.id")
    .select(["entries.id", "entries.version"])
    .where("entries.links", "is", null)
    .orderBy("entries.num")
    .limit(limit)
    .execute();

/** Saves the links of an entry, unless a newer version has saved its own. */
export async function saveLinks(tx: Query, id: string, version: number, links: string[]): Promise<void> {
  await tx
    .updateTable("entries")
    .set({ links: JSON.stringify(links) })
    .where("id", "=", id)
    .where("version", "=", version)
    .where("links", "is", null)
    .execute();
}

export async function clearLinks(tx: Query, id: string): Promise<void> {
  await tx.updateTable("entries").set({ links: null }).where("id", "=", id).execute();
}

/** The targets of an entry's links as triggers have indexed them. */
export async function indexedLinks(query: Query, id: string): Promise<string[]> {
  const rows = await query.selectFrom("entry_links").select("to_id").where("entry_id", "=", id).execute();
  return rows.map((row) => row.to_id);
}

/** The targets of all entries' links, by entry. */
export async function allLinks(query: Query): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const { entry_id, to_id } of await query.selectFrom("entry_links").selectAll().execute())
    found.set(entry_id, [...(found.get(entry_id) ?? []), to_id]);
  return found;
}

type BrokenLink = { from: string; to: string };

/** Links whose target does not exist: of one entry, or of all. */
export async function linksToNowhere(db: Database, entry: string | undefined, limit: number): Promise<BrokenLink[]> {
  const where = entry === undefined ? sql`TRUE` : sql`l.entry_id = ${entry}`;
  const { rows } = await brokenLinks(db.engine, where, limit).execute(db.read);
  return rows.map(({ entry_id, to_id }) => ({ from: `entry:${entry_id}`, to: to_id }));
}

/** The entries whose text links to this id, whether or not such a node exists. */
export const entriesThatLink = (db: Database, to: string, after: string, limit: number) =>
  db.read
    .selectFrom("entry_links as l")
    .innerJoin("entries as e", "e.id", "l.entry_id")
    .innerJoin("sections as s", "s.id", "l.entry_id")
    .select(["e.id", "e.title"])
    .where("l.to_id", "=", to)
    .where("l.entry_id", ">", after)
    .orderBy("l.entry_id")
    .limit(limit)
    .execute();
