import type { Selectable } from "kysely";
import { batches } from "../batches.ts";
import type { Query } from "../database.ts";
import type { Tables } from "../tables.ts";

/** A markdown file that is neither an entry nor a source, as search last saw it. */
export type IndexedPage = Selectable<Tables["pages"]>;

export const indexedPages = (query: Query): Promise<IndexedPage[]> => query.selectFrom("pages").selectAll().execute();

export const findIndexedPage = (query: Query, path: string): Promise<IndexedPage | undefined> =>
  query.selectFrom("pages").selectAll().where("path", "=", path).executeTakeFirst();

export async function savePages(tx: Query, pages: IndexedPage[]): Promise<void> {
  for (const batch of batches(pages))
    await tx
      .insertInto("pages")
      .values(batch)
      .onConflict((conflict) =>
        conflict.column("path").doUpdateSet(({ ref }) => ({ stat: ref("excluded.stat"), blob: ref("excluded.blob") })),
      )
      .execute();
}

export async function deletePages(tx: Query, paths: string[]): Promise<void> {
  for (const batch of batches(paths)) await tx.deleteFrom("pages").where("path", "in", batch).execute();
}
