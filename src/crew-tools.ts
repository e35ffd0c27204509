import type { Toolset } from "./agents/runner.ts";
import { openToolSocket } from "./agents/tool-socket.ts";
import type { CrewApp } from "./crew/record/crew-app.ts";
import type { CrewPart } from "./kernel/caller.ts";
import type { Operation } from "./kernel/operation.ts";
import { operations } from "./operation-list.ts";
import type { OperationName } from "./operation-loaders.ts";

/** The operations that an agent of a part may call, beside the tools of its desk. */
export const operationsFor = (part: CrewPart): Operation<CrewApp>[] =>
  part in toolsOf ? toolsOf[part as keyof typeof toolsOf].map((name) => operations[name]) : [];

/** Serves an agent process its own tools over a private socket. */
export const serveTools = (tools: Toolset) => openToolSocket(tools, "scriptorium", "Tools for your task.");

const reading = ["search_entries", "fetch_entry", "memory_search_nodes", "memory_get_node"] as const;

/** As few as each part needs: every call to the model contains the description of every tool. */
const toolsOf = {
  pm: ["list_entries", ...reading, "memory_get_subgraph"],
  worker: ["submit_output", "ask", "get_task_context", ...reading, "append_log"],
  qc: ["submit_verdict", ...reading],
} as const satisfies Partial<Record<CrewPart, readonly OperationName[]>>;
