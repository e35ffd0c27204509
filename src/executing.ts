import type { App } from "./app.ts";
import type { CrewAgents } from "./crew/agents.ts";
import { type Crew, type News, openCrew } from "./crew/crew.ts";
import { openToolSocket } from "./mcp/tool-socket.ts";
import type { Operation } from "./operation.ts";
import { type OperationName, operations } from "./operations.ts";
import type { CrewPart } from "./people/caller.ts";
import { ok, type Result } from "./result.ts";

/** The crew with the operations its agents may call, wired up for the command line and the library. */
export const crewOf = (app: App, tell: (news: News) => void, agents?: CrewAgents): Promise<Result<Crew>> =>
  openCrew(app, {
    tell,
    operationsFor: (part) => (toolsOf[part] ?? []).map((name) => operations[name] as unknown as Operation),
    preambleFor: async (_kind, role) => ok(`You are ${role}.`),
    serveTools: (tools) => openToolSocket(tools, "scriptorium", "These are the tools of your task."),
    ...(agents ? { agents } : {}),
  });

const reading: OperationName[] = ["search_entries", "fetch_entry", "memory_search_nodes", "memory_get_node"];

/** As few as each part needs: every tool is described to the model in every call. */
const toolsOf: Partial<Record<CrewPart, OperationName[]>> = {
  worker: ["submit_output", "ask", ...reading, "append_log"],
  qc: ["submit_verdict", ...reading],
};
