import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Sandbox } from "../../agents/sandbox/access.ts";
import { findSandbox } from "../../agents/sandbox.ts";
import { endSurvivors } from "../../agents/survivors.ts";
import { ok, type Result } from "../../kernel/result.ts";
import type { Query } from "../../store/database.ts";
import type { Attempt } from "../../store/queries/attempts.ts";
import type { RunTask } from "../../store/queries/runs.ts";
import type { Staff } from "../agent/staff.ts";
import type { CrewApp } from "../record/crew-app.ts";
import type { News } from "../record/run-host.ts";
import type { Merged } from "./accepted.ts";
import { setupsFolder, sweepTemporary } from "./install/cache.ts";
import { openSetups, type Setups } from "./setups.ts";
import { type Worktrees, worktrees } from "./worktree.ts";

/** An attempt that passed, with the commit and tree that were verified. */
export type PassedWork = {
  detail: RunTask;
  title: string;
  attempt: Attempt;
  tip: { commit: string; tree: string };
  signal: AbortSignal;
  /** Accepts the task in the transaction that moves the branch; refused if it is no longer this attempt's turn. */
  accept(tx: Query): Promise<Result<unknown>>;
};

/** The dependencies of a process that executes runs. */
export type Crew = Staff & {
  trees: Worktrees;
  setups: Setups;
  /** The merge queue of each run. */
  merges: Map<string, (passed: PassedWork) => Promise<Result<Merged>>>;
  sandbox: Sandbox;
  tell(news: News): void;
};

export async function openCrew(staff: Staff, tell: (news: News) => void): Promise<Result<Crew>> {
  const { config } = staff.app;
  const sandbox = await findSandbox(config.crew.sandbox, config.environment);
  if (!sandbox.ok) return sandbox;
  const home = setupsFolder(config.stateFolder);
  const [trees, setupTrees] = await Promise.all([openTrees(staff.app), openTrees(staff.app, join(home, "checkouts"))]);
  const setups = openSetups({ app: staff.app, sandbox: sandbox.value, tell, home, trees, setupTrees });
  await sweepSetups(staff.app);
  return ok({ ...staff, trees, setups, merges: new Map(), sandbox: sandbox.value, tell });
}

const survivorGraceMs = 2000;

/** Deletes what setups of killed processes left: caches, checkouts, and files with logins. */
export async function sweepSetups(app: CrewApp): Promise<void> {
  const home = setupsFolder(app.config.stateFolder);
  if (!existsSync(home)) return;
  const trees = await openTrees(app, join(home, "checkouts"));
  await sweepTemporary(home, async (setup) => {
    await endSurvivors(`setup-${setup}`, survivorGraceMs);
    for (const name of [`setup-${setup}`, `setup-${setup}-logins`]) await trees.forgetCheckout(name);
  });
}

/** The checkouts of a workspace's runs. */
export async function openTrees({ config, git, packs }: CrewApp, folder = join(config.stateFolder, "worktrees")) {
  const person = await git.person();
  const { prefix } = await git.place();
  return worktrees({
    git,
    packs,
    folder,
    guarded: [config.wiki, config.sources, "scriptorium.yaml", ".scriptorium", "runs", "generated-agents"].map(
      (path) => `${prefix}${path}`,
    ),
    author: config.agent?.author ?? { name: "Scriptorium crew", email: person?.email ?? "" },
  });
}
