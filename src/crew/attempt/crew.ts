import { join } from "node:path";
import type { RunSpec, Toolset } from "../../agents/runner.ts";
import { findSandbox, type Sandbox } from "../../agents/sandbox.ts";
import type { App } from "../../app.ts";
import type { CrewPart } from "../../kernel/caller.ts";
import type { Operation } from "../../kernel/operation.ts";
import { ok, type Result } from "../../kernel/result.ts";
import { type CrewAgents, configuredAgents } from "../agent/parts.ts";
import { type Worktrees, worktrees } from "./worktree.ts";

/** What an executing process has beside the workspace: worktrees, the sandbox, and who plays which part. */
export type Crew = {
  app: App;
  trees: Worktrees;
  sandbox: Sandbox;
  agents: CrewAgents;
  /** What an agent of a part can do beside the tools of its desk. */
  operationsFor(part: CrewPart): Operation[];
  /** For agents that are processes of their own: their tools, served to them alone. */
  serveTools(tools: Toolset): Promise<{ mcp: NonNullable<RunSpec["mcp"]>; close(): Promise<void> }>;
  tell(news: News): void;
};

/** What happens in a run, for whoever watches. */
export type News = {
  kind:
    | "run-started"
    | "attempt-started"
    | "worker-completed"
    | "worker-failed"
    | "checks-run"
    | "qc-started"
    | "verdict"
    | "accepted"
    | "merge-conflict"
    | "retry"
    | "given-up"
    | "released";
  run: string;
  task?: string;
  number?: string;
  title?: string;
  attempt?: number;
  score?: number;
  outcome?: string;
  reason?: string;
  files?: number;
  tokens?: number | null;
  usd?: number | null;
  checks?: { passed: number; of: number };
};

type Given = Pick<Crew, "operationsFor" | "serveTools" | "tell"> & { agents?: CrewAgents };

export async function openCrew(app: App, { agents, ...given }: Given): Promise<Result<Crew>> {
  const { config, git } = app;
  const sandbox = await findSandbox(config.crew.sandbox, config.environment);
  if (!sandbox.ok) return sandbox;
  const person = await git.person();
  const { prefix } = await git.place();
  const trees = worktrees({
    git,
    folder: join(config.stateFolder, "worktrees"),
    guarded: [config.wiki, config.sources, "scriptorium.yaml", ".scriptorium", "runs"].map(
      (path) => `${prefix}${path}`,
    ),
    author: config.agent?.author ?? { name: "Scriptorium crew", email: person?.email ?? "" },
  });
  return ok({ app, trees, sandbox: sandbox.value, agents: agents ?? configuredAgents(config), ...given });
}
