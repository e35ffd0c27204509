import * as z from "zod";
import { collaborators, operation } from "../kernel/operation.ts";
import { ok, type Result } from "../kernel/result.ts";
import type { Query } from "../store/database.ts";
import { abandonAttempts, attemptsOf, updateAttempt } from "../store/queries/attempts.ts";
import { findRun, runTask } from "../store/queries/runs.ts";
import { checksOf, markVoid, verdictsOf } from "../store/queries/verdicts.ts";
import { falloutOf, overturn } from "../tasks/overturn.ts";
import type { Task } from "../tasks/task.ts";
import { withdrawText } from "./attempt/text-deliverable.ts";
import { actorOf } from "./operations.ts";
import { attemptLedger } from "./record/attempts/ledger.ts";
import type { CrewApp } from "./record/crew-app.ts";
import { reportOf } from "./report/report.ts";
import { errorContext } from "./rules/failure.ts";

const listed = z.array(z.object({ id: z.string(), title: z.string() }));

export const overturnTask = operation({
  name: "overturn_task",
  summary: "Overturn a completed task that turned out to be wrong: dependent tasks become stale or stop.",
  effect: "destroys",
  touches: ["task", "run", "attempt"],
  callers: collaborators,
  group: "tasks",
  http: { method: "post", path: "/tasks/{id}/overturn" },
  decision: (_app: CrewApp, { confirm }) => confirm,
  input: z.object({
    id: z.string().max(64).describe("Id of the task"),
    reason: z
      .string()
      .trim()
      .min(1, "expected the reason")
      .max(2000)
      .describe("What is wrong; the next worker reads it"),
    confirm: z.boolean().default(false).describe("Without it, only a preview"),
  }),
  output: z.object({
    id: z.string(),
    overturned: z.boolean(),
    stale: listed.describe("Completed tasks that depend on it"),
    stopped: listed.describe("Dependent tasks in progress"),
    waiting: listed.describe("Dependent tasks that have not started"),
    message: z.string(),
  }),
  async run(app: CrewApp, { id, reason, confirm }, caller) {
    const { db, now } = app;
    const deps = { engine: db.engine, now };
    const actor = actorOf(caller);
    const done = await db.write(async (tx) => {
      if (!confirm) return falloutOf(tx, deps, id);
      const fallout = await overturn(tx, deps, id, reason, actor);
      if (fallout.ok) await recordOverturn(app, tx, fallout.value, reason, actor);
      return fallout;
    });
    if (!done.ok) return done;
    const { task, stale, stopped, waiting } = done.value;
    if (confirm && task.run !== null) await rewriteReport(app, task.run);
    const again = `to redo all of them, retry task ${id}${task.run ? ` and resume run ${task.run}` : ""}`;
    return ok({
      id,
      overturned: confirm,
      stale: stale.map(named),
      stopped: stopped.map(named),
      waiting: waiting.map(named),
      message: confirm
        ? again
        : `preview: confirm: true overturns ${id} and affects ${stale.length + stopped.length} tasks that depend on it`,
    });
  },
});

const named = ({ id, title }: Task) => ({ id, title });

/** Voids verdicts and attempts and reopens runs, in the transaction that overturns the task. */
export async function recordOverturn(
  app: CrewApp,
  tx: Query,
  { task, stale, stopped }: { task: Task; stale: Task[]; stopped: Task[] },
  reason: string,
  actor: string,
): Promise<void> {
  await voidPass(app, tx, task.id, reason, actor);
  await failPassed(tx, task.id);
  for (const other of [...stale, ...stopped]) {
    await voidPass(app, tx, other.id, `it was based on the output of task ${task.id}, which was overturned`, actor);
    await abandonAttempts(tx, other.id, app.now().toISOString());
  }
  for (const { id } of [task, ...stale]) await withdrawText(app, tx, id, actor);
  const runs = new Set([task, ...stale, ...stopped].flatMap(({ run }) => run ?? []));
  for (const run of runs) {
    const row = await findRun(tx, run);
    if (row?.state === "completed" || row?.state === "failed")
      await app.runs.stepWithin(tx, run, { type: "overturn", reason: `task ${task.title} was overturned` }, actor, {});
  }
}

/** Voids the verdict with which a task passed. */
async function voidPass(app: CrewApp, tx: Query, task: string, reason: string, actor: string): Promise<void> {
  const { stamp, event } = attemptLedger(app);
  const verdict = (await verdictsOf(tx, { task })).findLast((row) => row.outcome === "PASS" && row.voided_at === null);
  if (!verdict) return;
  await markVoid(tx, verdict.id, reason, stamp());
  await event(tx, actor, "verdict-voided", task, { verdict_id: verdict.id, reason });
}

/** Marks the attempt that passed as failed, with the error context for the next worker. */
async function failPassed(tx: Query, task: string): Promise<void> {
  if (!(await runTask(tx, task))) return;
  const attempt = (await attemptsOf(tx, { task })).findLast((row) => row.phase === "qc_passed");
  if (!attempt) return;
  const verdict = (await verdictsOf(tx, { task })).findLast((row) => row.epoch === attempt.epoch);
  const error = errorContext(attempt, verdict, await checksOf(tx, task, attempt.epoch));
  await updateAttempt(tx, task, attempt.epoch, { phase: "qc_failed", error_context: error });
}

/** Rewrites the report of a run that was over. */
export async function rewriteReport(app: CrewApp, run: string): Promise<Result<void>> {
  const report = await reportOf(app, run);
  if (!report.ok) return report;
  await app.runs.putReport(run, report.value);
  return ok(undefined);
}
