import type { Output } from "../client/call.ts";
import { useOperation } from "../client/query.ts";
import { Failed, Loading } from "../parts/state.tsx";
import { duration } from "../parts/time.tsx";
import { Bars } from "./bars.tsx";

/** How the run went, counted from its record: the ten figures, and what each task and each worker took. */
export function Figures({ id }: { id: string }) {
  const metrics = useOperation("metrics", { run: id });
  const usage = useOperation("run_usage", { id });
  const error = metrics.error ?? usage.error;
  if (error) return <Failed error={error} again={() => void Promise.all([metrics.refetch(), usage.refetch()])} />;
  if (!metrics.data || !usage.data) return <Loading />;
  return (
    <div className="figures">
      <ul className="figure-list">
        {metrics.data.figures.map(({ name, value, unit, target, met, counted }) => (
          <li key={name} title={counted}>
            <span className="figure-name">{name.replaceAll("_", " ")}</span>
            <span className="figure-value">
              {value === null
                ? name === "deduplication_rate"
                  ? "nothing repeated"
                  : "–"
                : unit === "share"
                  ? `${(value * 100).toFixed(1)} %`
                  : duration(value)}
            </span>
            <span className="muted small">
              {target && `target ${target.replace(">=", "≥")}`}
              {met !== null && <span className={`state tone-${met ? "good" : "bad"}`}>{met ? "met" : "missed"}</span>}
            </span>
          </li>
        ))}
      </ul>
      <Charts usage={usage.data} />
    </div>
  );
}

const count = (value: number) => (Number.isInteger(value) ? value.toLocaleString("en-GB") : "");
const money = (value: number) => `$${value.toFixed(value < 0.1 ? 3 : 2)}`;

/** A chart for everything that is on record; what nobody counted is named and not drawn. */
function Charts({ usage: { tasks, others, workers } }: { usage: Output<"run_usage"> }) {
  const byTask = (of: (task: (typeof tasks)[number]) => number | null) =>
    tasks.flatMap((task) => {
      const value = of(task);
      return value === null ? [] : [{ label: task.number, value }];
    });
  const withOthers = (bars: { label: string; value: number }[], value: number | null) =>
    value ? [...bars, { label: "other", value }] : bars;
  const byWorker = (of: (worker: (typeof workers)[number]) => number) =>
    workers.map((worker, at) => ({ label: String(at + 1), value: of(worker) }));
  const charts = [
    {
      title: "Tokens by task",
      bars: withOthers(
        byTask(({ tokens }) => tokens),
        others.tokens,
      ),
      spell: count,
    },
    {
      title: "Cost by task",
      bars: withOthers(
        byTask(({ usd }) => usd),
        others.usd,
      ),
      spell: money,
    },
    {
      title: "Time by task",
      bars: withOthers(
        byTask(({ ms }) => ms),
        others.ms,
      ),
      spell: duration,
    },
    { title: "Last score by task", bars: byTask(({ score }) => score), spell: count, most: 100 },
    { title: "Retries by task", bars: byTask(({ attempts }) => Math.max(0, attempts - 1)), spell: count },
    { title: "Claims by worker pool", bars: byWorker(({ claims }) => claims), spell: count },
    {
      title: "Idle time by worker pool",
      bars: byWorker(({ idle_ms: idleMs, busy_ms: busyMs }) => (100 * idleMs) / Math.max(1, idleMs + busyMs)),
      spell: (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} %`,
    },
  ];
  const drawn = charts.filter(({ bars }) => bars.some(({ value }) => value > 0));
  const left = charts.filter((chart) => !drawn.includes(chart)).map(({ title }) => title.toLowerCase());
  return (
    <>
      <div className="charts">
        {drawn.map((chart) => (
          <Bars key={chart.title} {...chart} />
        ))}
      </div>
      {left.length > 0 && tasks.length > 0 && <p className="hint">No data for: {left.join(", ")}.</p>}
    </>
  );
}
