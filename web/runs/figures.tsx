import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useOperation } from "../client/query.ts";
import { Failed, Loading } from "../parts/state.tsx";
import { duration } from "../parts/time.tsx";
import type { Run } from "./run.tsx";

/** How the run went, counted from its record: the ten figures, and scores and attempts task by task. */
export function Figures({ run }: { run: Run }) {
  const metrics = useOperation("metrics", { run: run.id });
  if (metrics.error) return <Failed error={metrics.error} again={() => void metrics.refetch()} />;
  if (!metrics.data) return <Loading />;
  const scored = run.tasks.filter(({ score }) => score !== null);
  return (
    <div className="figures">
      <ul className="figure-list">
        {metrics.data.figures.map(({ name, value, unit, target, met, counted }) => (
          <li key={name} title={counted}>
            <span className="figure-name">{name.replaceAll("_", " ")}</span>
            <span className="figure-value">
              {value === null ? "–" : unit === "share" ? `${(value * 100).toFixed(1)} %` : duration(value)}
            </span>
            <span className="muted small">
              {target && `goal ${target}`}
              {met !== null && <span className={`state tone-${met ? "good" : "bad"}`}>{met ? "met" : "missed"}</span>}
            </span>
          </li>
        ))}
      </ul>
      {scored.length > 0 && (
        <Bars
          title="Last score of each task"
          labels={scored.map(({ number }) => number)}
          values={scored.map(({ score }) => score ?? 0)}
          most={100}
        />
      )}
      {run.tasks.length > 0 && (
        <Bars
          title="Attempts of each task"
          labels={run.tasks.map(({ number }) => number)}
          values={run.tasks.map(({ attempts }) => attempts)}
          most={Math.max(2, ...run.tasks.map(({ attempts }) => attempts))}
        />
      )}
    </div>
  );
}

type Chart = { title: string; labels: string[]; values: number[]; most: number };

function Bars({ title, labels, values, most }: Chart) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const tone = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const axis = { stroke: tone("--muted"), grid: { stroke: tone("--line"), width: 1 }, ticks: { show: false } };
    const bars = uPlot.paths.bars;
    const chart = new uPlot(
      {
        width: element.clientWidth,
        height: 200,
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: false, range: [-0.6, labels.length - 0.4] }, y: { range: [0, most] } },
        axes: [
          {
            ...axis,
            grid: { show: false },
            incrs: [1, 2, 5, 10, 50, 100],
            values: (_, ticks) => ticks.map((tick) => labels[tick] ?? ""),
          },
          axis,
        ],
        series: [
          {},
          {
            fill: tone("--accent"),
            points: { show: false },
            stroke: tone("--accent"),
            ...(bars ? { paths: bars({ size: [0.7, 40] }) } : {}),
          },
        ],
      },
      [labels.map((_, at) => at), values],
      element,
    );
    const watch = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: 200 }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      chart.destroy();
    };
  }, [labels, values, most]);
  return (
    <figure className="chart">
      <figcaption>{title}</figcaption>
      <div
        ref={place}
        role="img"
        aria-label={`${title}: ${labels
          .slice(0, 40)
          .map((label, at) => `${label} ${values[at]}`)
          .join(", ")}`}
      />
    </figure>
  );
}
