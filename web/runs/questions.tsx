import { Button, Textarea } from "@mantine/core";
import { mayCall } from "../client/call.ts";
import { useDraft } from "../client/draft.ts";
import { useWrite } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { say } from "../parts/toast.tsx";
import type { Run } from "./run.tsx";

/** The questions of a run's agents to a person. */
export function Questions({ run }: { run: Pick<Run, "questions"> }) {
  const open = run.questions.filter(({ answer }) => answer === null);
  if (open.length === 0) return null;
  return (
    <div className="questions">
      {open.map((question) => (
        <Question key={question.id} {...question} />
      ))}
    </div>
  );
}

function Question({ id, task, question, passed_on }: Run["questions"][number]) {
  const draft = useDraft(`answer ${id}`, "");
  const text = draft.value;
  const answer = useWrite("answer_question", {
    onDone() {
      draft.clear();
      say("Answer saved for the next attempt");
    },
  });
  return (
    <form
      className="note question"
      onSubmit={(event) => {
        event.preventDefault();
        answer.mutate({ id, answer: text.trim() });
      }}
    >
      <p>
        <strong>Task {task} asks:</strong> <Shown text={question} />
      </p>
      {passed_on && (
        <p className="muted small">
          The planner passed it on: <Shown text={passed_on} />
        </p>
      )}
      {mayCall("answer_question") && (
        <>
          <Textarea
            aria-label={`Answer to task ${task}`}
            autosize
            minRows={1}
            value={text}
            onChange={(event) => draft.setValue(event.currentTarget.value)}
          />
          <Button type="submit" size="xs" disabled={!text.trim()} loading={answer.isPending}>
            Answer
          </Button>
        </>
      )}
    </form>
  );
}
