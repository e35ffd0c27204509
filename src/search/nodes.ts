import { sql } from "kysely";
import type { Database } from "../store/database.ts";
import { type Hit, rank } from "./rank.ts";
import { searchTerms } from "./terms.ts";

const searched = { things: "nodes", texts: "node_text" } as const;

/** Full text over the nodes of the graph: titles, ids, and every text in their properties. */
export const searchNodes = (db: Database, query: string, options: { limit: number; type?: string }): Promise<Hit[]> =>
  rank(
    db,
    searched,
    searchTerms(query),
    options.type === undefined ? sql`TRUE` : sql`e.type = ${options.type}`,
    options.limit,
  );
