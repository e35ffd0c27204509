import type { Query } from "../database.ts";

type Move = {
  path: { from: string; to: string };
  /** The graph nodes of the page; null for a file that is no node. */
  node: { from: string | null; to: string | null };
};

/** Moves what names a page by its path or node to the new one: topics, proposals, jobs, perspectives and edges. */
export async function movePathRows(tx: Query, { path, node }: Move): Promise<void> {
  await tx.updateTable("topics").set({ path: path.to, about: node.to }).where("path", "=", path.from).execute();
  await tx
    .updateTable("proposals")
    .set({ subject: path.to })
    .where("kind", "=", "page")
    .where("subject", "=", path.from)
    .execute();
  await tx.updateTable("agent_jobs").set({ source_path: path.to }).where("source_path", "=", path.from).execute();
  await tx.deleteFrom("perspectives").where("path", "=", path.to).execute();
  await tx.updateTable("perspectives").set({ path: path.to }).where("path", "=", path.from).execute();
  if (node.from === null || node.to === null) return;
  await tx.updateTable("edges").set({ from_id: node.to }).where("from_id", "=", node.from).execute();
  await tx.updateTable("edges").set({ to_id: node.to }).where("to_id", "=", node.from).execute();
}

/** How much names a page. */
export async function countPathRows(query: Query, path: string, node: string | null) {
  const countOf = async (rows: Promise<unknown[]>) => (await rows).length;
  return {
    topics: await countOf(query.selectFrom("topics").select("id").where("path", "=", path).execute()),
    proposals: await countOf(
      query
        .selectFrom("proposals")
        .select("id")
        .where("kind", "=", "page")
        .where("status", "=", "open")
        .where("subject", "=", path)
        .execute(),
    ),
    perspectives: await countOf(query.selectFrom("perspectives").select("persona").where("path", "=", path).execute()),
    edges: await countOf(
      query
        .selectFrom("edges")
        .select("id")
        .where((x) => x.or([x("from_id", "=", node ?? ""), x("to_id", "=", node ?? "")]))
        .execute(),
    ),
  };
}
