import { Button, Textarea } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useDraft } from "../client/draft.ts";
import { useWrite } from "../client/query.ts";
import { countOf } from "../parts/time.tsx";
import { say } from "../parts/toast.tsx";
import type { Choices } from "./choices.ts";

/** Makes the revision with the changes that were taken. */
export function TakeChanges({ id, choices }: { id: string; choices: Choices }) {
  const { total } = choices;
  const { value: note, setValue: setNote, clear } = useDraft(`note left out ${id}`, "");
  const navigate = useNavigate();
  const take = useWrite("take_changes", {
    onDone({ id: made, revision_number: revision }) {
      choices.reset();
      clear();
      say(`Revision ${revision} has your changes. Approve it now.`);
      void navigate({ to: `/proposals/${made}`, search: { as: "source" } as never });
    },
  });
  const changes = Array.from({ length: total }, (_, at) => at + 1).flatMap((number) => {
    const choice = choices.of(number);
    if (choice === "left out") return [];
    return [{ number, ...(choice ? { content: choice.content } : {}) }];
  });
  const words = note.trim();
  return (
    <section className="note take-changes" aria-label="Your revision">
      <p>
        {countOf(changes.length, "change", "changes")} of {total} in your revision. The proposal stays in the record.
      </p>
      {changes.length < total && (
        <Textarea
          label="About the changes left out"
          description="A message of the topic, with their lines; the next agent reads it"
          autosize
          minRows={2}
          maxLength={4000}
          value={note}
          onChange={(event) => setNote(event.currentTarget.value)}
        />
      )}
      <div className="row-of-buttons">
        <Button
          size="xs"
          loading={take.isPending}
          disabled={changes.length === 0}
          onClick={() => take.mutate({ id, changes, ...(words ? { note: words } : {}) })}
        >
          Make revision
        </Button>
        <Button size="xs" variant="default" onClick={choices.reset}>
          Take all
        </Button>
      </div>
    </section>
  );
}
