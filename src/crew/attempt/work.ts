import { join, relative } from "node:path";
import { ok } from "../../kernel/result.ts";
import { crashPoint } from "../../store/disk/crash.ts";
import { attemptsOf, findAttempt } from "../../store/queries/attempts.ts";
import { deleteUndecidedGates } from "../../store/queries/gates.ts";
import { deleteUndecided } from "../../store/queries/held-files.ts";
import { type RunTask, runTask } from "../../store/queries/runs.ts";
import type { Claim } from "../../tasks/engine.ts";
import { keepLease } from "../../tasks/lease.ts";
import { preambleFor } from "../agent/preamble.ts";
import { runForTask } from "../agent/run-for-task.ts";
import type { Spent } from "../record/facts.ts";
import { askPerson } from "../record/gates.ts";
import { takeSteering } from "../record/steering-messages.ts";
import { contextFor } from "../record/task-context.ts";
import { attemptBranch } from "../rules/branches.ts";
import { boundsFor } from "../rules/breakers.ts";
import type { Stop } from "../rules/run.ts";
import {
  aboutTask,
  commitMessage,
  deliverableHash,
  deskAt,
  done,
  held,
  lost,
  released,
  type StageResult,
  stop,
  unreachable,
  waiting,
} from "./attempt.ts";
import type { Changed } from "./changed-files.ts";
import { checkout } from "./checkout.ts";
import type { Crew } from "./crew.ts";
import { gateReason } from "./gate.ts";
import type { Installation } from "./install/cache.ts";
import { resetUnconfirmed, steeringFiles } from "./steering.ts";
import type { Collected, Start, Worktree } from "./worktree.ts";

/** Runs a worker on a claimed task and records its deliverable, or why there is none. */
export async function work(crew: Crew, claim: Claim, worker: string, outer: AbortSignal): Promise<StageResult> {
  const { app, trees } = crew;
  const record = app.attempts;
  const { task, epoch, secret } = claim;
  const fence = { task: task.id, epoch, secret };
  const detail = await runTask(app.db.read, task.id);
  if (!detail) {
    await app.tasks.release(task.id, worker, claim);
    return stop(`task ${task.id} does not belong to a plan`);
  }
  if (detail.on_reject !== null) {
    const asked = await askPerson(app, detail, claim, worker);
    if (!asked.ok) return lost;
    crashPoint("crew-asked");
    crew.tell({ kind: "gate-reached", ...aboutTask(detail, task.title), attempt: task.attempt });
    return held(gateReason(detail));
  }
  const there = await trees.reach(detail.run_id);
  if (!there.ok) {
    await app.tasks.release(task.id, worker, claim);
    return unreachable(there.problem);
  }
  const begun = await record.begin(fence, worker);
  if (!begun.ok) return lost;
  const { attempt } = begun.value;
  await app.db.write(async (tx) => {
    await deleteUndecided(tx, task.id);
    await deleteUndecidedGates(tx, task.id);
  });
  const about = aboutTask(detail, task.title);
  crew.tell({ kind: "attempt-started", ...about, attempt });

  const lease = keepLease(app.tasks, { ...fence, leaseMs: app.config.claims.leaseMs }, outer, app.db);
  const release = async (reason: string): Promise<void> => {
    await app.tasks.release(task.id, worker, claim);
    crew.tell({ kind: "released", ...about, attempt, reason });
  };
  const stopRun = async (reason: string, cause?: Stop["cause"]): Promise<StageResult> => {
    await release(reason);
    return stop(reason, cause);
  };
  const branch = attemptBranch(detail.run_id, detail.number, attempt, epoch);
  let prepared: Installation | undefined;
  const tree = checkout(crew, async () => {
    const start = await trees.startFor(detail.run_id, await lastCommit(crew, detail));
    const opened = await trees.open(`${task.id}-${epoch}`, start.commit, { branch });
    if (start.kept) await resetUnconfirmed(crew, detail, start, opened);
    const own = await crew.setups.ensure(await installedFrom(crew, detail, start), lease.signal);
    // Dependencies that an earlier attempt broke are for this worker to mend.
    await trees.install(opened, own.ok ? own.value : prepared);
    return { ...opened, since: start.base };
  });
  try {
    const setup = await crew.setups.ofAccepted(detail.run_id, lease.signal);
    if (lease.lost()) return lost;
    if (!setup.ok && outer.aborted) {
      await release(stoppedRun);
      return released(stoppedRun);
    }
    if (!setup.ok) return stopRun(setup.problem.message);
    prepared = setup.value;
    // The files of the earlier attempt belong to the deliverable even if this worker never opens its folder.
    if (attempt > 1 || detail.start_epoch) await tree.open();
    // Before the context is made: a message that comes in between is then delivered twice, and never lost.
    await takeSteering(app, { task: task.id, epoch, how: "context", agent: worker });
    const context = await contextFor(app, task.id, "worker");
    if (!context.ok) return stopRun(context.problem.message);
    const system = await preambleFor(crew, "worker", detail.worker_role, lease.signal);
    if (!system.ok) return stopRun(system.problem.message);
    const ran = await runForTask(
      crew,
      {
        part: "worker",
        run: detail.run_id,
        task: { id: task.id, epoch, attempt },
        secret,
        agent: worker,
        model: detail.model ?? undefined,
        system: system.value,
        context: context.value,
        desk: deskAt(crew, tree.folder, true, `${task.id}-${epoch}`, lease.signal),
        bounds: boundsFor("worker", detail.estimated_tool_calls),
        delivers: "submit_output",
      },
      lease.signal,
    );
    if (!ran.ok) return stopRun(ran.problem.message);
    const { result, tools, spent, outOfBudget } = ran.value;
    if (lease.lost()) return lost;
    if (outer.aborted) {
      await release(stoppedRun);
      return released(stoppedRun);
    }
    if (outOfBudget?.details?.budget === "run") return stopRun(outOfBudget.message, "budget");
    if (result.ended === "spawn-error") return stopRun(result.error ?? "the worker could not be started");
    if (result.ended === "outage" && !tools.isDone?.()) {
      const reason = result.error ?? "the provider of the worker's model does not answer";
      if (result.outage === "person") return stopRun(reason);
      await release(reason);
      return waiting(reason);
    }

    const made = tree.opened();
    const message = commitMessage(detail, task.title, attempt, epoch);
    const collected =
      made && detail.deliverable === "files" ? await trees.collect(made, made.since, message) : undefined;
    // Before the result is recorded: whoever verifies it may be on another machine.
    const published = collected?.ok ? await trees.publish(detail.run_id, collected.value.commit) : ok(true);
    const misfit = [collected, published].find((one) => one?.ok === false);
    const unfit = misfit?.ok === false ? misfit.problem.message : undefined;
    const broken = whyBroken(result, tools.tripped(), tools.isDone?.() ?? false) ?? unfit;
    const found = collected?.ok ? collected.value : undefined;
    if (broken !== undefined) {
      const partial = found && made ? await leftBehind(crew, found, made.since) : "";
      const failed = await record.failWork(fence, { reason: broken, partial }, spent, worker);
      if (!failed.ok) return lost;
      crew.tell({ kind: "worker-failed", ...about, attempt, reason: broken, ...figures(spent) });
      return done;
    }
    const files = found?.files ?? [];
    const deliverable = {
      hash: deliverableHash(detail, found?.tree ?? "", await outputOf(crew, fence)),
      filesChanged:
        made && files.length > 0
          ? files.map(({ path }) => fromWorkspace(made, path))
          : await acceptedBefore(crew, detail),
      branch: found ? branch : null,
      commit: found?.commit ?? null,
    };
    crashPoint("crew-collected");
    const completed = await record.completeWork(fence, deliverable, spent, worker);
    if (!completed.ok) return lost;
    crew.tell({ kind: "worker-completed", ...about, attempt, files: files.length, ...figures(spent) });
    return done;
  } finally {
    lease.end();
    await tree.remove();
  }
}

const stoppedRun = "the run was stopped";

/** Not the files of an earlier attempt if a person has yet to allow some of them, such as an install script. */
async function installedFrom({ app }: Crew, { run_id, task_id }: RunTask, { base, commit, kept }: Start) {
  const isFree = kept && (await steeringFiles(app.git, base, commit)).length === 0;
  return { run: run_id, commit: isFree ? commit : base, task: task_id };
}

const figures = ({ inputTokens, outputTokens, costUsd }: Spent) => ({
  tokens: inputTokens === null || outputTokens === null ? null : inputTokens + outputTokens,
  usd: costUsd,
});

/** The commit that the next attempt starts with: of the last failed attempt, or of the one that a rerun names. */
export async function lastCommit(
  { app, trees }: Pick<Crew, "app" | "trees">,
  { task_id, run_id, number, start_epoch, start_since }: RunTask,
): Promise<string | undefined> {
  const attempts = await attemptsOf(app.db.read, { task: task_id });
  const failed = attempts.findLast((row) => row.phase === "qc_failed" && row.epoch > (start_since ?? 0));
  const from = failed ?? attempts.find((row) => row.epoch === start_epoch);
  if (!from) return undefined;
  const branch = from.branch ?? attemptBranch(run_id, number, from.attempt, from.epoch);
  return (await trees.tip(run_id, branch, from.commit_id))?.commit;
}

/**
 * The files of an earlier attempt of this task that are in the accepted work. A task that is done again after it was
 * overturned or became stale may find them right as they are.
 */
async function acceptedBefore({ app, trees }: Crew, { task_id, run_id, deliverable }: RunTask): Promise<string[]> {
  if (deliverable !== "files" || !(await trees.hasAccepted(run_id))) return [];
  const accepted = await trees.accepted(run_id);
  const earlier = (await attemptsOf(app.db.read, { task: task_id })).filter((row) => row.files_changed.length > 0);
  for (const { commit_id, files_changed } of earlier.reverse())
    if (commit_id !== null && (await app.git.isAncestor(commit_id, accepted))) return files_changed;
  return [];
}

async function outputOf({ app }: Crew, { task, epoch }: { task: string; epoch: number }): Promise<string> {
  return (await findAttempt(app.db.read, task, epoch))?.output ?? "";
}

type Ran = Extract<Awaited<ReturnType<typeof runForTask>>, { ok: true }>["value"]["result"];

/** The reason why a worker delivered nothing, in words for the next worker. */
function whyBroken(
  { ended, error, exitCode }: Ran,
  tripped: string | undefined,
  submitted: boolean,
): string | undefined {
  if (tripped) return tripped;
  if (submitted) return undefined;
  if (ended === "limit") return error ?? "a limit was reached";
  if (ended === "timeout" || ended === "idle") return error ?? `the worker was stopped: ${ended}`;
  if (error || exitCode !== 0)
    return `the worker ended without calling submit_output: ${error ?? `exit code ${exitCode}`}`;
  return "the worker ended without calling submit_output, so there is nothing to verify";
}

/** Git's paths start at the top of the repository; those of people and topics at the workspace. */
const fromWorkspace = ({ folder, cwd }: Worktree, path: string) => relative(cwd, join(folder, path));

/** The changes of a stopped attempt as text, for the next one. */
async function leftBehind({ trees }: Crew, { files, commit }: Collected, base: string): Promise<string> {
  if (files.length === 0) return "";
  return `${listed(files)}\n\n${(await trees.diff(base, commit)).slice(0, 20_000)}`;
}

const listed = (files: Changed[]) => files.map(({ path, status }) => `${status}: ${path}`).join("\n");
