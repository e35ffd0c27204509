import type { RunSpec, Toolset } from "../../agents/runner.ts";
import type { Sandbox } from "../../agents/sandbox/access.ts";
import type { CrewPart } from "../../kernel/caller.ts";
import type { Operation } from "../../kernel/operation.ts";
import type { CrewApp } from "../record/crew-app.ts";
import type { CrewAgents, News } from "../record/run-host.ts";

/** The dependencies of starting an agent of the crew. */
export type Staff = {
  app: CrewApp;
  agents: CrewAgents;
  /** The operations that an agent of this part may call, beside the tools of its desk. */
  operationsFor(part: CrewPart): Operation<CrewApp>[];
  /** Serves an agent process its own tools over a private socket. */
  serveTools(tools: Toolset): Promise<{ mcp: NonNullable<RunSpec["mcp"]>; close(): Promise<void> }>;
  /** Receives what happens in runs, for those who watch. */
  tell?(news: News): void;
  /** Looked up when an agent is a program, unless given. */
  sandbox?: Sandbox;
};
