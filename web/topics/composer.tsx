import { Button, SegmentedControl } from "@mantine/core";
import { useEffect, useRef } from "react";
import { spellHidden } from "../../src/kernel/hidden.ts";
import { queries, useWrite } from "../client/query.ts";
import { firstWords } from "../parts/plain.ts";
import { Shown } from "../parts/shown.tsx";
import { MessageField } from "./message-field.tsx";
import type { Passage, TopicDraft } from "./topic-drafts.ts";

type Props = {
  path: string;
  draft: TopicDraft;
  /** Where its passage is in the text that is shown. */
  found: { state: string; place: { start: number; end: number; text: string } | null; source_sha: string } | undefined;
  onChange(draft: TopicDraft): void;
  /** Closes the composer and keeps the draft. */
  onClose(): void;
  onDiscard(): void;
  onOpened(id: string, sent: string): void;
};

/** A new topic: on some words, or on the whole page. */
export function Composer({ path, draft, found, onChange, onClose, onDiscard, onOpened }: Props) {
  const { text, kind, passage } = draft;
  const field = useRef<HTMLTextAreaElement>(null);
  const open = useWrite("open_topic", {
    onDone: ({ id }, { content }) => onOpened(id, content),
    onRefused({ status }) {
      // The page changed a moment ago: show its text, and ask about the passage.
      if (status === 409)
        for (const name of ["rendered", "find_passage"]) void queries.invalidateQueries({ queryKey: [name] });
      return false;
    },
  });
  const isCertain = !passage || found?.state === "anchored" || found?.state === "moved";
  const canSend = text.trim() !== "" && isCertain && !open.isPending;
  const send = () => {
    if (!canSend) return;
    const { start, end, source_sha } = passage ?? {};
    open.mutate({ source_path: path, kind, content: text.trim(), ...(passage ? { start, end, source_sha } : {}) });
  };
  // Focused here and not by autoFocus, which scrolls to where the composer stood before it was moved to the words.
  useEffect(() => field.current?.focus({ preventScroll: true }), []);
  const choose = (next: Passage | undefined) => onChange({ ...draft, passage: next });
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
      {passage && (
        <blockquote className="quote" dir="auto">
          <Shown text={passage.quote.slice(0, 300)} />
        </blockquote>
      )}
      {passage && found && !isCertain && <Doubt found={found} onChoose={choose} />}
      <SegmentedControl
        size="xs"
        fullWidth
        aria-label="Kind of topic"
        value={kind}
        onChange={(value) => onChange({ ...draft, kind: value as typeof kind })}
        data={[
          { value: "change", label: "Change" },
          { value: "question", label: "Question" },
        ]}
      />
      <MessageField
        field={field}
        aria-label="Message"
        placeholder={kind === "change" ? "What should change, and why?" : "What do you want to know?"}
        autosize
        minRows={3}
        maxRows={12}
        dir="auto"
        value={text}
        onText={(next) => onChange({ ...draft, text: next })}
      />
      <div className="row-of-buttons">
        <Button type="submit" size="xs" loading={open.isPending} disabled={!canSend}>
          Open topic
        </Button>
        <Button size="xs" variant="default" onClick={onClose}>
          {text.trim() ? "Keep draft" : "Cancel"}
        </Button>
        {text.trim() && (
          <button type="button" className="link-button small" onClick={onDiscard}>
            Discard
          </button>
        )}
      </div>
    </form>
  );
}

type Doubtful = { found: NonNullable<Props["found"]>; onChoose(passage: Passage | undefined): void };

/** The page changed while the topic was written, and the passage is not certain. */
function Doubt({ found: { place, source_sha }, onChoose }: Doubtful) {
  const whole = (
    <button type="button" className="link-button" onClick={() => onChoose(undefined)}>
      discuss the whole page
    </button>
  );
  if (!place) {
    return (
      <p className="note small" role="status">
        The page changed, and these words are gone. Select other words in the page, or {whole}.
      </p>
    );
  }
  const { start, end, text } = place;
  return (
    <div className="note small" role="status">
      <p>The page changed. Is this the passage now?</p>
      <blockquote className="quote" dir="auto">
        <Shown text={text.slice(0, 300)} />
      </blockquote>
      <p>
        <button type="button" className="link-button" onClick={() => onChoose({ start, end, quote: text, source_sha })}>
          Use it
        </button>
        , select other words in the page, or {whole}.
      </p>
    </div>
  );
}

/** A draft that is not open in the composer. */
export function DraftCard({ draft, onContinue }: { draft: TopicDraft; onContinue(): void }) {
  return (
    <article className="thread draft" aria-label={spellHidden(`Draft: ${draft.text.slice(0, 80)}`)}>
      <header>
        <span className="facts">
          <span className="mode">{draft.kind}</span>
          <span className="state tone-busy">draft</span>
        </span>
      </header>
      <button type="button" className="thread-open" onClick={onContinue}>
        <span className="opening" dir="auto">
          <Shown text={firstWords(draft.text, 180)} />
        </span>
        <span className="by">Only you see this</span>
      </button>
    </article>
  );
}
