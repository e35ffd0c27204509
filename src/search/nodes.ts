import { sql } from "kysely";
import type { App } from "../app.ts";
import { type Hit, rank } from "./rank.ts";
import { searchTerms } from "./terms.ts";

type Options = { limit: number; type?: string };

/** Full text over the graph: its own nodes, and of what other tables keep, entries and tasks. */
export async function searchNodes({ db, search }: Pick<App, "db" | "search">, query: string, options: Options) {
  const { limit, type } = options;
  const terms = searchTerms(query);
  const ofType = type === undefined ? sql`TRUE` : sql`e.type = ${type}`;
  const isWanted = (noun: string) => type === undefined || type === noun;
  const lists = await Promise.all([
    rank(db, { things: "nodes", texts: "node_text" }, terms, ofType, limit),
    isWanted("entry") ? search.search(query, { limit }).then((hits) => named("entry", hits)) : [],
    isWanted("task")
      ? rank(db, { things: "tasks", texts: "task_text" }, terms, sql`TRUE`, limit).then((hits) => named("task", hits))
      : [],
  ]);
  return inTurn(lists).slice(0, limit);
}

const named = (noun: string, hits: Hit[]): Hit[] => hits.map((hit) => ({ ...hit, id: `${noun}:${hit.id}` }));

/** The best of each list, then the second of each: scores of different texts cannot be compared. */
const inTurn = (lists: Hit[][]): Hit[] =>
  lists
    .flatMap((hits) => hits.map((hit, at) => ({ hit, at })))
    .sort((a, b) => a.at - b.at)
    .map(({ hit }) => hit);
