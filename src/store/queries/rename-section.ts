import { sql } from "kysely";
import type { Query } from "../database.ts";
import { movePathRows } from "./move-path.ts";

type Rename = { from: string; to: string; at: string; by: string };

/** Moves everything that names an entry to its new id, except its text and its file. `pathOf` is the path of an entry. */
export async function renameSectionRows(
  tx: Query,
  { from, to, at, by }: Rename,
  pathOf: (id: string) => string,
): Promise<void> {
  await tx.updateTable("entries").set({ id: to }).where("id", "=", from).execute();
  await tx.updateTable("entry_links").set({ entry_id: to }).where("entry_id", "=", from).execute();
  await tx.updateTable("entry_versions").set({ entry_id: to }).where("entry_id", "=", from).execute();
  await sql`UPDATE entry_writers SET entry_id = ${to} WHERE entry_id = ${from}`.execute(tx);
  await tx.updateTable("focus_reads").set({ entry_id: to }).where("entry_id", "=", from).execute();
  await movePathRows(tx, { path: { from: pathOf(from), to: pathOf(to) }, node: { from: `entry:${from}`, to: `entry:${to}` } });
  for (const thing of [from, to]) await tx.insertInto("search_queue").values({ kind: "entry", thing }).execute();

  await tx.deleteFrom("section_renames").where("old_id", "in", [from, to]).execute();
  await tx.updateTable("section_renames").set({ new_id: to }).where("new_id", "=", from).execute();
  await tx.insertInto("section_renames").values({ old_id: from, new_id: to, at, renamed_by: by }).execute();
}

/** The pages that are not entries and whose text links to this node, as search has indexed them. */
export async function pagesThatLink(query: Query, node: string): Promise<string[]> {
  const rows = await query
    .selectFrom("passage_links as l")
    .innerJoin("passages as p", "p.num", "l.passage")
    .innerJoin("things as t", "t.num", "p.thing")
    .select("t.id")
    .distinct()
    .where("l.target", "=", node)
    .where("t.kind", "=", "page")
    .orderBy("t.id")
    .execute();
  return rows.map(({ id }) => id);
}
