import type { Query } from "../database.ts";
import type { EntryVersionRow } from "../tables.ts";

/** Versions of every entry, for a move between stores. */

/** All versions of an entry, oldest first. */
export const versionsInOrder = (query: Query, id: string): Promise<EntryVersionRow[]> =>
  query.selectFrom("entry_versions").selectAll().where("entry_id", "=", id).orderBy("version").execute();

type Text = Pick<EntryVersionRow, "entry_id" | "version" | "content" | "appended" | "blob">;

export async function setVersionText(tx: Query, { entry_id, version, ...text }: Text): Promise<void> {
  await tx
    .updateTable("entry_versions")
    .set(text)
    .where("entry_id", "=", entry_id)
    .where("version", "=", version)
    .execute();
}

/** Sets what the index has of an entry's file; the stat is empty and the title null in the database store. */
export async function setEntryFile(
  tx: Query,
  id: string,
  file: { blob: string; stat: string; title: string | null },
): Promise<void> {
  await tx.updateTable("entries").set(file).where("id", "=", id).execute();
}
