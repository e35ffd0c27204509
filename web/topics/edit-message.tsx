import { Button } from "@mantine/core";
import { useEffect, useRef } from "react";
import { loadDraft, useDraft } from "../client/draft.ts";
import { useWrite } from "../client/query.ts";
import { say } from "../parts/toast.tsx";
import { MessageField } from "./message-field.tsx";

type Props = { topic: string; seq: number; content: string; onDone(): void };

/** The person's own message in a field. Escape closes it and keeps the draft. */
export function EditMessage({ topic, seq, content, onDone }: Props) {
  const key = `message ${topic} ${seq}`;
  const draft = useDraft(key, content);
  const field = useRef<HTMLTextAreaElement>(null);
  const edit = useWrite("edit_message", {
    onDone(_, sent) {
      draft.clearSent(sent.content);
      say("Message edited");
      if (loadDraft(key) === undefined) onDone();
    },
  });
  const isReady = draft.value.trim() !== "" && draft.value.trim() !== content.trim();
  const save = () => {
    if (isReady && !edit.isPending) edit.mutate({ id: topic, seq, content: draft.value.trim() });
  };
  useEffect(() => {
    field.current?.focus({ preventScroll: true });
    field.current?.setSelectionRange(field.current.value.length, field.current.value.length);
  }, []);
  return (
    <form
      className="reply"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
        else if (event.key === "Escape") onDone();
        else return;
        event.preventDefault();
        event.stopPropagation();
      }}
    >
      <MessageField
        field={field}
        aria-label="Edit message"
        autosize
        minRows={2}
        maxRows={12}
        maxLength={20_000}
        value={draft.value}
        // An empty draft would count as none and bring the old text back.
        onText={(text) => draft.setValue(text === "" ? " " : text)}
      />
      <div className="row-of-buttons">
        <Button type="submit" size="xs" disabled={!isReady} loading={edit.isPending}>
          Save message
        </Button>
        <Button
          size="xs"
          variant="default"
          onClick={() => {
            draft.clear();
            onDone();
          }}
        >
          Cancel
        </Button>
      </div>
    </form>
  );
}
