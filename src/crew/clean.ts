import { readdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import * as z from "zod";
import { collaborators, operation } from "../kernel/operation.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { appendEvent } from "../store/events.ts";
import { noSuch } from "../store/no-such.ts";
import { heldIn } from "../store/queries/crew-queue.ts";
import { mergesOf, runsIn, taskIdsOf } from "../store/queries/runs.ts";
import { type CachedSetup, cachedSetups, deleteSetup, setupsFolder } from "./attempt/install/cache.ts";
import { actorOf } from "./operations.ts";
import type { CrewApp } from "./record/crew-app.ts";
import { acceptedBranch } from "./rules/branches.ts";

const kept = z.object({ branch: z.string(), reason: z.string() });

export const cleanRuns = operation({
  name: "clean_runs",
  summary:
    "Delete branches, checkouts and installed dependencies of finished runs. Reports stay, and so does accepted work that is not merged.",
  effect: "destroys",
  touches: ["run"],
  callers: collaborators,
  group: "runs",
  http: { method: "post", path: "/runs/clean" },
  input: z.object({
    id: z
      .string()
      .max(64)
      .optional()
      .describe("Id of a finished run, such as run-…; all completed and cancelled runs if left out"),
    unmerged: z.boolean().default(false).describe("Also delete accepted work that is not merged into your branch"),
    dry_run: z.boolean().default(false).describe("Only list what would be deleted"),
  }),
  output: z.object({
    deleted: z.boolean().describe("False for a dry run"),
    runs: z.array(z.string()).describe("The runs that had something to delete"),
    branches: z.array(z.string()),
    checkouts: z.array(z.string()).describe("Folders of attempts"),
    setups: z
      .array(z.object({ folder: z.string(), bytes: z.number() }))
      .describe("Installed dependencies that no unfinished run uses"),
    stored_bytes: z.int().describe("Size of git packs in the database that no unfinished run uses"),
    kept: z.array(kept).describe("Branches that stay, with the reason"),
  }),
  async run(app: CrewApp, { id, unmerged, dry_run: dryRun }, caller) {
    const runs = id === undefined ? await cleanable(app) : await oneRun(app, id);
    if (!runs.ok) return runs;
    const found = await Promise.all(runs.value.map((run) => leftovers(app, run, unmerged)));
    const some = found.filter(({ branches, checkouts, stored }) => branches.length + checkouts.length + stored > 0);
    if (!dryRun) for (const one of some) await remove(app, one, actorOf(caller));
    const setups = await unusedSetups(app, runs.value);
    const home = setupsFolder(app.config.stateFolder);
    if (!dryRun) for (const { name } of setups) await deleteSetup(home, name);
    return ok({
      deleted: !dryRun,
      runs: some.map(({ run }) => run),
      branches: found.flatMap(({ branches }) => branches),
      checkouts: found.flatMap(({ checkouts }) => checkouts),
      setups: setups.map(({ folder, bytes }) => ({ folder, bytes })),
      stored_bytes: found.reduce((sum, { stored }) => sum + stored, 0),
      kept: found.flatMap((one) => one.kept),
    });
  },
});

/** Cleans the completed and cancelled runs that ended before a time, as far as this machine has something of them. */
export async function cleanEnded(app: CrewApp, before: string, { dryRun }: { dryRun: boolean }): Promise<string[]> {
  const runs = await runsIn(app.db.read, ["completed", "cancelled"]);
  const cleaned: string[] = [];
  for (const { id, ended_at } of runs) {
    if (ended_at === null || ended_at >= before) continue;
    const found = await leftovers(app, id, false);
    if (found.branches.length + found.checkouts.length + found.stored === 0) continue;
    if (!dryRun) await remove(app, found, "retention");
    cleaned.push(id);
  }
  return cleaned;
}

/** A failed run can be resumed from its attempts: it is cleaned only when a person names it. */
async function cleanable({ db }: CrewApp): Promise<Result<string[]>> {
  return ok((await runsIn(db.read, ["completed", "cancelled"])).map(({ id }) => id));
}

async function oneRun({ db, runs }: CrewApp, id: string): Promise<Result<string[]>> {
  const run = await runs.find(id);
  if (!run) return noSuch(db.read, "run", id);
  if (["completed", "cancelled", "failed"].includes(run.state)) return ok([id]);
  return refuse("conflict", `run ${id} is ${run.state}; only a finished run can be cleaned`, {
    next: [{ operation: "cancel_run", input: { id }, to: "end it first" }],
  });
}

/** Installed dependencies that only the given runs used; runs that no longer exist do not count. */
async function unusedSetups({ config, runs }: CrewApp, cleaned: string[]): Promise<CachedSetup[]> {
  const cached = await cachedSetups(setupsFolder(config.stateFolder));
  const isOver = async (id: string) => cleaned.includes(id) || (await runs.find(id)) === undefined;
  const unused: CachedSetup[] = [];
  for (const one of cached) if ((await Promise.all(one.runs.map(isOver))).every(Boolean)) unused.push(one);
  return unused;
}

type Leftovers = { run: string; branches: string[]; checkouts: string[]; stored: number; kept: z.infer<typeof kept>[] };

async function leftovers({ config, db, git, packs }: CrewApp, run: string, unmerged: boolean): Promise<Leftovers> {
  // The branch of work that was accepted on another machine.
  if (packs.isOn()) await packs.accepted(run, { setBranch: await packs.hasAccepted(run) });
  else await packs.follow(run);
  const listed = await git.text([
    "for-each-ref",
    "--format=%(refname:short)%00%(worktreepath)",
    `refs/heads/scriptorium/${run}/`,
  ]);
  const branches = listed.split("\n").flatMap((line) => {
    const [branch = "", checkedOut = ""] = line.split("\0");
    return branch === "" ? [] : [{ branch, checkedOut }];
  });
  const folder = join(config.stateFolder, "worktrees");
  const [names, tasks, held] = await Promise.all([
    readdir(folder).catch((): string[] => []),
    taskIdsOf(db.read, run),
    heldIn(db.read, run),
  ]);
  const busy = new Set(held.map((task) => task.id));
  const free = new Set(tasks.filter((id) => !busy.has(id)));
  const taskOf = (name: string) => name.replace(/-\d+(-qc(-checks)?|-merge-\d+-\d+(-[\w.]+)?)?$/, "");
  const checkouts = names.filter((name) => free.has(taskOf(name))).map((name) => join(folder, name));
  const stays: Leftovers["kept"] = [];
  for (const { branch, checkedOut } of branches) {
    const reason = await reasonToKeep(branch, checkedOut);
    if (reason !== undefined) stays.push({ branch, reason });
  }
  const isKept = (branch: string) => stays.some((one) => one.branch === branch);
  const isAcceptedKept = isKept(acceptedBranch(run));
  const stored = isAcceptedKept ? 0 : await packs.bytes(run);
  return {
    run,
    checkouts,
    stored,
    kept: stays,
    branches: branches.map((one) => one.branch).filter((one) => !isKept(one)),
  };

  /** A squash leaves no trace in the history of the branch, but one in the record. */
  async function isSquashed(branch: string): Promise<boolean> {
    const tip = await git.commitAt(`refs/heads/${branch}`);
    for (const { accepted, commit } of await mergesOf(db.read, run))
      if (accepted === tip && (await git.isAncestor(commit, "HEAD"))) return true;
    return false;
  }

  async function reasonToKeep(branch: string, checkedOut: string): Promise<string | undefined> {
    if (checkedOut !== "" && !checkouts.includes(checkedOut)) return `checked out in ${checkedOut}`;
    if (branch !== acceptedBranch(run) || unmerged) return undefined;
    const merged = (await git.isAncestor(branch, "HEAD")) || (await isSquashed(branch));
    return merged ? undefined : "not merged into your branch";
  }
}

async function remove(
  { config, db, git, packs, now }: CrewApp,
  { run, branches, checkouts, stored }: Leftovers,
  actor: string,
): Promise<void> {
  for (const folder of checkouts) {
    const desk = join(config.stateFolder, "desks", basename(folder));
    for (const path of [folder, desk]) await rm(path, { recursive: true, force: true, maxRetries: 3 });
  }
  await git.pruneWorktrees();
  for (const branch of branches) await git.deleteRef(`refs/heads/${branch}`);
  await db.write(async (tx) => {
    if (stored > 0) await packs.remove(tx, run);
    await appendEvent(tx, {
      at: now().toISOString(),
      actor,
      kind: "run-cleaned",
      subject: `run:${run}`,
      data: { branches, checkouts: checkouts.length },
    });
  });
}
