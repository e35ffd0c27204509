import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useOperation } from "../client/query.ts";
import { later } from "../parts/later.tsx";
import { Shown } from "../parts/shown.tsx";
import { Empty, Failed, Loading } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { useTitle } from "../parts/title.ts";
import { ActionButton } from "../shell/action-button.tsx";
import { type Action, useActions } from "../shell/actions.ts";
import { Focus } from "./focus.tsx";
import { runTone } from "./tones.ts";

const NewRun = later(() => import("./new-run.tsx").then(({ NewRun }) => NewRun));

/** Requests on their way from plan to report. */
export function Runs() {
  useTitle("Runs");
  const list = useOperation("list_runs", { limit: 100 });
  const [isAsking, setAsking] = useState(false);
  const start: Action = {
    id: "run-new",
    label: "New run",
    group: "Run",
    keys: "n r",
    operation: "start_run",
    run: () => setAsking(true),
  };
  useActions([start]);
  const runs = list.data?.runs ?? [];
  const isEmpty = list.data?.runs.length === 0;
  return (
    <div className="column">
      <div className="page-head with-actions">
        <div>
          <h1>Runs</h1>
          <p className="lead">
            Each run turns a request into a plan, does its tasks, verifies them and writes a report.
          </p>
        </div>
        {!isEmpty && <ActionButton action={start} />}
      </div>
      {list.error && <Failed error={list.error} again={() => void list.refetch()} />}
      {list.isPending && <Loading />}
      {isEmpty && (
        <Empty title="No runs yet">
          <p>
            A planner divides your request into tasks. <code>scriptorium demo</code> shows an example.
          </p>
          <ActionButton action={start} />
        </Empty>
      )}
      <ul className="entries">
        {runs.map((run) => (
          <li key={run.id}>
            <h2>
              <Link to={`/runs/${run.id}`}>
                <Shown text={run.title} />
              </Link>
            </h2>
            <p className="facts">
              <span className={`state tone-${runTone(run.state)}`}>{run.state}</span>
              <span>
                <Shown text={run.created_by} />, <Time at={run.created_at} />
              </span>
            </p>
          </li>
        ))}
      </ul>
      <Focus />
      {isAsking && <NewRun onClose={() => setAsking(false)} />}
    </div>
  );
}
