import { appendEvent } from "../../store/events.ts";
import { insertWorkers } from "../../store/queries/figures.ts";
import type { PoolMetrics } from "../../tasks/job-pool.ts";
import type { CrewApp } from "./crew-app.ts";

/** Records how the workers of this process spent their time on a run (O15); nothing if they worked on all runs. */
export function workerTimes(app: CrewApp, run: string | undefined, name: string, workers: number) {
  const startedAt = app.now().toISOString();
  const { conflicts } = app.tasks.counts();
  return {
    async record(metrics: PoolMetrics): Promise<void> {
      if (run === undefined || metrics.claims === 0) return;
      const row = {
        id: app.newId("workers"),
        run_id: run,
        name,
        workers,
        started_at: startedAt,
        ended_at: app.now().toISOString(),
        claims: metrics.claims,
        conflicts: app.tasks.counts().conflicts - conflicts,
        late: metrics.late,
        claim_p50_ms: metrics.claimMs.p50,
        claim_p99_ms: metrics.claimMs.p99,
        idle_ms: Math.round(metrics.idleMs),
        busy_ms: Math.round(metrics.busyMs),
      };
      await app.db.write(async (tx) => {
        await insertWorkers(tx, row);
        await appendEvent(tx, {
          at: row.ended_at,
          actor: name,
          kind: "workers-ended",
          subject: `run:${run}`,
          data: row,
        });
      });
    },
  };
}
