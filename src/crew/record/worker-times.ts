import { appendEvent } from "../../store/events.ts";
import type { CrewApp } from "./crew-app.ts";

/** How one process's hands spent their time on a run, kept for its figures (O15). A process that joined all runs keeps none. */
export function poolRecord(app: CrewApp, run: string | undefined, name: string, workers: number) {
  const claims: number[] = [];
  const startedAt = app.now().toISOString();
  const conflicts = app.tasks.counts().conflicts;
  let busyMs = 0;
  let idleMs = 0;
  return {
    claimed: (ms: number) => void claims.push(ms),
    busy: (ms: number) => {
      busyMs += ms;
    },
    idle: (ms: number) => {
      idleMs += ms;
    },
    async end(): Promise<void> {
      if (run === undefined || claims.length === 0) return;
      const sorted = [...claims].sort((a, b) => a - b);
      const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
      const row = {
        id: app.newId("workers"),
        run_id: run,
        name,
        workers,
        started_at: startedAt,
        ended_at: app.now().toISOString(),
        claims: claims.length,
        conflicts: app.tasks.counts().conflicts - conflicts,
        late: 0,
        claim_p50_ms: at(0.5),
        claim_p99_ms: at(0.99),
        idle_ms: Math.round(idleMs),
        busy_ms: Math.round(busyMs),
      };
      await app.db.write(async (tx) => {
        await tx.insertInto("run_workers").values(row).execute();
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
