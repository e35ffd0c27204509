import { Textarea } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { Output } from "../client/call.ts";
import { useDraft } from "../client/draft.ts";
import { PreviewDialog } from "../parts/preview-dialog.tsx";
import { Shown } from "../parts/shown.tsx";
import { RunLink } from "./run-link.tsx";

type Fallout = Output<"overturn_task">;

/** Shows which tasks depend on a completed one, and overturns it with a reason once the person has typed the word. */
export function OverturnDialog({ id, run, onClose }: { id: string; run: string | undefined; onClose(): void }) {
  const reason = useDraft(`overturn ${id}`, "");
  const typed = reason.value.trim();
  return (
    <PreviewDialog
      operation="overturn_task"
      // The preview needs a reason too, and does not depend on it.
      input={{ id, reason: "preview" }}
      confirm={() => ({ id, reason: typed, confirm: true })}
      title="Overturn task"
      doneTitle="Task overturned"
      button="Overturn task"
      word="overturn"
      isReady={typed !== ""}
      onDone={reason.clear}
      onClose={onClose}
      fields={
        <Textarea
          label="Reason"
          description="What is wrong. The next worker reads it."
          data-autofocus
          required
          autosize
          minRows={2}
          maxRows={8}
          maxLength={2000}
          value={reason.value}
          onChange={(event) => reason.setValue(event.currentTarget.value)}
        />
      }
    >
      {(fallout, isDone) => (
        <>
          {isDone ? (
            <p className="note" role="status">
              The task is overturned. To redo it and what depends on it,{" "}
              {run === undefined ? (
                "reopen the task"
              ) : (
                <>
                  press Retry, or open <RunLink run={run} onFollow={onClose} />
                </>
              )}
              .
            </p>
          ) : (
            <p>The task counts as failed, and its accepted result is void.</p>
          )}
          <Dependants fallout={fallout} />
        </>
      )}
    </PreviewDialog>
  );
}

function Dependants({ fallout: { stale, stopped, waiting } }: { fallout: Fallout }) {
  if (stale.length + stopped.length + waiting.length === 0) return <p>No task depends on it.</p>;
  return (
    <section className="effects" aria-label="Tasks that depend on it">
      <Tasks title="Completed; they become stale" tasks={stale} />
      <Tasks title="In progress; they stop" tasks={stopped} />
      <Tasks title="Not started; they wait" tasks={waiting} />
    </section>
  );
}

export function Tasks({ title, tasks }: { title: string; tasks: Fallout["stale"] }) {
  if (tasks.length === 0) return null;
  return (
    <>
      <h2>{title}</h2>
      <ul>
        {tasks.map(({ id, title: name }) => (
          <li key={id}>
            <Link to={`/tasks/${id}`}>
              <Shown text={name} />
            </Link>
          </li>
        ))}
      </ul>
    </>
  );
}
