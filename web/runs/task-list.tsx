import { Link } from "@tanstack/react-router";
import { stateWords } from "../../src/tasks/state-words.ts";
import { AgentName } from "../parts/agent-name.tsx";
import { Shown } from "../parts/shown.tsx";
import { toneOf } from "../tasks/states.ts";
import type { Run } from "./run.tsx";

/** The tasks of a run as a table. */
export function TaskList({ run }: { run: Run }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways on a narrow screen
    <div className="table-scroll" tabIndex={0}>
      <table className="list">
        <thead>
          <tr>
            <th scope="col">No.</th>
            <th scope="col">Task</th>
            <th scope="col">State</th>
            <th scope="col" className="minor">
              Attempts
            </th>
            <th scope="col">Score</th>
            <th scope="col" className="minor">
              Holder
            </th>
          </tr>
        </thead>
        <tbody>
          {run.tasks.map((task) => (
            <tr key={task.id}>
              <td className="number">{task.number}</td>
              <th scope="row">
                <Link to={`/tasks/${task.id}`}>
                  <Shown text={task.title} />
                </Link>
              </th>
              <td>
                <span className={`state tone-${toneOf(task.state)}`}>{stateWords[task.state] ?? task.state}</span>{" "}
                {task.waits_for_approval && (
                  <Link to={`/gates/${task.id}`}>{task.asks ? "needs an answer" : "needs approval"}</Link>
                )}
              </td>
              <td className="number minor">{task.asks ? "–" : `${task.attempts} of ${task.max_retries + 1}`}</td>
              <td className="number">{task.score ?? ""}</td>
              <td className="minor">{task.holder && <AgentName of={task.holder} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
