import { Button, SegmentedControl, Textarea } from "@mantine/core";
import { useState } from "react";
import { useWrite } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import type { Span } from "./place.ts";

type Props = {
  path: string;
  sourceSha?: string;
  span?: Span & { quote: string };
  onClose(): void;
  onOpened(id: string): void;
};

/** A new topic: on some words, or on the whole page. */
export function Composer({ path, sourceSha, span, onClose, onOpened }: Props) {
  const [text, setText] = useState("");
  const [kind, setKind] = useState<"change" | "question">("change");
  const open = useWrite("open_topic", {
    onDone({ id }) {
      onClose();
      onOpened(id);
    },
  });
  const send = () => {
    if (!text.trim() || open.isPending) return;
    open.mutate({
      source_path: path,
      kind,
      content: text.trim(),
      ...(span && sourceSha ? { start: span.start, end: span.end, source_sha: sourceSha } : {}),
    });
  };
  return (
    <form
      className="thread active composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
        if (event.key === "Escape") onClose();
      }}
    >
      {span && (
        <blockquote className="quote">
          <Shown text={span.quote.slice(0, 300)} />
        </blockquote>
      )}
      <SegmentedControl
        size="xs"
        fullWidth
        aria-label="Kind of topic"
        value={kind}
        onChange={(value) => setKind(value as typeof kind)}
        data={[
          { value: "change", label: "Change" },
          { value: "question", label: "Question" },
        ]}
      />
      <Textarea
        aria-label="Message"
        placeholder={kind === "change" ? "What should change, and why?" : "What do you want to know?"}
        autosize
        minRows={3}
        maxRows={12}
        autoFocus
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <div className="row-of-buttons">
        <Button type="submit" size="xs" loading={open.isPending} disabled={!text.trim()}>
          Open topic
        </Button>
        <Button size="xs" variant="default" onClick={onClose}>
          Cancel
        </Button>
      </div>
    </form>
  );
}
