import { Button, Textarea } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { mayCall } from "../client/call.ts";
import { clearDraft, loadDraft, saveDraft, useDraft } from "../client/draft.ts";
import { useWrite } from "../client/query.ts";
import { SourceHunks } from "../parts/source-diff.tsx";
import { countOf } from "../parts/time.tsx";
import { Messages } from "../topics/messages.tsx";
import type { Choice, Choices } from "./choices.ts";
import type { Proposal } from "./proposal.tsx";

type Place = { side: "old" | "new"; line: number };

/** The change of a proposal to its base text, line by line: comments on lines, and the choice of single changes. */
export function ProposedChange({ proposal, choices }: { proposal: Proposal; choices: Choices }) {
  const { id, impact, line_comments: comments } = proposal;
  const drafts = useLineDrafts(id);
  if (!impact) return null;
  return (
    <SourceHunks
      hunks={impact.hunks}
      {...(mayCall("comment_on_line")
        ? {
            tools: (place: Place) => (
              <button
                type="button"
                className="line-comment"
                aria-label={`Comment on ${nameOf(place)}`}
                onClick={() => drafts.open(place)}
              >
                +
              </button>
            ),
          }
        : {})}
      under={(places) => {
        const here = comments.filter(({ side, place }) =>
          places.some((one) => one.side === side && one.line === place),
        );
        const writing = places.filter(drafts.isShown);
        if (here.length === 0 && writing.length === 0) return null;
        return (
          <div className="line-talk">
            {here.length > 0 && <LineMessages comments={here} shown={id} />}
            {writing.map((place) => (
              <Composer key={keyOf(place)} id={id} place={place} drafts={drafts} />
            ))}
          </div>
        );
      }}
      {...(choices.canChoose && mayCall("take_changes")
        ? {
            changeHead: (number: number, added: string) => (
              <ChangeHead
                number={number}
                total={choices.total}
                added={added}
                choice={choices.of(number)}
                onChoose={(choice) => choices.choose(number, choice)}
              />
            ),
          }
        : {})}
    />
  );
}

const keyOf = ({ side, line }: Place) => `${side} ${line}`;
const noDrafts: Record<string, string> = {};

/** Unsent comments on lines. One without words is shown only at the line that was pressed last. */
function useLineDrafts(id: string) {
  const key = `lines ${id}`;
  const { value } = useDraft(key, noDrafts);
  const [pressed, setPressed] = useState<{ key: string; times: number }>();
  const stored = () => loadDraft<Record<string, string>>(key) ?? noDrafts;
  const set = (place: Place, text: string) => {
    const { [keyOf(place)]: _, ...others } = stored();
    const next = text === "" ? others : { ...others, [keyOf(place)]: text };
    if (Object.keys(next).length > 0) saveDraft(key, next);
    else clearDraft(key);
  };
  const close = (place: Place) => {
    set(place, "");
    if (pressed?.key === keyOf(place)) setPressed(undefined);
  };
  return {
    textOf: (place: Place) => value[keyOf(place)] ?? "",
    isShown: (place: Place) => keyOf(place) in value || pressed?.key === keyOf(place),
    /** Changes when the button of the line is pressed: its field takes the focus. */
    pressesOf: (place: Place) => (pressed?.key === keyOf(place) ? pressed.times : 0),
    open: (place: Place) => setPressed({ key: keyOf(place), times: (pressed?.times ?? 0) + 1 }),
    set,
    close,
    closeSent: (place: Place, sent: string) => {
      if ((stored()[keyOf(place)] ?? sent).trim() === sent) close(place);
    },
  };
}

const nameOf = ({ side, line }: Place) => (side === "old" ? `removed line ${line}` : `line ${line}`);

type LineComment = Proposal["line_comments"][number];

function LineMessages({ comments, shown }: { comments: LineComment[]; shown: string }) {
  const open = comments.filter(({ resolved_at: at }) => at === null);
  const resolved = comments.filter(({ resolved_at: at }) => at !== null);
  return (
    <>
      {open.length > 0 && <LineMessageList comments={open} shown={shown} />}
      {resolved.length > 0 && (
        <details className="resolved-comments">
          <summary>{countOf(resolved.length, "resolved comment", "resolved comments")}</summary>
          <LineMessageList comments={resolved} shown={shown} />
        </details>
      )}
    </>
  );
}

function LineMessageList({ comments, shown }: { comments: LineComment[]; shown: string }) {
  return (
    <Messages
      messages={comments.map((comment) => ({
        ...{ id: `line-${comment.seq}`, author: comment.author, at: comment.at, content: comment.content },
        remark: (
          <>
            {comment.proposal_id !== shown && <span className="muted"> on revision {comment.revision_number}</span>}
            <Resolve comment={comment} proposal={shown} />
          </>
        ),
      }))}
    />
  );
}

function Resolve({ comment: { seq, resolved_at: at }, proposal }: { comment: LineComment; proposal: string }) {
  const resolve = useWrite("resolve_line_comment");
  if (!mayCall("resolve_line_comment")) return null;
  return (
    <>
      {" "}
      <button
        type="button"
        className="link-button small"
        disabled={resolve.isPending}
        onClick={() => resolve.mutate({ id: proposal, seq, resolved: at === null })}
      >
        {at === null ? "Resolve" : "Reopen"}
      </button>
    </>
  );
}

type ComposerProps = { id: string; place: Place; drafts: ReturnType<typeof useLineDrafts> };

function Composer({ id, place, drafts }: ComposerProps) {
  const text = drafts.textOf(place);
  const field = useRef<HTMLTextAreaElement>(null);
  const send = useWrite("comment_on_line", { onDone: (_, { content }) => drafts.closeSent(place, content) });
  const words = text.trim();
  const submit = () => words && !send.isPending && send.mutate({ id, ...place, content: words });
  const presses = drafts.pressesOf(place);
  useEffect(() => {
    if (presses > 0) field.current?.focus({ preventScroll: true });
  }, [presses]);
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
        if (event.key === "Escape" && words === "") drafts.close(place);
      }}
    >
      <Textarea
        label={`Comment on ${nameOf(place)}`}
        autosize
        minRows={2}
        ref={field}
        value={text}
        onChange={(event) => drafts.set(place, event.currentTarget.value)}
        maxLength={20_000}
      />
      <div className="row-of-buttons">
        <Button type="submit" size="xs" loading={send.isPending} disabled={words === ""}>
          Add comment
        </Button>
        <Button size="xs" variant="default" onClick={() => drafts.close(place)}>
          Cancel
        </Button>
      </div>
    </form>
  );
}

type HeadProps = {
  number: number;
  total: number;
  added: string;
  choice: Choice | undefined;
  onChoose(choice: Choice | undefined): void;
};

/** Take, edit or leave out one change. */
function ChangeHead({ number, total, added, choice, onChoose }: HeadProps) {
  const isEdited = typeof choice === "object";
  const button = (label: string, isOn: boolean, next: Choice | undefined) => (
    <button
      type="button"
      className="chip"
      data-on={isOn || undefined}
      aria-pressed={isOn}
      aria-label={`${label} change ${number}`}
      onClick={() => onChoose(next)}
    >
      {label}
    </button>
  );
  return (
    <div className="change-choice">
      <p className="facts">
        <span>
          Change {number} of {total}
        </span>
        {button("Take", choice === undefined, undefined)}
        {button("Edit", isEdited, isEdited ? choice : { content: added })}
        {button("Leave out", choice === "left out", "left out")}
      </p>
      {isEdited && (
        <Textarea
          label={`Lines of change ${number}`}
          autosize
          minRows={1}
          value={choice.content}
          onChange={(event) => onChoose({ content: event.currentTarget.value })}
        />
      )}
    </div>
  );
}
