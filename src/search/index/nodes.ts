import type { Caller } from "../../kernel/caller.ts";
import { type Hit, refOf } from "../hit.ts";
import type { SearchApp } from "../search-app.ts";

type Options = { limit: number; type?: string };

/** Searches the graph: its own nodes, and entries, sources, tasks and topics as nodes. */
export async function searchNodes(
  { search }: Pick<SearchApp, "search">,
  caller: Caller,
  query: string,
  { limit, type }: Options,
): Promise<Hit[]> {
  // A page is a node only while an entry or a topic points to it.
  const kinds = search.kinds.filter((kind) => kind !== "page");
  const scope = search.scope(caller, type === undefined ? { kinds } : { kinds, type });
  const { hits } = await search.find.pages(query, { scope, limit, without: ["links"] });
  return hits.map((hit) => ({ ...hit, id: refOf(hit) }));
}
