import type { Database } from "../store/database.ts";
import type { Claim, TaskEngine } from "./engine.ts";
import { type Job, type JobResult, jobPool } from "./job-pool.ts";
import { keepLease } from "./lease.ts";
import type { Step } from "./transition.ts";

/** The work of a worker on a claim; it ends with the step that it returns. */
export type Execute = (claim: Claim, signal: AbortSignal) => Promise<Step>;

type Deps = { db: Database; tasks: TaskEngine; execute: Execute; name: string; run?: string; leaseMs: number };

/** Workers for ready tasks, of one run or of all. */
export function workerPool({ db, tasks, execute, name, run, leaseMs }: Deps) {
  async function next(worker: string): Promise<Job | undefined> {
    const began = performance.now();
    const claim = await tasks.claim(worker, run);
    return claim && jobFor(claim, worker, performance.now() - began);
  }

  function jobFor(claim: Claim, worker: string, claimMs: number): Job {
    const { task, epoch, secret } = claim;
    let lease: ReturnType<typeof keepLease> | undefined;
    async function store(step: Step): Promise<JobResult> {
      const stored = await tasks.step(task.id, step, worker, claim);
      if (!stored.ok) return "late";
      return step.type === "release" ? "released" : "done";
    }
    return {
      task: task.id,
      claimMs,
      async run(signal, storing) {
        lease = keepLease(tasks, { task: task.id, epoch, secret, leaseMs }, signal);
        try {
          const step = await execute(claim, lease.signal);
          const stored = store(step);
          storing();
          return await stored;
        } catch (error) {
          await store({ type: "release", reason: `the worker failed: ${String(error)}` });
          throw error;
        } finally {
          lease.end();
        }
      },
      abandon() {
        lease?.end();
        return store({ type: "release", reason: "the worker did not stop when asked" });
      },
    };
  }

  return jobPool({ db, workerName: (n) => `${name}-${n}`, next });
}

export type WorkerPool = ReturnType<typeof workerPool>;
