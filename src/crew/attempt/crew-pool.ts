import { ok, type Result, refuse } from "../../kernel/result.ts";
import { stateOfRun } from "../../store/queries/crew-queue.ts";
import { runTask } from "../../store/queries/runs.ts";
import { verdictsOf } from "../../store/queries/verdicts.ts";
import { checkReady } from "../agent/ready.ts";
import { keepCarrying, sharedRuns } from "../record/carrier.ts";
import type { CrewPool, Outcome, Verification, VerifiedTask } from "../record/run-host.ts";
import type { Stop } from "../rules/run.ts";
import type { Crew } from "./crew.ts";
import { finishShared, personReason } from "./execute.ts";
import { openStagePool, recheckMs } from "./stage-pool.ts";

type Options = { by: string; signal: AbortSignal };

/** Stops the run of a task; the pool continues with other runs. */
const stopRunOf =
  ({ app }: Crew, by: string) =>
  async ({ reason, cause, task }: Stop & { task: string }): Promise<void> => {
    const run = (await app.tasks.find(task))?.run;
    if (run) await app.runs.step(run, { type: "stop", reason, cause }, by);
  };

/** Workers without verifiers: they do what is ready, in every run that has been started. */
export async function openCrewPool(crew: Crew, { by, signal }: Options): Promise<CrewPool> {
  const { pool, close } = await openStagePool(crew, {
    run: undefined,
    stages: "work",
    signal,
    onStop: stopRunOf(crew, by),
    // The last task may be one that a worker failed, which no verifier sees.
    onEnd: async (task) =>
      void (await finishShared(crew, (await runTask(crew.app.db.read, task))?.run_id, { by, signal })),
  });
  const lease = keepCarrying(crew.app, sharedRuns(undefined));
  let isStopped = false;
  const scaled = (scale: (n: number) => void) => (n: number) => {
    if (isStopped) return refuse("conflict", "the pool was stopped; open another with workspace.crew()");
    if (!isCount(n)) return refuse("invalid", `${n} is not a number of workers: expected 0 to ${mostWorkers}`);
    const ready = n > 0 ? checkReady(crew, ["preamble", "worker"]) : ok(true);
    if (!ready.ok) return ready;
    scale(n);
    return ok(pool.healthCheck());
  };
  return {
    spawn: scaled(pool.spawn),
    scale: scaled(pool.scale),
    healthCheck: pool.healthCheck,
    metrics: pool.metrics,
    async stop(deadlineMs) {
      isStopped = true;
      await pool.stop(deadlineMs);
      lease.end();
      close();
    },
  };
}

const mostWorkers = 1000;
const isCount = (n: number) => Number.isInteger(n) && n >= 0 && n <= mostWorkers;

type VerifyOptions = Options & { verifiers: number; wait: boolean };

/** Verifies, merges and concludes what workers have delivered, until nothing waits or, with `wait`, until the run is over. */
export async function verifyCompleted(
  crew: Crew,
  run: string | undefined,
  { by, signal, verifiers, wait }: VerifyOptions,
): Promise<Result<Verification>> {
  const { app } = crew;
  if (!isCount(verifiers) || verifiers === 0)
    return refuse("invalid", `${verifiers} is not a number of verifiers: expected 1 to ${mostWorkers}`);
  const ready = checkReady(crew, ["preamble", "qc"]);
  if (!ready.ok) return ready;
  const judged = new Set<string>();
  const finished = new Map<string, Outcome>();
  const stopRun = stopRunOf(crew, by);
  const finish = async (of: string | undefined) => {
    for (const outcome of await finishShared(crew, of, { by, signal })) finished.set(outcome.run, outcome);
  };
  const { pool, changes, ...stages } = await openStagePool(crew, {
    run,
    stages: "verify",
    signal,
    onStop: stopRun,
    async onEnd(task) {
      judged.add(task);
      await finish((await runTask(app.db.read, task))?.run_id);
    },
  });
  const isOver = async () => {
    if (!wait) return (await stages.waiting()).length === 0;
    return run !== undefined && (await stateOfRun(app.db.read, run)) !== "running";
  };
  pool.scale(verifiers);
  const lease = keepCarrying(app, sharedRuns(run));
  try {
    for (;;) {
      const seen = changes.count();
      if (!stages.areRunning() && (signal.aborted || (await isOver()))) break;
      const stuck = run === undefined || stages.areRunning() ? undefined : await personReason(app, run);
      if (run !== undefined && stuck !== undefined) {
        await app.runs.step(run, { type: "stop", reason: stuck, cause: "other" }, by);
        break;
      }
      await changes.after(seen, recheckMs, signal.aborted ? undefined : signal);
    }
  } finally {
    await pool.drain();
    lease.end();
    stages.close();
  }
  // Another process may have been killed after it concluded the last task.
  await finish(run);
  const tasks = await Promise.all([...judged].map((task) => verifiedTask(crew, task)));
  return ok({ tasks: tasks.flatMap((task) => task ?? []), finished: [...finished.values()] });
}

async function verifiedTask({ app }: Crew, id: string): Promise<VerifiedTask | undefined> {
  const [detail, task, verdicts] = await Promise.all([
    runTask(app.db.read, id),
    app.tasks.find(id),
    verdictsOf(app.db.read, { task: id }),
  ]);
  const verdict = verdicts.at(-1);
  return detail && task
    ? {
        id,
        run: detail.run_id,
        number: detail.number,
        title: task.title,
        state: task.state,
        attempt: verdict?.attempt ?? task.attempt,
        verdict: verdict
          ? { outcome: verdict.outcome, score: verdict.score, feedback: verdict.feedback, issues: verdict.issues }
          : null,
      }
    : undefined;
}
