import type { Toolset } from "./agents/runner.ts";
import { openToolSocket } from "./agents/tool-socket.ts";
import type { CrewApp } from "./crew/record/crew-app.ts";
import type { CrewPart } from "./kernel/caller.ts";
import type { Operation } from "./kernel/operation.ts";
import { operations } from "./operation-list.ts";
import type { OperationName } from "./operation-loaders.ts";

/** The operations that an agent of a part may call, beside the tools of its desk. */
export const operationsFor = (part: CrewPart): Operation<CrewApp>[] =>
  part in toolsOf ? toolsOf[part as keyof typeof toolsOf].map(toolFor) : [];

/** Serves an agent process its own tools over a private socket. */
export const serveTools = (tools: Toolset) => openToolSocket(tools, "scriptorium", "Tools for your task.");

const reading = ["search_entries", "fetch_entry", "memory_search_nodes", "memory_get_node"] as const;

/** As few as each part needs: every call to the model contains the description of every tool. */
const toolsOf = {
  pm: ["list_entries", ...reading, "memory_get_subgraph"],
  worker: ["submit_output", "ask", "get_task_context", ...reading, "append_log"],
  qc: ["submit_verdict", ...reading],
} as const satisfies Partial<Record<CrewPart, readonly OperationName[]>>;

/** Shorter than the general guidance, which repeats the rules of a part or names tools that the crew does not have. */
const guidance: Partial<Record<string, string>> = {
  submit_output: "",
  submit_verdict:
    "Quote exactly, with whole words and numbers: the system looks every quote up. " +
    "PASS needs a score of 80 or more and evidence for every criterion; FAIL needs evidence of a criterion that is not met.",
  ask: "Only for what you cannot find out yourself. Do not wait: continue with the most sensible assumption and state it in your output.",
  get_task_context: "Use it for the whole output of a dependency that your prompt shortens.",
  list_entries: "More than 50 entries are listed as folders: list one with `under`.",
  search_entries:
    "Returns ranked passages. Use it to find the entry to fetch, or to check a fact without using a read.",
  fetch_entry: "You can read only a few different entries (4 by default); again is free.",
  memory_search_nodes: "memory_get_node then reads a node.",
  memory_get_node:
    "Without `fields` it returns only the names of properties. A task's node has its verdict, attempts and output.",
  append_log: "For decisions and findings as they happen. Time, role and run are added; lines cannot be changed later.",
};

function toolFor(name: (typeof toolsOf)[keyof typeof toolsOf][number]): Operation<CrewApp> {
  const operation: Operation<CrewApp> = operations[name];
  return { ...operation, guidance: guidance[name] ?? operation.guidance ?? "" };
}
