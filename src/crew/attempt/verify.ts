import type { Evidence } from "../../store/crew-tables.ts";
import { crashPoint } from "../../store/disk/crash.ts";
import { type Attempt, findAttempt } from "../../store/queries/attempts.ts";
import { type RunTask, runTask } from "../../store/queries/runs.ts";
import { verdictsOf } from "../../store/queries/verdicts.ts";
import { keepLease } from "../../tasks/lease.ts";
import { passAt } from "../../tasks/transition.ts";
import { preambleFor } from "../agent/preamble.ts";
import { runForTask } from "../agent/run-for-task.ts";
import type { Fence } from "../record/facts.ts";
import { contextFor } from "../record/task-context.ts";
import { boundsFor } from "../rules/breakers.ts";
import type { Criterion } from "../rules/plan.ts";
import { type Said, verifierSaysFail } from "../rules/verdict.ts";
import { aboutTask, deskAt, done, lost, released, type StageResult, stop } from "./attempt.ts";
import { checkout } from "./checkout.ts";
import { runChecks } from "./checks.ts";
import type { Crew } from "./crew.ts";

/** Verifiers that are asked before an attempt fails for want of a verdict. */
const maxVerifiers = 3;

/** Runs the deterministic checks, then, if they pass, a verifier. */
export async function verify(crew: Crew, id: string, verifier: string, outer: AbortSignal): Promise<StageResult> {
  const { app, trees } = crew;
  const record = app.attempts;
  const { leaseMs } = app.config.claims;
  const [detail, task] = await Promise.all([runTask(app.db.read, id), app.tasks.find(id)]);
  if (!detail || !task) return stop(`task ${id} does not belong to a plan`);
  const claimed = await record.claimQc(id, verifier, leaseMs);
  if (!claimed.ok) return claimed.problem.code === "not_found" ? stop(claimed.problem.message) : lost;
  const { epoch, secret, attempt } = claimed.value;
  const fence = { task: id, epoch, secret };
  const about = aboutTask(detail, task.title);
  crew.tell({ kind: "qc-started", ...about, attempt: attempt.attempt });

  const lease = keepLease(app.tasks, { ...fence, leaseMs }, outer);
  const name = `${id}-${epoch}-qc`;
  const at = () => attempt.commit_id ?? trees.accepted(detail.run_id);
  const checked = checkout(crew, async () => trees.open(`${name}-checks`, await at()));
  const tree = checkout(crew, async () => trees.open(name, await at()));
  const give = async (said: Said): Promise<StageResult> => {
    const judged = await record.submitVerdict(fence, said, [], verifier);
    if (!judged.ok) return lost;
    tellVerdict(crew, about, attempt, said, judged.value);
    return done;
  };
  try {
    const { criteria } = detail;
    // Checks run in a checkout of their own: they may leave files behind that were not delivered.
    const desk = deskAt(crew, checked.folder, true, name, lease.signal);
    const checks = await runChecks(criteria, { ...desk, checkMs: desk.commandMs });
    await checked.remove();
    if (lease.signal.aborted) return giveBack(crew, fence, verifier, lease);
    const deliverableHash = attempt.deliverable_hash ?? "";
    const recorded = await record.recordChecks(
      fence,
      attempt,
      checks.map((one) => ({ ...one, deliverableHash })),
      verifier,
    );
    if (!recorded.ok) return lost;
    const passed = checks.filter((check) => check.passed).length;
    if (checks.length > 0)
      crew.tell({ kind: "checks-run", ...about, attempt: attempt.attempt, checks: { passed, of: checks.length } });
    crashPoint("crew-checked");
    if (passed < checks.length) return give(failedChecks(criteria, checks));

    for (let tries = 1; tries <= maxVerifiers; tries++) {
      const verification = { detail, attempt, fence, verifier, folder: tree.folder, name };
      const ended = await askVerifier(crew, verification, lease, outer);
      if (ended) return ended;
      if (await hasVerdict(crew, attempt)) {
        const verdict = (await verdictsOf(app.db.read, { task: id })).at(-1);
        if (verdict) tellVerdict(crew, about, attempt, verdict, verdict);
        return done;
      }
    }
    return give(noVerdict);
  } finally {
    lease.end();
    await Promise.all([checked.remove(), tree.remove()]);
  }
}

type Verification = {
  detail: RunTask;
  attempt: Attempt;
  fence: Fence & { secret: string };
  verifier: string;
  folder: () => Promise<string>;
  name: string;
};

/** Undefined if the verifier ended by itself, with or without a verdict. */
async function askVerifier(
  crew: Crew,
  { detail, attempt, fence, verifier, folder, name }: Verification,
  lease: ReturnType<typeof keepLease>,
  outer: AbortSignal,
): Promise<StageResult | undefined> {
  const id = detail.task_id;
  const stopRun = async (reason: string): Promise<StageResult> => {
    await giveBack(crew, fence, verifier, lease);
    return stop(reason);
  };
  const context = await contextFor(crew.app, id, "qc");
  if (!context.ok) return stopRun(context.problem.message);
  const system = await preambleFor(crew, "qc", detail.qc_role, lease.signal);
  if (!system.ok) return stopRun(system.problem.message);
  const ran = await runForTask(
    crew,
    {
      part: "qc",
      run: detail.run_id,
      task: { id, epoch: fence.epoch, attempt: attempt.attempt },
      secret: fence.secret,
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
  if (!ran.ok) return stopRun(ran.problem.message);
  if (lease.lost() || outer.aborted) return giveBack(crew, fence, verifier, lease);
  const { outOfBudget, result } = ran.value;
  if (outOfBudget?.details?.budget === "run") return stopRun(outOfBudget.message);
  if (result.ended === "spawn-error") return stopRun(result.error ?? "the verifier could not be started");
  return undefined;
}

async function giveBack(
  crew: Crew,
  fence: Fence,
  verifier: string,
  lease: ReturnType<typeof keepLease>,
): Promise<StageResult> {
  if (lease.lost()) return lost;
  await crew.app.tasks.release(fence.task, verifier, fence);
  return released("the run was stopped");
}

async function hasVerdict({ app }: Crew, { task_id, epoch }: Attempt): Promise<boolean> {
  const now = await findAttempt(app.db.read, task_id, epoch);
  return now?.phase === "qc_passed" || now?.phase === "qc_failed";
}

function tellVerdict(
  crew: Crew,
  about: ReturnType<typeof aboutTask>,
  { attempt }: Attempt,
  { score, feedback }: { score: number; feedback: string },
  { outcome, objections }: { outcome: string; objections: string[] },
): void {
  const why = objections.find((one) => one !== verifierSaysFail) ?? feedback;
  crew.tell({ kind: "verdict", ...about, attempt, score, outcome, ...(outcome === "PASS" ? {} : { reason: why }) });
}

function failedChecks(criteria: Criterion[], checks: Awaited<ReturnType<typeof runChecks>>): Said {
  const failed = checks.filter((check) => !check.passed);
  const words = (number: number) => criteria[number - 1]?.criterion ?? "";
  return {
    verdict: "FAIL",
    score: Math.min(passAt - 1, Math.round((100 * (checks.length - failed.length)) / checks.length)),
    feedback: `${failed.length} of ${checks.length} checks failed, so no verifier was started.`,
    issues: failed.map(
      ({ criterion, detail }) => `criterion ${criterion} (${words(criterion)}): ${detail.split("\n")[0]}`,
    ),
    requiredFixes: failed.map(({ criterion }) => `make the check of criterion ${criterion} pass: ${words(criterion)}`),
    evidence: checks.map(
      ({ criterion, passed, detail }): Evidence => ({
        criterion,
        met: passed,
        quote: detail.slice(0, 1000),
        from: "check",
      }),
    ),
  };
}

const noVerdict: Said = {
  verdict: "FAIL",
  score: 0,
  feedback: `No verdict: ${maxVerifiers} verifiers ended without calling submit_verdict.`,
  issues: ["no verifier submitted a verdict"],
  requiredFixes: [],
  evidence: [],
};
