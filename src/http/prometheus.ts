import { Gauge, Registry } from "prom-client";
import type { App } from "../app.ts";
import { metricsOf } from "../crew/report/metrics.ts";
import { countByState } from "../store/queries/counts.ts";
import type { PoolCounts } from "./renderer/thread-pool.ts";

export const contentType = Registry.PROMETHEUS_CONTENT_TYPE;

/** Metrics of all runs, the numbers of tasks and runs by state, and the load of the renderer, in Prometheus' text format. */
export async function prometheusText(app: App, { threads, running, waiting, ...settled }: PoolCounts): Promise<string> {
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
  const load = { idle: threads - running, busy: running };
  count("scriptorium_render_threads", "renderer threads by state", byState(load));
  count("scriptorium_render_waiting", "texts that wait for a renderer thread", byState({ waiting }));
  count("scriptorium_render_settled", "rendered texts by outcome since the server started", byState(settled));
  return registry.metrics();
}

const byState = (counts: Record<string, number>) => Object.entries(counts).map(([state, count]) => ({ state, count }));
