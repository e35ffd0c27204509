import { everyone } from "../kernel/operation.ts";
import type { Kind } from "../search/kinds.ts";
import type { Database } from "../store/database.ts";
import { findOwnNode, ownNodeIds } from "../store/queries/nodes.ts";
import { nodeFrom, textOf } from "./node.ts";

/** Makes nodes searchable by all texts in their properties. */
export const nodeKind = (db: Database): Kind => ({
  name: "node",
  readers: everyone,
  all: () => ownNodeIds(db.read),
  async read(id) {
    const row = await findOwnNode(db.read, id);
    if (!row) return undefined;
    const { title, type, created_by: author, updated_at: at } = row;
    return { title, type, text: textOf(nodeFrom(row)), author, at };
  },
});
