import { Button, Group, NativeSelect } from "@mantine/core";
import { useState } from "react";
import { mayCall, type Output } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Shown } from "../parts/shown.tsx";
import { Time } from "../parts/time.tsx";
import { say } from "../parts/toast.tsx";

type Listed = Output<"list_focus">;
type PipelineRun = Listed["runs"][number];

/** Runs along the pipeline: who holds the focus. Nothing if there are none. */
export function Focus() {
  const { data } = useOperation("list_focus", { limit: 10 });
  if (!data || data.runs.length === 0) return null;
  return (
    <section aria-labelledby="pipeline">
      <h2 id="pipeline">Pipeline</h2>
      <p className="facts">
        <Shown text={data.pipeline.join(" → ")} />
      </p>
      <ul className="entries">
        {data.runs.map((run) => (
          <PipelineRunItem key={run.run} run={run} pipeline={data.pipeline} />
        ))}
      </ul>
    </section>
  );
}

function PipelineRunItem({ run, pipeline }: { run: PipelineRun; pipeline: string[] }) {
  const [isMoving, setMoving] = useState(false);
  const { holder } = run;
  return (
    <li>
      <h3>
        <Shown text={run.run} />
      </h3>
      <p className="facts">
        <span className={`state tone-${holder === null ? "off" : run.begun ? "busy" : "idle"}`}>
          {holder === null ? <Shown text={run.ended ?? "ended"} /> : <Shown text={holder} />}
        </span>
        <span>
          since <Time at={run.since} />
        </span>
        <span>
          step {run.step} of {run.max_steps}
        </span>
        {holder !== null && <span>{run.begun ? `${run.reads} of ${run.read_cap} reads` : "not begun"}</span>}
      </p>
      {run.handoffs.length > 0 && (
        <details>
          <summary>Handoffs</summary>
          <ol reversed start={run.step}>
            {run.handoffs.map(({ step, from, to, summary, created_at }) => (
              <li key={step}>
                <Shown text={`${from} → ${to ?? "end"}`} />, <Time at={created_at} />: <Shown text={summary} />
              </li>
            ))}
          </ol>
        </details>
      )}
      {holder !== null && mayCall("move_focus") && (
        <Button size="xs" variant="default" onClick={() => setMoving(true)}>
          Move focus
        </Button>
      )}
      {isMoving && holder !== null && (
        <MoveFocus run={run.run} roles={pipeline.filter((role) => role !== holder)} onClose={() => setMoving(false)} />
      )}
    </li>
  );
}

function MoveFocus({ run, roles, onClose }: { run: string; roles: string[]; onClose(): void }) {
  const [to, setTo] = useState(roles[0] ?? "");
  const move = useWrite("move_focus", {
    onDone: ({ holder }) => {
      say(holder === null ? "Run ended" : `${holder} holds the focus`);
      onClose();
    },
  });
  return (
    <Dialog onClose={onClose} title={`Focus of ${run}`}>
      <div className="stack">
        <NativeSelect
          label="New holder"
          data={roles}
          value={to}
          onChange={(event) => setTo(event.currentTarget.value)}
        />
        <Group>
          <Button disabled={to === ""} loading={move.isPending} onClick={() => move.mutate({ run, to })}>
            Move
          </Button>
          <Button variant="default" loading={move.isPending} onClick={() => move.mutate({ run })}>
            End run
          </Button>
        </Group>
      </div>
    </Dialog>
  );
}
