import type { Evidence } from "../../store/crew-tables.ts";
import { crashPoint } from "../../store/disk/crash.ts";
import { type Attempt, lastAttempt } from "../../store/queries/attempts.ts";
import { type RunTask, runTask } from "../../store/queries/runs.ts";
import { type Verdict, verdictsOf } from "../../store/queries/verdicts.ts";
import { keepLease } from "../../tasks/lease.ts";
import { passAt } from "../../tasks/transition.ts";
import { type DeliverableDiff, diffTool } from "../agent/desk-diff.ts";
import { preambleFor } from "../agent/preamble.ts";
import { runForTask } from "../agent/run-for-task.ts";
import type { Fence } from "../record/facts.ts";
import { contextFor } from "../record/task-context.ts";
import { boundsFor } from "../rules/breakers.ts";
import type { Criterion } from "../rules/plan.ts";
import type { Stop } from "../rules/run.ts";
import { noFilesChanged, noneAsked, type Said, type SystemFail, verifierSaysFail } from "../rules/verdict.ts";
import {
  aboutTask,
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
import { checkout } from "./checkout.ts";
import { type Checked, callCommands, runChecks } from "./checks.ts";
import type { Crew } from "./crew.ts";
import type { Installation } from "./install/cache.ts";
import { scratchPatch } from "./scratch.ts";
import { isDeliverablesFault } from "./setups.ts";
import { heldFilesOf, heldReason, refusedFiles } from "./steering.ts";
import type { Worktree } from "./worktree.ts";

/** Verifiers that are asked before the run stops for want of a verdict. */
const maxVerifiers = 3;

/** Runs the deterministic checks, then, if they pass, a verifier. */
export async function verify(crew: Crew, id: string, verifier: string, outer: AbortSignal): Promise<StageResult> {
  const { app, trees } = crew;
  const record = app.attempts;
  const { leaseMs } = app.config.claims;
  const [detail, task] = await Promise.all([runTask(app.db.read, id), app.tasks.find(id)]);
  if (!detail || !task) return stop(`task ${id} does not belong to a plan`);
  const delivered = await lastAttempt(app.db.read, id);
  const there = await trees.reach(detail.run_id, [delivered?.commit_id ?? null]);
  if (!there.ok) return unreachable(there.problem);
  const files = delivered && (await heldFilesOf(crew, detail, delivered));
  if (files && files.decision === null) return held(heldReason(detail, files));
  const claimed = await record.claimQc(id, verifier, leaseMs);
  if (!claimed.ok) return claimed.problem.code === "not_found" ? stop(claimed.problem.message) : lost;
  const { epoch, secret, attempt } = claimed.value;
  const fence = { task: id, epoch, secret };
  const about = aboutTask(detail, task.title);
  crew.tell({ kind: "qc-started", ...about, attempt: attempt.attempt });

  const lease = keepLease(app.tasks, { ...fence, leaseMs }, outer, app.db);
  const name = `${id}-${epoch}-qc`;
  const at = () => attempt.commit_id ?? trees.accepted(detail.run_id);
  let installation: Installation | undefined;
  const open = async (folder: string, isBare = false) => {
    const tree = await trees.open(folder, await at(), { isBare });
    await trees.install(tree, installation);
    return tree;
  };
  const checked = checkout(crew, () => open(`${name}-checks`, !callCommands(detail.criteria)));
  const fail = async ({ objection, ...said }: SystemFail, causes: string[]): Promise<StageResult> => {
    const judged = await record.failByRule(fence, said, [objection, ...causes], verifier);
    if (!judged.ok) return lost;
    tellVerdict(crew, about, attempt, said, judged.value);
    return done;
  };
  try {
    if (files?.decision === "refused") return fail(refusedFiles(files), []);
    if (detail.deliverable === "files" && attempt.files_changed.length === 0) return fail(nothingChanged, []);
    const { criteria } = detail;
    // A deliverable that changes the lockfile is verified with the dependencies that it names.
    const setup = await installFor(crew, detail, attempt, lease.signal);
    if (lease.signal.aborted) return giveBack(crew, fence, verifier, lease);
    if (!setup.ok) {
      const { message, details } = setup.problem;
      if (isDeliverablesFault(details)) return fail(failedSetup(String(details?.error)), []);
      await giveBack(crew, fence, verifier, lease);
      return stop(message);
    }
    installation = setup.value;
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
    if (passed < checks.length) return fail(failedChecks(criteria, checks), failures(checks));

    const without: string[] = [];
    for (let tries = 1; tries <= maxVerifiers; tries++) {
      const verification = { detail, attempt, fence, verifier, name, open: () => open(name) };
      const asked = await askVerifier(crew, verification, lease, outer);
      if ("stage" in asked) return asked.stage;
      const { verdict, ended } = asked;
      if (verdict && verdict.voided_at === null) {
        tellVerdict(crew, about, attempt, verdict, verdict);
        return done;
      }
      without.push(verdict?.void_reason ?? ended);
    }
    const back = await giveBack(crew, fence, verifier, lease);
    return back === lost ? lost : stop(noVerdict(detail, without));
  } finally {
    lease.end();
    await checked.remove();
  }
}

type Verification = {
  detail: RunTask;
  attempt: Attempt;
  fence: Fence & { secret: string };
  verifier: string;
  name: string;
  open: () => Promise<Worktree>;
};

/** Asks one verifier, in a scratch copy of its own. Says how it ended, unless that ends the stage. */
async function askVerifier(
  crew: Crew,
  { detail, attempt, fence, verifier, name, open }: Verification,
  lease: ReturnType<typeof keepLease>,
  outer: AbortSignal,
): Promise<{ stage: StageResult } | { verdict: Verdict | undefined; ended: string }> {
  const { app } = crew;
  const id = detail.task_id;
  const stopRun = async (reason: string, cause?: Stop["cause"]): Promise<{ stage: StageResult }> => {
    await giveBack(crew, fence, verifier, lease);
    return { stage: stop(reason, cause) };
  };
  const diff = attempt.commit_id === null ? undefined : diffOf(crew, detail.run_id, attempt.commit_id);
  const context = await contextFor(app, id, "qc", await diff?.(undefined));
  if (!context.ok) return stopRun(context.problem.message);
  const system = await preambleFor(crew, "qc", detail.qc_role, lease.signal);
  if (!system.ok) return stopRun(system.problem.message);
  const before = new Set((await verdictsOf(app.db.read, { task: id })).map((verdict) => verdict.id));
  const scratch = checkout(crew, open);
  try {
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
        // It may write and run what it likes there: the verdict is bound to the commit.
        desk: deskAt(crew, scratch.folder, true, name, lease.signal),
        tools: diff ? [diffTool(diff)] : [],
        bounds: boundsFor("qc", null),
        delivers: "submit_verdict",
        scratch: async () => {
          const tree = scratch.opened();
          return tree ? scratchPatch(crew, tree) : null;
        },
      },
      lease.signal,
    );
    if (!ran.ok) return stopRun(ran.problem.message);
    const verdict = (await verdictsOf(app.db.read, { task: id })).findLast(
      (one) => one.verifier === verifier && !before.has(one.id),
    );
    if (verdict?.voided_at === null) return { verdict, ended: "" };
    if (lease.lost() || outer.aborted) return { stage: await giveBack(crew, fence, verifier, lease) };
    const { outOfBudget, result, tools } = ran.value;
    if (outOfBudget?.details?.budget === "run") return stopRun(outOfBudget.message, "budget");
    if (result.ended === "spawn-error") return stopRun(result.error ?? "the verifier could not be started");
    if (result.ended === "outage") {
      const reason = result.error ?? "the provider of the verifier's model does not answer";
      if (result.outage === "person") return stopRun(reason);
      await giveBack(crew, fence, verifier, lease);
      return { stage: waiting(reason) };
    }
    return { verdict, ended: tools.tripped() ?? result.error ?? "it ended without calling submit_verdict" };
  } finally {
    await scratch.remove();
  }
}

const installFor = (crew: Crew, { run_id, task_id }: RunTask, { commit_id }: Attempt, signal: AbortSignal) =>
  commit_id === null
    ? crew.setups.ofAccepted(run_id, signal)
    : crew.setups.ensure({ run: run_id, commit: commit_id, task: task_id }, signal);

const diffOf =
  ({ app, trees }: Crew, run: string, commit: string): DeliverableDiff =>
  async (path) => {
    const paths = path === undefined ? [] : [`:(literal)${path}`];
    return app.git.text(["diff", await trees.baseOf(run, commit), commit, "--", ...paths]);
  };

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

function tellVerdict(
  crew: Crew,
  about: ReturnType<typeof aboutTask>,
  { attempt }: Attempt,
  { score, feedback, issues }: Pick<Said, "score" | "feedback" | "issues">,
  { outcome, objections }: { outcome: string; objections: string[] },
): void {
  const why = issues[0] ?? objections.find((one) => one !== verifierSaysFail) ?? feedback;
  crew.tell({ kind: "verdict", ...about, attempt, score, outcome, ...(outcome === "PASS" ? {} : { reason: why }) });
}

function failedChecks(criteria: Criterion[], checks: Checked[]): SystemFail {
  const failed = checks.filter((check) => !check.passed);
  const objection = `${failed.length} of ${checks.length} checks failed, ${noneAsked}`;
  const words = (number: number) => criteria[number - 1]?.criterion ?? "";
  return {
    verdict: "FAIL",
    score: Math.min(passAt - 1, Math.round((100 * (checks.length - failed.length)) / checks.length)),
    feedback: `${objection}.`,
    objection,
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
        ref: "",
        lines: "",
        absent: false,
      }),
    ),
  };
}

const failures = (checks: Checked[]) =>
  checks
    .filter((check) => !check.passed)
    .map(({ criterion, detail }) => `the check of criterion ${criterion} failed: ${detail}`);

const failedSetup = (error: string): SystemFail => ({
  verdict: "FAIL",
  score: 0,
  feedback: "No verifier was started: the dependencies that the deliverable names cannot be installed.",
  objection: `the setup failed on the deliverable, ${noneAsked}`,
  issues: [`the setup, which succeeds on the accepted work, fails on the deliverable: ${error}`],
  requiredFixes: ["make package.json and the lockfile agree, or leave them as they were"],
  evidence: [],
});

const nothingChanged: SystemFail = {
  verdict: "FAIL",
  score: 0,
  feedback: `No verifier was started: ${noFilesChanged}.`,
  objection: `${noFilesChanged}, ${noneAsked}`,
  issues: [noFilesChanged],
  requiredFixes: ["change the files that the task is about in the working directory"],
  evidence: [],
};

/** The reason for a person. The task keeps its attempt and its work, and a resumed run asks again. */
const noVerdict = ({ number }: RunTask, without: string[]) =>
  `task ${number} has no verdict: ${without.length} verifiers failed (${[...new Set(without)].join("; ")}). ` +
  "Its work is kept and no attempt is used; resuming the run asks again";
