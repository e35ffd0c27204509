import { batches } from "../batches.ts";
import type { Query } from "../database.ts";
import type { SchemaVersionRow } from "../tables.ts";

export const latestSchema = (query: Query): Promise<SchemaVersionRow | undefined> =>
  query.selectFrom("schema_versions").selectAll().orderBy("version", "desc").limit(1).executeTakeFirst();

/** 0 before the first. */
export async function latestSchemaVersion(query: Query): Promise<number> {
  const row = await query
    .selectFrom("schema_versions")
    .select((q) => q.fn.max("version").as("version"))
    .executeTakeFirst();
  return Number(row?.version ?? 0);
}

export const findSchemaVersion = (query: Query, version: number): Promise<SchemaVersionRow | undefined> =>
  query.selectFrom("schema_versions").selectAll().where("version", "=", version).executeTakeFirst();

export const findSchemaBlob = (query: Query, blob: string): Promise<SchemaVersionRow | undefined> =>
  query
    .selectFrom("schema_versions")
    .selectAll()
    .where("blob", "=", blob)
    .orderBy("version", "desc")
    .limit(1)
    .executeTakeFirst();

/** Newest first, without the texts. */
export const schemaVersions = (query: Query, limit: number) =>
  query
    .selectFrom("schema_versions")
    .select(["version", "author", "at", "summary", "changes"])
    .orderBy("version", "desc")
    .limit(limit)
    .execute();

export async function insertSchemaVersion(tx: Query, row: SchemaVersionRow): Promise<void> {
  await tx.insertInto("schema_versions").values(row).execute();
}

export async function replaceSchemaVersions(tx: Query, rows: SchemaVersionRow[]): Promise<void> {
  await tx.deleteFrom("schema_versions").execute();
  for (const row of rows) await insertSchemaVersion(tx, row);
}

/** Makes these the sections in force, and queues the entries that appear, disappear or change their title for search. */
export async function replaceSections(tx: Query, sections: { id: string; title: string }[]): Promise<void> {
  const before = new Map(
    (await tx.selectFrom("sections").selectAll().execute()).map(({ id, title }) => [id, title] as const),
  );
  const after = new Map(sections.map(({ id, title }) => [id, title] as const));
  const gone = [...before.keys()].filter((id) => !after.has(id));
  const fresh = sections.filter(({ id, title }) => before.get(id) !== title);
  for (const batch of batches([...gone, ...fresh.map(({ id }) => id)])) {
    await tx.deleteFrom("sections").where("id", "in", batch).execute();
    await tx
      .insertInto("search_queue")
      .values(batch.map((thing) => ({ kind: "entry", thing })))
      .execute();
  }
  for (const batch of batches(fresh)) {
    const rows = batch.map(({ id, title }) => ({ id, title }));
    await tx.insertInto("sections").values(rows).execute();
  }
}

export const findRename = (query: Query, id: string) =>
  query
    .selectFrom("section_renames")
    .select(["new_id", "at", "renamed_by"])
    .where("old_id", "=", id)
    .executeTakeFirst();
