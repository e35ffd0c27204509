import "../style/timeline.css";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Output } from "../client/call.ts";
import { useOperation } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { duration } from "../parts/time.tsx";
import { Burn } from "./burn.tsx";
import type { Run } from "./run.tsx";
import { Chart } from "./timeline/chart.tsx";
import { phaseColours, phaseWords } from "./timeline/phases.ts";
import type { Stage } from "./timeline/scale.ts";

const liveMs = 2000;

/** When each worker did what, and what it took. It follows a run that goes on. */
export function Timeline({ run }: { run: Run }) {
  const isLive = run.state === "running" || run.state === "planning";
  const { data, error, refetch } = useOperation("run_timeline", { id: run.id }, { everyMs: isLive ? liveMs : false });
  const [isTable, setTable] = useState(false);
  if (error) return <Failed error={error} again={() => void refetch()} />;
  if (!data) return <Loading lines={8} />;
  if (data.stages.length === 0) return <p className="note">No agent has started yet.</p>;
  const titles = new Map(run.tasks.map(({ id, title }) => [id, title]));
  const shown = [...new Set(data.stages.map(({ phase }) => phase))];
  return (
    <div className="timeline">
      <div className="timeline-head">
        <ul className="timeline-legend" aria-label="Phases">
          {(Object.keys(phaseWords) as Stage["phase"][])
            .filter((phase) => shown.includes(phase))
            .map((phase) => (
              <li key={phase}>
                <span className="swatch" style={{ background: `var(${phaseColours[phase]})` }} data-phase={phase} />
                {phaseWords[phase]}
              </li>
            ))}
        </ul>
        <button
          type="button"
          className="chip"
          aria-pressed={isTable}
          data-on={isTable || undefined}
          onClick={() => setTable(!isTable)}
        >
          Table
        </button>
      </div>
      {data.earlier && <p className="note">Only the last attempts are shown.</p>}
      {isTable ? <StageTable data={data} titles={titles} /> : <Chart data={data} titles={titles} />}
      <Burn run={run.id} isLive={isLive} />
    </div>
  );
}

const pageSize = 100;

function StageTable({ data, titles }: { data: Output<"run_timeline">; titles: Map<string, string> }) {
  const [shown, setShown] = useState(pageSize);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways on a narrow screen */}
      <div className="table-scroll" tabIndex={0}>
        <table className="list">
          <caption className="sr-only">Stages of the run in the order of their start</caption>
          <thead>
            <tr>
              <th scope="col">Start</th>
              <th scope="col">Task</th>
              <th scope="col">Phase</th>
              <th scope="col">Duration</th>
              <th scope="col" className="minor">
                Worker
              </th>
              <th scope="col">Result</th>
            </tr>
          </thead>
          <tbody>
            {data.stages.slice(0, shown).map(({ lane, task, number, attempt, phase, start_ms, end_ms, outcome }) => (
              <tr key={`${lane} ${task} ${attempt} ${phase} ${start_ms}`}>
                <td className="number">{duration(start_ms)}</td>
                <th scope="row">
                  {task === null ? (
                    "–"
                  ) : (
                    <Link to={`/tasks/${task}`}>
                      {number} <Shown text={titles.get(task) ?? ""} />
                    </Link>
                  )}
                  {attempt !== null && attempt > 1 && <span className="muted"> attempt {attempt}</span>}
                </th>
                <td>{phaseWords[phase]}</td>
                <td className="number">{end_ms === null ? "in progress" : duration(end_ms - start_ms)}</td>
                <td className="minor">{data.lanes[lane]?.name}</td>
                <td>{outcome}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown < data.stages.length && (
        <button type="button" className="link-button" onClick={() => setShown(shown + pageSize)}>
          Show {Math.min(pageSize, data.stages.length - shown)} more of {data.stages.length} stages
        </button>
      )}
    </>
  );
}
