import { Gauge, Registry } from "prom-client";
import type { App } from "../app.ts";
import { metricsOf } from "../crew/report/metrics.ts";
import type { PoolCounts } from "../kernel/threads/thread-pool.ts";
import { countByState, countClaims, countQueues } from "../store/queries/counts.ts";
import type { LoopDelay } from "./loop-delay.ts";

export const contentType = Registry.PROMETHEUS_CONTENT_TYPE;

/** Metrics of all runs, the numbers of tasks and runs by state, and the load of the server, in Prometheus' text format. */
export async function prometheusText(app: App, rendering: PoolCounts, loop: LoopDelay): Promise<string> {
  const registry = new Registry();
  const count = (name: string, help: string, rows: { state: string; count: number }[]) => {
    const gauge = new Gauge({ name, help, labelNames: ["state"], registers: [registry] });
    for (const row of rows) gauge.set({ state: row.state }, row.count);
  };
  const measured = await metricsOf.of(app);
  for (const figure of measured.ok ? measured.value.figures : []) {
    if (figure.value === null) continue;
    const name = `scriptorium_crew_${figure.name}${figure.unit === "milliseconds" ? "_seconds" : "_ratio"}`;
    const help = `${figure.name.replaceAll("_", " ")}${figure.target ? `, target ${figure.target}` : ""}`;
    const value = figure.unit === "milliseconds" ? figure.value / 1000 : figure.value;
    new Gauge({ name, help, registers: [registry] }).set(value);
  }
  count("scriptorium_tasks", "tasks by state", await countByState(app.db.read, "tasks"));
  count("scriptorium_runs", "runs by state", await countByState(app.db.read, "runs"));
  const claims = await countClaims(app.db.read, app.db.engine);
  count("scriptorium_claims", "claims on tasks; an expired one goes to the next worker", byState(claims));
  count("scriptorium_queue", "what waits in each queue", await countQueues(app.db.read));
  const connections = app.db.connections?.();
  if (connections)
    count("scriptorium_database_connections", "connections to PostgreSQL, and waiting queries", byState(connections));
  const pool = (name: string, what: string, { threads, running, waiting, ...settled }: PoolCounts) => {
    const load = { idle: threads - running, busy: running };
    count(`scriptorium_${name}_threads`, `${what} threads by state`, byState(load));
    count(`scriptorium_${name}_waiting`, `jobs that wait for a ${what} thread`, byState({ waiting }));
    count(
      `scriptorium_${name}_settled`,
      `jobs of ${what} threads by outcome since the server started`,
      byState(settled),
    );
  };
  pool("render", "renderer", rendering);
  pool("text", "comparison", app.threads.counts());
  const delay = "seconds for which the event loop was blocked, since the last scrape";
  count("scriptorium_event_loop_delay_seconds", delay, byState(loop));
  return registry.metrics();
}

const byState = (counts: Record<string, number>) => Object.entries(counts).map(([state, count]) => ({ state, count }));
