import { everyone } from "../operation.ts";
import type { Kind } from "../search/kinds.ts";
import type { Database } from "../store/database.ts";
import { findNode } from "../store/graph.ts";
import { nodeFrom, textOf } from "./node.ts";

/** Nodes by every text in their properties. */
export const nodeKind = (db: Database): Kind => ({
  name: "node",
  readers: everyone,
  all: async () => (await db.read.selectFrom("nodes").select("id").execute()).map((row) => row.id),
  async read(id) {
    const row = await findNode(db.read, id);
    if (!row) return undefined;
    const author = row.created_by;
    return { title: row.title, text: textOf(nodeFrom(row)), author, at: row.updated_at };
  },
});
