import { Gauge, Registry } from "prom-client";
import type { App } from "../app.ts";
import { metricsOf } from "../crew/report/metrics.ts";

export const contentType = Registry.PROMETHEUS_CONTENT_TYPE;

/** The figures of all runs, and how many tasks and runs there are in each state, for Prometheus to fetch. */
export async function prometheusText(app: App): Promise<string> {
  const registry = new Registry();
  const count = (name: string, help: string, rows: { state: string; count: number }[]) => {
    const gauge = new Gauge({ name, help, labelNames: ["state"], registers: [registry] });
    for (const row of rows) gauge.set({ state: row.state }, Number(row.count));
  };
  const measured = await metricsOf.of(app);
  for (const figure of measured.ok ? measured.value.figures : []) {
    if (figure.value === null) continue;
    const name = `scriptorium_crew_${figure.name}${figure.unit === "milliseconds" ? "_seconds" : "_ratio"}`;
    const help = `${figure.name.replaceAll("_", " ")}${figure.target ? `, target ${figure.target}` : ""}`;
    const value = figure.unit === "milliseconds" ? figure.value / 1000 : figure.value;
    new Gauge({ name, help, registers: [registry] }).set(value);
  }
  count("scriptorium_tasks", "tasks by state", await byState(app, "tasks"));
  count("scriptorium_runs", "runs by state", await byState(app, "runs"));
  return registry.metrics();
}

const byState = ({ db }: App, table: "tasks" | "runs") =>
  db.read
    .selectFrom(table)
    .select((select) => ["state", select.fn.countAll<number>().as("count")])
    .groupBy("state")
    .execute();
