import { crashPoint } from "../store/crash.ts";
import type { AttemptRow, RunTaskRow } from "../store/crew-tables.ts";
import { attemptsOf, runTask, verdictsOf } from "../store/runs.ts";
import type { Claim } from "../tasks/engine.ts";
import { runAgent } from "./agent-run.ts";
import { boundsFor } from "./breakers.ts";
import { checkout } from "./checkout.ts";
import { runChecks } from "./checks.ts";
import type { Crew } from "./crew.ts";
import { writeHandoff } from "./handoff.ts";
import { keepLease } from "./lease.ts";
import { contextFor } from "./load.ts";
import type { Criterion } from "./plan.ts";
import { preambleFor } from "./preamble.ts";
import { hashOf, type Spent } from "./record.ts";
import { keepText } from "./text-deliverable.ts";
import type { Said } from "./verdict.ts";
import { attemptBranch, type Changed, type Collected } from "./worktree.ts";

/**
 * One attempt is three stages, and each begins from what the record says alone. Whoever is killed
 * in one of them, the next process to look takes the task up where it stands:
 *
 *   work     pending, preparing_retry ──▶ worker_completed, or qc_failed
 *   verify   worker_completed         ──▶ qc_passed, or qc_failed
 *   conclude qc_passed                ──▶ completed, or qc_failed when it does not merge
 *            qc_failed                ──▶ preparing_retry, or failed
 *
 * What a stage comes to is a problem only when it concerns the run as a whole.
 */
export type Stage = { stop?: string };

const mostVerifiers = 3;

export async function work(crew: Crew, claim: Claim, worker: string, outer: AbortSignal): Promise<Stage> {
  const { app, trees } = crew;
  const record = app.attempts;
  const { task, epoch } = claim;
  const fence = { task: task.id, epoch };
  const detail = await runTask(app.db.read, task.id);
  if (!detail) return {};
  const begun = await record.begin(fence, worker);
  if (!begun.ok) return {};
  const { attempt } = begun.value;
  const about = aboutTask(detail, task.title);
  crew.tell({ kind: "attempt-started", ...about, attempt });

  const lease = keepLease(app, fence, outer);
  const release = async (reason: string): Promise<Stage> => {
    await app.tasks.release(task.id, worker, { epoch });
    crew.tell({ kind: "released", ...about, attempt, reason });
    return {};
  };
  const branch = attemptBranch(detail.run_id, detail.number, attempt, epoch);
  const tree = checkout(crew, async () => {
    const start = await trees.startFor(detail.run_id, await lastCommit(crew, detail));
    return { ...(await trees.open(`${task.id}-${epoch}`, start.commit, branch)), since: start.base };
  });
  try {
    // What an attempt before it left in files is there from the start, also if this one adds nothing.
    if (attempt > 1) await tree.open();
    const context = await contextFor(app, task.id, "worker");
    const system = await preambleFor(crew, "worker", detail.worker_role, lease.signal);
    if (!context.ok || !system.ok) {
      const why = !context.ok ? context.problem.message : !system.ok ? system.problem.message : "";
      await release(why);
      return { stop: why };
    }
    const ran = await runAgent(
      crew,
      {
        part: "worker",
        run: detail.run_id,
        task: { id: task.id, epoch, attempt },
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
    if (!ran.ok) {
      await release(ran.problem.message);
      return { stop: ran.problem.message };
    }
    const { result, tools, spent, outOfBudget } = ran.value;
    if (lease.lost()) return {};
    if (outer.aborted) return release("the run was stopped");
    if (outOfBudget?.details?.budget === "run") {
      await release(outOfBudget.message);
      return { stop: outOfBudget.message };
    }
    if (result.ended === "spawn-error") {
      const reason = `the worker could not be started: ${result.error ?? "unknown"}`;
      await release(reason);
      return { stop: reason };
    }

    const made = tree.opened();
    const message = commitMessage(detail, task.title, attempt, epoch);
    const collected =
      made && detail.deliverable === "files" ? await trees.collect(made, made.since, message) : undefined;
    const unfit = collected && !collected.ok ? collected.problem.message : undefined;
    const broken = whyBroken(result, tools.tripped(), tools.isDone?.() ?? false) ?? unfit;
    const found = collected?.ok ? collected.value : undefined;
    if (broken !== undefined) {
      const partial = found && made ? await leftBehind(crew, found, made.since) : "";
      await record.failWork(fence, { reason: broken, partial }, spent, worker);
      crew.tell({ kind: "worker-failed", ...about, attempt, reason: broken, ...figures(spent) });
      return {};
    }
    const files = found?.files ?? [];
    const deliverable = {
      hash: deliverableHash(detail, found?.tree ?? "", await outputOf(crew, fence)),
      filesChanged: files.map((file) => file.path),
      branch: found ? branch : null,
      commit: found?.commit ?? null,
    };
    crashPoint("crew-collected");
    const done = await record.completeWork(fence, deliverable, spent, worker);
    if (done.ok) crew.tell({ kind: "worker-completed", ...about, attempt, files: files.length, ...figures(spent) });
    return {};
  } finally {
    lease.end();
    await tree.remove();
  }
}

/** Deterministic checks first; only what they let through is worth a verifier. */
export async function verify(crew: Crew, id: string, verifier: string, outer: AbortSignal): Promise<Stage> {
  const { app, trees } = crew;
  const record = app.attempts;
  const { leaseMs } = app.config.claims;
  const [detail, task] = await Promise.all([runTask(app.db.read, id), app.tasks.find(id)]);
  if (!detail || !task) return {};
  const claimed = await record.claimQc(id, verifier, leaseMs);
  if (!claimed.ok) return {};
  const { epoch, attempt } = claimed.value;
  const about = aboutTask(detail, task.title);
  crew.tell({ kind: "qc-started", ...about, attempt: attempt.attempt });

  const lease = keepLease(app, { task: id, epoch }, outer);
  const name = `${id}-${epoch}-qc`;
  const at = () => attempt.commit_id ?? trees.accepted(detail.run_id);
  const checked = checkout(crew, async () => trees.open(`${name}-checks`, await at()));
  const tree = checkout(crew, async () => trees.open(name, await at()));
  const give = async (said: Said): Promise<Stage> => {
    const judged = await record.submitVerdict({ task: id, epoch }, said, [], verifier);
    if (judged.ok) tellVerdict(crew, about, attempt, said.score, judged.value.outcome, judged.value.objections);
    return {};
  };
  try {
    const criteria = JSON.parse(detail.criteria) as Criterion[];
    // Checks may leave something behind; the verifier looks at what was delivered and nothing else.
    const desk = deskAt(crew, checked.folder, true, name, lease.signal);
    const checks = await runChecks(criteria, { ...desk, checkMs: desk.commandMs });
    await checked.remove();
    if (lease.signal.aborted) return giveBack(crew, id, verifier, epoch, lease.lost());
    const deliverableHash = attempt.deliverable_hash ?? "";
    await record.recordChecks(
      { task: id, epoch: attempt.epoch },
      checks.map((one) => ({ ...one, deliverableHash })),
      verifier,
    );
    const passed = checks.filter((check) => check.passed).length;
    if (checks.length > 0)
      crew.tell({ kind: "checks-run", ...about, attempt: attempt.attempt, checks: { passed, of: checks.length } });
    crashPoint("crew-checked");
    if (passed < checks.length) return give(failedChecks(criteria, checks));

    for (let tries = 1; tries <= mostVerifiers; tries++) {
      const stage = await askVerifier(
        crew,
        { detail, attempt, epoch, verifier, folder: tree.folder, name },
        lease,
        outer,
      );
      if (stage) return stage;
      if (await hasVerdict(crew, id, attempt)) {
        const verdict = (await verdictsOf(app.db.read, { task: id })).at(-1);
        tellVerdict(
          crew,
          about,
          attempt,
          verdict?.score ?? 0,
          verdict?.outcome ?? "",
          JSON.parse(verdict?.objections ?? "[]"),
        );
        return {};
      }
    }
    return give(noVerdict);
  } finally {
    lease.end();
    await tree.remove();
  }
}

type Verification = {
  detail: RunTaskRow;
  attempt: AttemptRow;
  epoch: number;
  verifier: string;
  folder: () => Promise<string>;
  name: string;
};

async function askVerifier(
  crew: Crew,
  { detail, attempt, epoch, verifier, folder, name }: Verification,
  lease: ReturnType<typeof keepLease>,
  outer: AbortSignal,
): Promise<Stage | undefined> {
  const id = detail.task_id;
  const [context, system] = [
    await contextFor(crew.app, id, "qc"),
    await preambleFor(crew, "qc", detail.qc_role, lease.signal),
  ];
  const back = async (why: string): Promise<Stage> => {
    await giveBack(crew, id, verifier, epoch, lease.lost());
    return { stop: why };
  };
  if (!context.ok) return back(context.problem.message);
  if (!system.ok) return back(system.problem.message);
  const ran = await runAgent(
    crew,
    {
      part: "qc",
      run: detail.run_id,
      task: { id, epoch, attempt: attempt.attempt },
      agent: verifier,
      model: undefined,
      system: system.value,
      context: context.value,
      desk: deskAt(crew, folder, false, name, lease.signal),
      bounds: boundsFor("qc", null),
      delivers: "submit_verdict",
    },
    lease.signal,
  );
  if (!ran.ok) return back(ran.problem.message);
  if (lease.lost()) return {};
  if (outer.aborted) return giveBack(crew, id, verifier, epoch, false);
  const { outOfBudget, result } = ran.value;
  if (outOfBudget?.details?.budget === "run") return back(outOfBudget.message);
  if (result.ended === "spawn-error") return back(`the verifier could not be started: ${result.error ?? "unknown"}`);
  return undefined;
}

async function giveBack(crew: Crew, id: string, verifier: string, epoch: number, lost: boolean): Promise<Stage> {
  if (!lost) await crew.app.tasks.release(id, verifier, { epoch });
  return {};
}

const hasVerdict = async (crew: Crew, id: string, attempt: AttemptRow) => {
  const [now] = (await attemptsOf(crew.app.db.read, { task: id })).filter((row) => row.epoch === attempt.epoch);
  return now?.phase === "qc_passed" || now?.phase === "qc_failed";
};

/** What passed is merged and accepted; what failed is tried again, or given up with a report of why. */
export async function conclude(crew: Crew, id: string, actor: string): Promise<Stage> {
  const { app, trees } = crew;
  const record = app.attempts;
  const [detail, task] = await Promise.all([runTask(app.db.read, id), app.tasks.find(id)]);
  if (!detail || !task) return {};
  const about = aboutTask(detail, task.title);
  const attempt = (await attemptsOf(app.db.read, { task: id })).findLast((row) => row.phase !== "abandoned");
  if (task.state === "qc_passed" && attempt) {
    const tip = attempt.branch ? await trees.tip(attempt.branch, attempt.commit_id) : undefined;
    const hash = deliverableHash(detail, tip?.tree ?? "", attempt.output ?? "");
    if (tip && hash === attempt.deliverable_hash) {
      const merged = await trees.merge(detail.run_id, tip.commit, mergeMessage(detail, task.title, attempt));
      if (!merged.ok) {
        await record.refuseAccepted(id, merged.problem.message, actor);
        crew.tell({ kind: "merge-conflict", ...about, attempt: attempt.attempt, reason: merged.problem.message });
      }
    }
    crashPoint("crew-merged");
    if (hash === attempt.deliverable_hash) await keepText(crew, detail, task.title, attempt);
    const accepted = await record.accept(id, hash, actor);
    if (accepted.ok) {
      crew.tell({ kind: "accepted", ...about, attempt: attempt.attempt });
      if (attempt.branch) await trees.forget(attempt.branch);
      await writeHandoff(crew, detail, task.title, attempt);
      return {};
    }
  }
  crashPoint("crew-failed");
  const settled = await record.settle(id, actor);
  if (!settled.ok) return {};
  const { state } = settled.value.task;
  const reason = settled.value.error.summary;
  crew.tell({ kind: state === "failed" ? "given-up" : "retry", ...about, attempt: task.attempt, reason });
  return {};
}

const aboutTask = ({ run_id, task_id, number }: RunTaskRow, title: string) => ({
  run: run_id,
  task: task_id,
  number,
  title,
});
const figures = ({ inputTokens, outputTokens, costUsd }: Spent) => ({
  tokens: inputTokens === null || outputTokens === null ? null : inputTokens + outputTokens,
  usd: costUsd,
});

function tellVerdict(
  crew: Crew,
  about: ReturnType<typeof aboutTask>,
  { attempt }: AttemptRow,
  score: number,
  outcome: string,
  objections: string[],
): void {
  crew.tell({
    kind: "verdict",
    ...about,
    attempt,
    score,
    outcome,
    ...(objections[0] ? { reason: objections[0] } : {}),
  });
}

/** A verdict is bound to this: the files as they are, and the words that go with them. */
const deliverableHash = ({ deliverable }: RunTaskRow, tree: string, output: string) =>
  hashOf(deliverable === "text" ? output : `${tree}\n${output}`);

const deskAt = (crew: Crew, folder: () => Promise<string>, write: boolean, run: string, signal: AbortSignal) => {
  const { config } = crew.app;
  return {
    folder,
    write,
    sandbox: crew.sandbox,
    read: config.crew.read,
    env: { PATH: config.environment.PATH ?? "/usr/bin:/bin", LANG: "C.UTF-8", TERM: "dumb" },
    run,
    commandMs: config.crew.command_seconds * 1000,
    signal,
  };
};

/** The attempt before, if it left anything in files. */
async function lastCommit({ app, trees }: Crew, { task_id, run_id, number }: RunTaskRow): Promise<string | undefined> {
  const failed = (await attemptsOf(app.db.read, { task: task_id })).findLast((row) => row.phase === "qc_failed");
  if (!failed) return undefined;
  const branch = failed.branch ?? attemptBranch(run_id, number, failed.attempt, failed.epoch);
  return (await trees.tip(branch, failed.commit_id))?.commit;
}

async function outputOf({ app }: Crew, { task, epoch }: { task: string; epoch: number }): Promise<string> {
  const row = (await attemptsOf(app.db.read, { task })).find((attempt) => attempt.epoch === epoch);
  return row?.output ?? "";
}

type Ran = Extract<Awaited<ReturnType<typeof runAgent>>, { ok: true }>["value"]["result"];

/** Why a worker's run is no deliverable, in the words that the next worker reads. */
function whyBroken(
  { ended, error, exitCode }: Ran,
  tripped: string | undefined,
  submitted: boolean,
): string | undefined {
  if (tripped) return tripped;
  if (submitted) return undefined;
  if (ended === "limit") return error ?? "a limit was reached";
  if (ended === "timeout" || ended === "idle") return error ?? `the worker was stopped: ${ended}`;
  if (error || exitCode !== 0) return `the worker ended without an output: ${error ?? `exit code ${exitCode}`}`;
  return "the worker ended without calling submit_output, so there is nothing to verify";
}

/** What an attempt that was stopped had changed, for the one after it. */
async function leftBehind({ trees }: Crew, { files, commit }: Collected, base: string): Promise<string> {
  if (files.length === 0) return "";
  return `${listed(files)}\n\n${(await trees.diff(base, commit)).slice(0, 20_000)}`;
}

const listed = (files: Changed[]) => files.map(({ path, status }) => `${status}: ${path}`).join("\n");

function failedChecks(criteria: Criterion[], checks: Awaited<ReturnType<typeof runChecks>>): Said {
  const failed = checks.filter((check) => !check.passed);
  const words = (number: number) => criteria[number - 1]?.criterion ?? "";
  return {
    verdict: "FAIL",
    score: Math.min(79, Math.round((100 * (checks.length - failed.length)) / checks.length)),
    feedback: `${failed.length} of ${checks.length} checks failed, so no verifier was asked.`,
    issues: failed.map(
      ({ criterion, detail }) => `criterion ${criterion} (${words(criterion)}): ${detail.split("\n")[0]}`,
    ),
    requiredFixes: failed.map(({ criterion }) => `make the check of criterion ${criterion} pass: ${words(criterion)}`),
    evidence: checks.map(({ criterion, passed, detail }) => ({
      criterion,
      met: passed,
      quote: detail.slice(0, 1000),
      from: "check",
    })),
  };
}

const noVerdict: Said = {
  verdict: "FAIL",
  score: 0,
  feedback: `No verdict was given: ${mostVerifiers} verifiers ended without calling submit_verdict.`,
  issues: ["no verifier gave a verdict"],
  requiredFixes: [],
  evidence: [],
};

const trailers = ({ run_id, number, task_id }: RunTaskRow, attempt: number, epoch: number) =>
  [`Run: ${run_id}`, `Task: ${task_id}`, `Number: ${number}`, `Attempt: ${attempt}`, `Epoch: ${epoch}`].join("\n");

const commitMessage = (detail: RunTaskRow, title: string, attempt: number, epoch: number) =>
  `Task ${detail.number}: ${title}\n\n${trailers(detail, attempt, epoch)}\n`;

const mergeMessage = (detail: RunTaskRow, title: string, { attempt, epoch }: AttemptRow) =>
  `Accept task ${detail.number}: ${title}\n\n${trailers(detail, attempt, epoch)}\n`;
