import type { Toolset } from "./agents/runner.ts";
import { openToolSocket } from "./agents/tool-socket.ts";
import type { App } from "./app.ts";
import { type CrewAgents, configuredAgents } from "./crew/agent/parts.ts";
import type { Staff } from "./crew/agent/staff.ts";
import { type Crew, type News, openCrew } from "./crew/attempt/crew.ts";
import type { CrewApp } from "./crew/record/crew-app.ts";
import type { CrewPart } from "./kernel/caller.ts";
import type { Operation } from "./kernel/operation.ts";
import type { Result } from "./kernel/result.ts";
import { type OperationName, operations } from "./operation-list.ts";

/** The crew with the operations its agents may call, wired up for the command line and the library. */
export const crewOf = (app: App, tell: (news: News) => void, agents?: CrewAgents): Promise<Result<Crew>> =>
  openCrew(app, {
    tell,
    operationsFor,
    serveTools,
    ...(agents ? { agents } : {}),
  });

/** What planning takes of it. A planner runs nothing; where it is a program itself, its sandbox is found then. */
export const planningOf = (app: App, agents: CrewAgents = configuredAgents(app.config)): Staff => ({
  app,
  agents,
  operationsFor,
  serveTools,
});

const operationsFor = (part: CrewPart): Operation<CrewApp>[] =>
  part in toolsOf ? toolsOf[part as keyof typeof toolsOf].map((name) => operations[name]) : [];
const serveTools = (tools: Toolset) => openToolSocket(tools, "scriptorium", "These are the tools of your task.");

const reading = ["search_entries", "fetch_entry", "memory_search_nodes", "memory_get_node"] as const;

/** As few as each part needs: every tool is described to the model in every call. */
const toolsOf = {
  pm: ["submit_plan", "list_entries", ...reading, "memory_query_nodes", "memory_get_subgraph"],
  worker: ["submit_output", "ask", "get_task_context", ...reading, "append_log"],
  qc: ["submit_verdict", ...reading],
} as const satisfies Partial<Record<CrewPart, readonly OperationName[]>>;
