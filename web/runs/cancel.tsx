import { Button } from "@mantine/core";
import { useWrite } from "../client/query.ts";
import { Dialog } from "../parts/dialog.tsx";
import { countOf } from "../parts/time.tsx";
import { say } from "../parts/toast.tsx";
import type { Run } from "./run.tsx";

const ended = new Set(["completed", "failed", "cancelled"]);

/** Says what cancelling a run throws away, and cancels it once the person confirms. */
export function CancelDialog({ run, onClose }: { run: Run; onClose(): void }) {
  const cancel = useWrite("cancel_run", {
    onDone({ cancelled }) {
      say(`Run cancelled (${countOf(cancelled, "task", "tasks")})`);
      onClose();
    },
  });
  const accepted = run.tasks.filter(({ state }) => state === "completed").length;
  const held = run.tasks.filter(({ state, holder }) => holder !== null && !ended.has(state)).length;
  const open = run.tasks.filter(({ state, holder }) => holder === null && !ended.has(state));
  const tried = open.filter(({ attempts }) => attempts > 0).length;
  const waiting = open.length - tried;
  return (
    <Dialog onClose={onClose} title="Cancel run">
      <div className="stack">
        <ul className="cancelled-tasks">
          {run.state === "planning" && <li>The planner is stopped, and the run has no plan.</li>}
          {held > 0 && (
            <li>{countOf(held, "task in progress is", "tasks in progress are")} stopped; the work is lost.</li>
          )}
          {tried > 0 && <li>{countOf(tried, "result is", "results are")} not accepted yet, and will not be.</li>}
          {waiting > 0 && <li>{countOf(waiting, "task", "tasks")} will not start.</li>}
          {accepted > 0 && <li>{countOf(accepted, "accepted result stays", "accepted results stay")}.</li>}
        </ul>
        <p>A cancelled run cannot be resumed.{run.state === "running" && " To stop it for a while, press Pause."}</p>
        <div className="row-of-buttons">
          <Button color="red" loading={cancel.isPending} onClick={() => cancel.mutate({ id: run.id })}>
            Cancel run
          </Button>
          <Button variant="default" onClick={onClose}>
            Keep run
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
