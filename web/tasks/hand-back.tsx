import { Button, Textarea } from "@mantine/core";
import { useState } from "react";
import { stateWords } from "../../src/tasks/state-words.ts";
import { useDraft } from "../client/draft.ts";
import { useWrite } from "../client/query.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Shown } from "../parts/shown.tsx";
import { say } from "../parts/toast.tsx";

type Props = { id: string; deliverable: "text" | "files"; onClose(): void };

/** Ends a person's work on a task: a text is written here, files are in the folder of the checkout. */
export function HandBack({ id, deliverable, onClose }: Props) {
  const draft = useDraft<string>(`hand-back ${id}`, "");
  const [trouble, setTrouble] = useState<string>();
  const [isSure, setSure] = useState(false);
  const handBack = useWrite("hand_back_task", {
    onDone: ({ state }, { discard }) => {
      draft.clear();
      onClose();
      say(
        discard
          ? "Your work is discarded; the task waits for agents"
          : `Handed back; the task is ${stateWords[state as keyof typeof stateWords] ?? state}. Resume the run if it has stopped`,
      );
    },
    onRefused: ({ message }) => {
      setTrouble(message);
      return true;
    },
  });
  const isText = deliverable === "text";
  const note = draft.value.trim();
  return (
    <Dialog onClose={onClose} title="Hand back" size="lg">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          setTrouble(undefined);
          handBack.mutate({ id, ...(note ? { note } : {}) });
        }}
      >
        <Textarea
          label={isText ? "Result" : "Note"}
          description={
            isText
              ? "The text that the task asks for; it is verified like that of a worker"
              : "What you did, for the verifier. Your files are read from the folder of the checkout"
          }
          required={isText}
          data-autofocus
          autosize
          minRows={isText ? 10 : 3}
          maxRows={24}
          maxLength={50_000}
          value={draft.value}
          onChange={(event) => draft.setValue(event.currentTarget.value)}
        />
        {trouble && (
          <p className="note bad plain" role="alert">
            <Shown text={trouble} />
          </p>
        )}
        <div className="row-of-buttons">
          <Button type="submit" loading={handBack.isPending} disabled={isText && note === ""}>
            Hand back
          </Button>
          <Button
            variant="default"
            disabled={handBack.isPending}
            onClick={() => (isSure ? handBack.mutate({ id, discard: true }) : setSure(true))}
          >
            {isSure ? "Delete my work" : "Discard my work"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
