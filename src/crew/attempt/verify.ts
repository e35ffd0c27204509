import type { AttemptRow, RunTaskRow } from "../../store/crew-tables.ts";
import { crashPoint } from "../../store/disk/crash.ts";
import { attemptsOf, runTask, verdictsOf } from "../../store/queries/runs.ts";
import { preambleFor } from "../agent/preamble.ts";
import { runAgent } from "../agent/run-for-task.ts";
import { contextFor } from "../record/task-context.ts";
import { boundsFor } from "../rules/breakers.ts";
import type { Criterion } from "../rules/plan.ts";
import { type Said, verifierSaysFail } from "../rules/verdict.ts";
import { aboutTask, deskAt, type Stage } from "./attempt.ts";
import { checkout } from "./checkout.ts";
import { runChecks } from "./checks.ts";
import type { Crew } from "./crew.ts";
import { keepLease } from "./lease.ts";

const mostVerifiers = 3;

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
    if (judged.ok) tellVerdict(crew, about, attempt, said, judged.value);
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
        if (verdict) {
          const { outcome, objections } = verdict;
          tellVerdict(crew, about, attempt, verdict, { outcome, objections: JSON.parse(objections) });
        }
        return {};
      }
    }
    return give(noVerdict);
  } finally {
    lease.end();
    await Promise.all([checked.remove(), tree.remove()]);
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

function tellVerdict(
  crew: Crew,
  about: ReturnType<typeof aboutTask>,
  { attempt }: AttemptRow,
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
