import { Button } from "@mantine/core";
import { Link, useNavigate } from "@tanstack/react-router";
import { mayCall } from "../client/call.ts";
import { useWrite } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import type { Run } from "./run.tsx";

/** What failed in a run: the cause, what its check printed, and what to do about it. */
export function Failures({ run }: { run: Pick<Run, "failures"> }) {
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
                <Shown text={one} />
              </li>
            ))}
          </ul>
          <WhatToDo task={id} />
        </div>
      ))}
    </section>
  );
}

/** The ways on that concern one task; retrying and replanning all of them are at the head of the page. */
function WhatToDo({ task }: { task: string }) {
  const navigate = useNavigate();
  const take = useWrite("take_task", { onDone: () => void navigate({ to: `/tasks/${task}` }) });
  return (
    <div className="row-of-buttons">
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
