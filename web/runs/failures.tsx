import { Button } from "@mantine/core";
import { Link, useNavigate } from "@tanstack/react-router";
import { mayCall } from "../client/call.ts";
import { useWrite } from "../client/query.ts";
import { withoutCommands } from "../parts/plain.ts";
import { Shown } from "../parts/shown.tsx";
import { say } from "../parts/toast.tsx";
import type { Run } from "./run.tsx";

/** What failed in a run: the cause, what its check printed, and what to do about it. */
export function Failures({ run }: { run: Pick<Run, "id" | "state" | "failures"> }) {
  if (run.failures.length === 0) return null;
  return (
    <section className="failures" aria-label="Failed tasks">
      {run.failures.map(({ id, number, title, cause, output, advice }) => (
        <div key={id} className="note bad">
          <p>
            <strong>
              <Link to={`/tasks/${id}`}>
                Task {number} failed: <Shown text={title} />
              </Link>
            </strong>
          </p>
          <p>
            <Shown text={cause} />
          </p>
          {output !== null && (
            <details>
              <summary>Output of the failed check</summary>
              <pre className="job-log">
                <Shown text={output} />
              </pre>
            </details>
          )}
          <ul>
            {advice.map((one) => (
              <li key={one}>
                <Shown text={withoutCommands(one)} />
              </li>
            ))}
          </ul>
          <WhatToDo task={id} run={run} />
        </div>
      ))}
    </section>
  );
}

/** The ways on that concern one task; retrying and replanning all of them are at the head of the page. */
function WhatToDo({ task, run }: { task: string; run: Pick<Run, "id" | "state" | "failures"> }) {
  const navigate = useNavigate();
  const retry = useWrite("execute_run", { onDone: () => say("Run started") });
  const mayRetry = run.failures.length > 1 && run.state !== "running" && mayCall("execute_run");
  const take = useWrite("take_task", { onDone: () => void navigate({ to: `/tasks/${task}` }) });
  return (
    <div className="row-of-buttons">
      {mayRetry && (
        <Button
          size="xs"
          variant="default"
          loading={retry.isPending}
          onClick={() => retry.mutate({ id: run.id, retry: [task] })}
        >
          Retry this task
        </Button>
      )}
      {mayCall("save_plan") && (
        <Link to="." search={{ tab: "plan" } as never}>
          Edit plan
        </Link>
      )}
      {mayCall("take_task") && (
        <Button size="xs" variant="default" loading={take.isPending} onClick={() => take.mutate({ id: task })}>
          Take over
        </Button>
      )}
    </div>
  );
}
