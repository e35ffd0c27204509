import { Link } from "@tanstack/react-router";
import { Shown } from "../parts/shown.tsx";
import { bytes, countOf, duration, Time } from "../parts/time.tsx";
import { toneOf } from "../tasks/states.ts";
import type { Run } from "./run.tsx";
import { runTone } from "./tones.ts";

/** State, author and usage of a run. */
export function Facts({ run }: { run: Run }) {
  const { used } = run;
  const tokens = (used.input_tokens ?? 0) + (used.output_tokens ?? 0);
  return (
    <p className="facts">
      <span className={`state tone-${runTone(run.state)}`}>{run.state}</span>
      <span>
        <Shown text={run.created_by} />, <Time at={run.created_at} />
      </span>
      <span>{countOf(used.agents, "agent", "agents")}</span>
      {tokens > 0 && <span>{tokens.toLocaleString("en-GB")} tokens</span>}
      {used.cost_usd !== null && <span>${used.cost_usd.toFixed(2)}</span>}
      {used.tool_calls !== null && <span>{used.tool_calls} tool calls</span>}
    </p>
  );
}

/** How the dependencies were installed: the last setup of the run, and those of single tasks. */
export function Setups({ run }: { run: Run }) {
  const last = run.setups.findLast(({ task }) => task === null);
  const shown = run.setups.filter((one) => one === last || one.task !== null);
  return shown.map(({ commands, origin, task, state, duration_ms, bytes: size }) => {
    const command = commands.map((words) => words.join(" ")).join("; ");
    return (
      <p className="facts" key={`${task}-${command}-${origin}-${state}`}>
        <span>
          Setup{task === null ? "" : ` of task ${task}`}:{" "}
          <code>
            <Shown text={command} />
          </code>{" "}
          from <Shown text={origin} />
        </span>
        <span>{state}</span>
        {duration_ms !== null && state !== "reused" && <span>{duration(duration_ms)}</span>}
        {size !== null && <span>{bytes(size)}</span>}
      </p>
    );
  });
}

/** How many tasks are accepted. */
export function Progress({ run }: { run: Run }) {
  const counts = new Map<string, number>();
  for (const { state } of run.tasks) {
    // A verified task is not accepted yet: its result may wait for approval or fail to merge.
    const tone = state === "qc_passed" ? "busy" : toneOf(state);
    counts.set(tone, (counts.get(tone) ?? 0) + 1);
  }
  if (run.tasks.length === 0) return null;
  const done = counts.get("good") ?? 0;
  return (
    <div className="run-progress">
      <div className="bar-of-states" role="img" aria-label={`${done} of ${run.tasks.length} tasks accepted`}>
        {(["good", "busy", "bad", "off", "idle"] as const).map((tone) => {
          const count = counts.get(tone) ?? 0;
          return count > 0 ? <span key={tone} className={`fill-${tone}`} style={{ flexGrow: count }} /> : null;
        })}
      </div>
      <span className="muted small" role="status">
        {done} of {run.tasks.length} accepted
      </span>
    </div>
  );
}

/** Results and questions that wait for a person at a gate. */
export function Approvals({ run }: { run: Run }) {
  const waiting = run.tasks.filter((task) => task.waits_for_approval);
  if (waiting.length === 0) return null;
  return (
    <section className="note" aria-label="Results to approve">
      <ul className="links">
        {waiting.map(({ id, number, title, asks }) => (
          <li key={id}>
            <Link to={`/gates/${id}`}>
              {asks ? "Answer" : "Approve"} task {number}: <Shown text={title} />
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
