import { nearest } from "../kernel/nearest.ts";
import type { NextOperation } from "../kernel/next-step.ts";
import { type Refusal, refuse } from "../kernel/result.ts";
import type { Query } from "./database.ts";
import { knownIds, type NamedTable } from "./queries/known-ids.ts";

/** Things with ids: their table, and the operation that lists them. */
const nouns = {
  task: { table: "tasks", list: "list_todos" },
  run: { table: "runs", list: "list_runs" },
  topic: { table: "topics", list: "list_topics" },
  proposal: { table: "proposals", list: "list_proposals" },
  job: { table: "agent_jobs", list: "list_jobs" },
  node: { table: "nodes", list: "memory_search_nodes" },
  question: { table: "questions", list: "list_runs" },
  token: { table: "tokens", list: "list_tokens" },
  user: { table: "users", list: "list_users" },
  session: { table: "sessions", list: "list_sessions" },
  passkey: { table: "passkeys", list: "list_passkeys" },
  source: { table: "sources", list: "list_sources" },
} as const satisfies Record<string, { table: NamedTable; list: NextOperation }>;
type NamedNoun = keyof typeof nouns;

/** The refusal for an id that does not exist: it names the nearest one, or how to list them. */
export async function noSuch(query: Query, noun: NamedNoun, id: string): Promise<Refusal> {
  const { table, list } = nouns[noun];
  const near = nearest(id, await knownIds(query, table, id));
  // Nodes of other nouns are not in the table of nodes, so that none of them is near.
  const forms = noun === "node" ? "; nodes of entries, tasks and sources are entry:<id>, task:<id>, source:<path>" : "";
  return near === undefined
    ? refuse("not_found", `${noun} ${id} does not exist${forms}`, { next: [{ operation: list }] })
    : refuse("not_found", `${noun} ${id} does not exist; did you mean ${near}?`);
}
