import { Textarea } from "@mantine/core";
import { useDraft } from "../client/draft.ts";
import { PreviewDialog } from "../parts/preview-dialog.tsx";
import { Tasks } from "./overturn.tsx";
import { RunLink } from "./run-link.tsx";

type Props = {
  run: string;
  /** A task, or one of its attempts, such as task-7@1-2. */
  from: string;
  onClose(): void;
};

/** Shows which tasks are repeated and whose results are thrown away, and repeats them once the person has typed the word. */
export function RerunDialog({ run, from, onClose }: Props) {
  const reason = useDraft(`rerun ${from}`, "");
  const message = reason.value.trim();
  return (
    <PreviewDialog
      operation="rerun_run"
      input={{ id: run, from }}
      confirm={() => ({ id: run, from, ...(message ? { message } : {}), confirm: true })}
      title="Rerun from here"
      doneTitle="Tasks reopened"
      button="Rerun"
      word="rerun"
      onDone={reason.clear}
      onClose={onClose}
      fields={
        <Textarea
          label="Reason"
          description="Optional. The next worker reads it."
          data-autofocus
          autosize
          minRows={2}
          maxRows={8}
          maxLength={2000}
          value={reason.value}
          onChange={(event) => reason.setValue(event.currentTarget.value)}
        />
      }
    >
      {({ attempt, repeated, kept }, isDone) => (
        <>
          {isDone ? (
            <p className="note" role="status">
              The tasks wait. Resume <RunLink run={run} onFollow={onClose} /> to repeat them.
            </p>
          ) : (
            <p>
              The results of these tasks are thrown away, and their files are removed from the accepted work. The first
              task starts from {attempt === null ? "the accepted work" : `the files of attempt ${attempt}`}.
            </p>
          )}
          <section className="effects" aria-label="What is repeated">
            <Tasks title="Repeated" tasks={repeated} />
            {kept.length > 0 && <p>Accepted tasks that stay: {kept.join(", ")}</p>}
          </section>
        </>
      )}
    </PreviewDialog>
  );
}
