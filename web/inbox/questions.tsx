import { Button, Textarea } from "@mantine/core";
import { mayCall, type Output } from "../client/call.ts";
import { useDraft } from "../client/draft.ts";
import { useWrite } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { say } from "../parts/toast.tsx";
import { waited } from "./proposal-facts.tsx";

/** The questions of a run's agents to a person. */
export function Questions({ run }: { run: Pick<Output<"show_run">, "questions"> }) {
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

function Question({ id, task, question, asked_by: by, at, passed_on }: Output<"show_run">["questions"][number]) {
  const { value: text, setValue: setText, clearSent } = useDraft(`answer ${id}`, "");
  const answer = useWrite("answer_question", {
    onDone(_, sent) {
      clearSent(sent.answer);
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
      <p className="muted small">
        <Shown text={by} />, waiting for {waited(at)}
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
            onChange={(event) => setText(event.currentTarget.value)}
          />
          <Button type="submit" size="xs" disabled={!text.trim()} loading={answer.isPending}>
            Answer
          </Button>
        </>
      )}
    </form>
  );
}
