import { existsSync, readdirSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { newClaim } from "../../store/claim-secret.ts";
import { crashPoint } from "../../store/disk/crash.ts";
import { privateFile, privateFolder } from "../../store/disk/private.ts";
import { filteredBefore, filterFiles } from "../../store/git/filtered-files.ts";
import { parseJsonOr } from "../../store/json.ts";
import { noSuch } from "../../store/no-such.ts";
import { type Attempt, abandonAttempts, attemptsOf, lastAttempt } from "../../store/queries/attempts.ts";
import { deleteUndecided } from "../../store/queries/held-files.ts";
import { type RunTask, runTask } from "../../store/queries/runs.ts";
import { moveOne } from "../../tasks/moves.ts";
import { wordsFor } from "../../tasks/state-words.ts";
import { shownState, type Task } from "../../tasks/task.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { moving } from "../record/deps.ts";
import type { Spent } from "../record/facts.ts";
import { attemptBranch } from "../rules/branches.ts";
import { commitMessage, deliverableHash } from "./attempt.ts";
import { openTrees } from "./crew.ts";
import { resetUnconfirmed } from "./steering.ts";
import { lastCommit } from "./work.ts";
import type { Worktrees } from "./worktree.ts";

/** A task that a person does by hand. Kept beside the database, because it has the secret of their claim. */
export type TakenTask = {
  task: string;
  run: string;
  number: string;
  attempt: number;
  epoch: number;
  secret: string;
  by: string;
  folder: string;
  branch: string;
  /** The accepted work that it starts from, and the commit that was checked out; undefined until the checkout is whole. */
  base?: string;
  start?: string;
};

/** Long enough for a person; a claim that lasts longer than that was forgotten. */
const leaseMs = 30 * 24 * 60 * 60_000;

const recordOf = ({ config }: CrewApp, task: string) => join(config.stateFolder, "taken", `${task}.json`);

async function readTaken(app: CrewApp, task: string): Promise<TakenTask | undefined> {
  const text = await readFile(recordOf(app, task), "utf8").catch(() => undefined);
  return text === undefined ? undefined : parseJsonOr<TakenTask | undefined>(text, undefined);
}

/** A checkout that is whole. */
type OpenTask = TakenTask & { base: string; start: string };
type Taken = TakenTask & { expiresAt: string; from: string | null };

const isOpen = (taken: TakenTask): taken is OpenTask => taken.start !== undefined;

async function writeTaken(app: CrewApp, taken: TakenTask): Promise<void> {
  await mkdir(dirname(recordOf(app, taken.task)), privateFolder);
  await writeFile(recordOf(app, taken.task), JSON.stringify(taken), privateFile);
}

/**
 * Gives a task of a run to a person: the stage of an agent that holds it ends, its files are kept, and a checkout has
 * them. `folder` is where; left out, below `runs/`.
 */
export async function takeTask(app: CrewApp, id: string, by: string, folder?: string): Promise<Result<Taken>> {
  const [detail, task] = await Promise.all([runTask(app.db.read, id), app.tasks.find(id)]);
  if (!task) return noSuch(app.db.read, "task", id);
  const run = detail && (await app.runs.find(detail.run_id));
  if (!detail || !run) return refuse("invalid", `task ${id} belongs to no run; claim it with: scriptorium task claim`);
  if (detail.on_reject !== null)
    return refuse("conflict", `task ${detail.number} asks a person and has no work to take over; approve or reject it`);
  if (!["running", "stopped", "failed"].includes(run.state))
    return refuse("conflict", `run ${run.id} is ${run.state}; a task can be taken over once its run has started`);
  const interrupted = await interruptedTake(app, task, by);
  if (interrupted) await removeInterrupted(app, interrupted);
  if (folder !== undefined && existsSync(folder) && readdirSync(folder).length > 0)
    return refuse("conflict", `${folder} is not empty; choose another folder`);
  const trees = await openTrees(app);
  const previous = await workSoFar(app, trees, detail, task);
  const claimed = await claim(app, id, by, interrupted !== undefined || (await hasNoRecord(app, task)));
  if (!claimed.ok) return claimed;
  const { task: held, secret, from } = claimed.value;
  const { attempt, epoch } = held;
  const place = folder ?? join(app.config.root, "runs", run.id, `task-${detail.number}-${epoch}`);
  const branch = attemptBranch(run.id, detail.number, attempt, epoch);
  const fence = { task: id, epoch, secret };
  crashPoint("take-claimed");
  try {
    const opening = { task: id, run: run.id, number: detail.number, attempt, epoch, secret, by, folder: place, branch };
    await writeTaken(app, opening);
    const start = await trees.startFor(run.id, previous);
    await mkdir(dirname(place), { recursive: true });
    const added = await app.git.addWorktree(place, start.commit, branch);
    if (added.code !== 0) throw new Error(`git worktree failed: ${added.stderr.trim()}`);
    const gitDir = await app.git.text(["-C", place, "rev-parse", "--absolute-git-dir"]);
    await filterFiles(app.git, { folder: place, gitDir }, start.commit);
    if (start.kept) await resetUnconfirmed({ app }, detail, start, { folder: place, gitDir });
    crashPoint("take-checked-out");
    const begun = await app.attempts.begin(fence, by);
    if (!begun.ok) return begun;
    const taken = { ...opening, base: start.base, start: start.commit };
    await writeTaken(app, taken);
    const expiresAt = new Date(held.leaseUntil ?? Date.now() + leaseMs).toISOString();
    return ok({ ...taken, expiresAt, from });
  } catch (error) {
    await app.tasks.release(id, by, fence);
    throw error;
  }
}

/** A take by the same person whose process was killed before it answered. Nobody has worked in its checkout. */
async function interruptedTake(app: CrewApp, task: Task, by: string): Promise<TakenTask | undefined> {
  const record = await readTaken(app, task.id);
  return record && !isOpen(record) && record.by === by ? record : undefined;
}

/** Only what git made there: the person may have put files into a folder that they named. */
async function removeInterrupted(app: CrewApp, taken: TakenTask): Promise<void> {
  if (existsSync(join(taken.folder, ".git"))) await removeCheckout(app, taken);
  await app.git.deleteRef(`refs/heads/${taken.branch}`);
}

/** Killed between the claim and the record of its secret, which nobody has then. */
const hasNoRecord = async (app: CrewApp, task: Task) => (await readTaken(app, task.id))?.epoch !== task.epoch;

/** The files that the last worker left, accepted or not. */
async function workSoFar(app: CrewApp, trees: Worktrees, detail: RunTask, task: Task): Promise<string | undefined> {
  const { run_id, number, task_id } = detail;
  if (task.state === "worker_executing") {
    const branch = attemptBranch(run_id, number, task.attempt, task.epoch);
    const message = commitMessage(detail, task.title, task.attempt, task.epoch);
    const found = await trees.snapshot(`${task_id}-${task.epoch}`, branch, message);
    if (found) return found;
  }
  const last = await lastAttempt(app.db.read, task_id);
  const tip = last?.branch ? await trees.tip(run_id, last.branch, last.commit_id) : undefined;
  return tip?.commit ?? last?.commit_id ?? lastCommit({ app, trees }, detail);
}

async function claim(
  app: CrewApp,
  id: string,
  by: string,
  again: boolean,
): Promise<Result<{ task: Task; secret: string; from: string | null }>> {
  const { secret, claim } = newClaim(leaseMs);
  let from: string | null = null;
  return app.db.write(async (tx): Promise<Result<{ task: Task; secret: string; from: string | null }>> => {
    const taken = await moveOne(tx, moving(app), {
      ...{ id, actor: by, claim },
      decide(task) {
        from = task.holder;
        if (task.state === "completed")
          return refuse("conflict", `task ${id} is completed; overturn it first, if it is wrong`);
        if (task.holder !== null && task.holder === task.result.taken_by && !(again && task.holder === by))
          return refuse(
            "conflict",
            `${task.holder} has taken over task ${id} already; it can be handed back or released`,
            {
              next: [{ operation: "release_task", input: { id } }],
            },
          );
        return ok({ type: "take", by });
      },
    });
    if (!taken.ok) return taken;
    await abandonAttempts(tx, id, app.now().toISOString());
    await deleteUndecided(tx, id);
    return ok({ task: taken.value, secret, from });
  });
}

export type HandedBack = { run: string; attempt: number; files: string[]; state: string };

/** Ends a person's work: their files are verified like a worker's, or with `discard` the task waits for agents again. */
export async function handBack(
  app: CrewApp,
  id: string,
  { note, discard }: { note: string | undefined; discard: boolean },
  by: string,
): Promise<Result<HandedBack>> {
  const [detail, task, taken] = await Promise.all([runTask(app.db.read, id), app.tasks.find(id), readTaken(app, id)]);
  if (!detail || !task) return noSuch(app.db.read, "task", id);
  if (!taken) return refuse("conflict", `nobody has taken over task ${id} here; it is ${wordsFor(shownState(task))}`);
  if (!isOpen(taken))
    return refuse("conflict", `taking over task ${id} was interrupted; repeat it with: scriptorium task take ${id}`);
  const ended = task.holder === null || task.epoch !== taken.epoch;
  if (ended && discard) {
    await removeCheckout(app, taken);
    await app.git.deleteRef(`refs/heads/${taken.branch}`);
    return ok({ run: taken.run, attempt: taken.attempt, files: [], state: task.state });
  }
  const delivered = ended ? await deliveredBefore(app, detail, taken) : undefined;
  if (delivered) {
    await removeCheckout(app, taken);
    return ok({ run: taken.run, attempt: taken.attempt, files: delivered.files_changed ?? [], state: task.state });
  }
  if (ended)
    return refuse(
      "conflict",
      `the claim on task ${id} has ended; it is ${wordsFor(shownState(task))}. Your files are still in ${taken.folder}`,
    );
  const fence = { task: id, epoch: taken.epoch, secret: taken.secret };
  if (discard) {
    const released = await app.tasks.release(id, by, fence);
    if (!released.ok) return released;
    crashPoint("hand-back-released");
    await removeCheckout(app, taken);
    await app.git.deleteRef(`refs/heads/${taken.branch}`);
    const { state } = released.value.task;
    return ok({ run: taken.run, attempt: taken.attempt, files: [], state });
  }
  const made = await deliverableFrom(app, detail, task, taken, note);
  if (!made.ok) return made;
  const { deliverable, output } = made.value;
  crashPoint("hand-back-collected");
  const begun = await app.attempts.begin(fence, taken.by);
  if (!begun.ok) return begun;
  const said = { output, statements: [], decisions: [], cites: [] };
  const submitted = await app.attempts.submitOutput(fence, said, by);
  if (!submitted.ok) return submitted;
  crashPoint("hand-back-submitted");
  const completed = await app.attempts.completeWork(fence, deliverable, unknownSpent, by);
  if (!completed.ok) return completed;
  crashPoint("hand-back-completed");
  await removeCheckout(app, taken);
  const files = deliverable.filesChanged;
  return ok({ run: taken.run, attempt: taken.attempt, files, state: completed.value.state });
}

/** The attempt of a hand-back that was killed after its work was on record, unless the person changed files since. */
async function deliveredBefore(app: CrewApp, detail: RunTask, taken: OpenTask): Promise<Attempt | undefined> {
  const attempts = await attemptsOf(app.db.read, { task: taken.task });
  const own = attempts.find(({ epoch, worker_ended_at }) => epoch === taken.epoch && worker_ended_at !== null);
  if (!own || own.phase === "abandoned" || detail.deliverable === "text" || !existsSync(taken.folder)) return own;
  const trees = await openTrees(app);
  const tree = await checkoutOf(app, taken);
  const now = await trees.collect({ ...tree, branch: undefined }, taken.base, "What is there now");
  return now.ok && own.commit_id !== null && now.value.tree === (await app.git.treeOf(own.commit_id)) ? own : undefined;
}

async function deliverableFrom(app: CrewApp, detail: RunTask, task: Task, taken: OpenTask, note: string | undefined) {
  const { folder, branch, base, attempt, epoch } = taken;
  if (detail.deliverable === "text") {
    if (note === undefined)
      return refuse(
        "invalid",
        `task ${detail.number} delivers a text: pass it as the note, with --note on the command line`,
      );
    const deliverable = { hash: deliverableHash(detail, "", note), filesChanged: [], branch: null, commit: null };
    return ok({ deliverable, output: note });
  }
  if (!existsSync(folder))
    return refuse(
      "not_found",
      `${folder} is gone; give the task back without its files, with --discard on the command line`,
    );
  const { git } = app;
  const trees = await openTrees(app);
  const tree = await checkoutOf(app, taken);
  const collected = await trees.collect(tree, base, commitMessage(detail, task.title, attempt, epoch));
  if (!collected.ok) return collected;
  const { commit, tree: files, files: changed } = collected.value;
  const published = await trees.publish(detail.run_id, commit);
  if (!published.ok) return published;
  if (changed.length === 0)
    return refuse(
      "conflict",
      `no file in ${folder} differs from the accepted work; change what the task is about, or give it back with --discard`,
    );
  const { prefix } = await git.place();
  const output = note ?? `Done by hand by ${taken.by}.`;
  const deliverable = {
    ...{ hash: deliverableHash(detail, files, output), branch, commit },
    filesChanged: changed.map(({ path }) => relative(join("/", prefix), join("/", path))),
  };
  return ok({ deliverable, output });
}

async function checkoutOf({ git }: CrewApp, { folder, branch, start }: OpenTask) {
  const gitDir = await git.text(["-C", folder, "rev-parse", "--absolute-git-dir"]);
  const head = await git.maybe(["-C", folder, "rev-parse", "HEAD"]);
  // Commits of the person stay in the history of the deliverable, unless they checked something else out.
  const base = head && (await git.isAncestor(start, head)) ? head : start;
  const filtered = await filteredBefore(git);
  // Nothing was installed in a person's folder, so nothing has to be set aside.
  return { folder, cwd: folder, branch, base, gitDir, filtered, installed: [], aside: "" };
}

async function removeCheckout(app: CrewApp, { task, folder }: TakenTask): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  await app.git.pruneWorktrees();
  await rm(recordOf(app, task), { force: true });
}

const unknownSpent: Spent = {
  durationMs: 0,
  inputTokens: null,
  outputTokens: null,
  toolCalls: null,
  messages: null,
  contextTokens: null,
  costUsd: null,
};
