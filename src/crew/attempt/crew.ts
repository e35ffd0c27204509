import { join } from "node:path";
import { findSandbox, type Sandbox } from "../../agents/sandbox.ts";
import { ok, type Result } from "../../kernel/result.ts";
import { type CrewAgents, configuredAgents } from "../agent/parts.ts";
import type { Staff } from "../agent/staff.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { type Worktrees, worktrees } from "./worktree.ts";

/** What a process that executes runs needs beside the workspace. */
export type Crew = Staff & {
  trees: Worktrees;
  sandbox: Sandbox;
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

export async function openCrew(app: CrewApp, { agents, ...given }: Given): Promise<Result<Crew>> {
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
