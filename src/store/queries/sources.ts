import type { Selectable } from "kysely";
import type { Query } from "../database.ts";
import type { SourceRow } from "../tables.ts";

export type StoredSource = Selectable<SourceRow>;
export type NewSource = Omit<SourceRow, "origin" | "gone_at">;

export const findSource = (query: Query, path: string): Promise<StoredSource | undefined> =>
  query.selectFrom("sources").selectAll().where("path", "=", path).executeTakeFirst();

/** Newest first. */
export const allSources = (query: Query): Promise<StoredSource[]> =>
  query.selectFrom("sources").selectAll().orderBy("at", "desc").orderBy("path").execute();

export async function sourcePaths(query: Query): Promise<string[]> {
  const rows = await query.selectFrom("sources").select("path").execute();
  return rows.map(({ path }) => path);
}

export async function insertSource(tx: Query, source: NewSource): Promise<void> {
  await tx.insertInto("sources").values(source).execute();
}

/** Adds the sources that the table lacks; sources never change. */
export async function insertMissingSources(tx: Query, sources: NewSource[]): Promise<void> {
  for (const source of sources) {
    await tx
      .insertInto("sources")
      .values(source)
      .onConflict((conflict) => conflict.column("path").doNothing())
      .execute();
  }
}

/** Sources that are the newest copy of a file in a watched folder. */
export const followedSources = (query: Query) =>
  query
    .selectFrom("sources")
    .select(["path", "sha256", "origin"])
    .where("origin", "is not", null)
    .where("gone_at", "is", null)
    .execute();

export async function setOrigin(tx: Query, path: string, origin: string | undefined): Promise<void> {
  await tx.updateTable("sources").set({ origin, gone_at: null }).where("path", "=", path).execute();
}

export async function markSourceGone(tx: Query, path: string, at: string): Promise<void> {
  await tx.updateTable("sources").set({ gone_at: at }).where("path", "=", path).execute();
}

/** The text that was extracted from a PDF or Word file with this hash. */
export async function extractedText(query: Query, sha256: string): Promise<string | undefined> {
  const row = await query.selectFrom("source_texts").select("text").where("sha256", "=", sha256).executeTakeFirst();
  return row?.text;
}

export async function saveExtractedText(
  tx: Query,
  row: { sha256: string; format: string; text: string },
): Promise<void> {
  await tx
    .insertInto("source_texts")
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}
