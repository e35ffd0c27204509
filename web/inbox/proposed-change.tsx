import { Button, Textarea } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { mayCall } from "../client/call.ts";
import { useWrite } from "../client/query.ts";
import { SourceHunks } from "../parts/source-diff.tsx";
import { countOf } from "../parts/time.tsx";
import { say } from "../parts/toast.tsx";
import { Messages } from "../topics/messages.tsx";
import type { Proposal } from "./proposal.tsx";

type Place = { side: "old" | "new"; line: number };
/** Left out, or taken with other lines. A change without a choice is taken as it is. */
type Choice = "left out" | { content: string };

/** The change of a proposal to its base text, line by line: comments on lines, and the choice of single changes. */
export function ProposedChange({
  proposal,
  onChoosing,
}: {
  proposal: Proposal;
  onChoosing(isChoosing: boolean): void;
}) {
  const { id, impact, line_comments: comments } = proposal;
  const [at, setAt] = useState<Place>();
  const [choices, setChoices] = useState<ReadonlyMap<number, Choice>>(new Map());
  const isChoosing = choices.size > 0;
  useEffect(() => {
    onChoosing(isChoosing);
    return () => onChoosing(false);
  }, [isChoosing, onChoosing]);
  if (!impact) return null;
  const total = impact.changes.length;
  const isWhole = impact.omitted_lines === 0;
  const isOpen = proposal.status === "open" && proposal.pending === null;
  const choose = (number: number, choice: Choice | undefined) => {
    const next = new Map(choices);
    if (choice === undefined) next.delete(number);
    else next.set(number, choice);
    setChoices(next);
  };
  const isAt = ({ side, line }: Place) => at?.side === side && at.line === line;
  return (
    <>
      <SourceHunks
        hunks={impact.hunks}
        {...(mayCall("comment_on_line")
          ? {
              tools: (place: Place, isChanged: boolean) => (
                <button
                  type="button"
                  className="line-comment"
                  tabIndex={isChanged ? 0 : -1}
                  aria-label={`Comment on ${nameOf(place)}`}
                  onClick={() => setAt(place)}
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
          const writing = places.find(isAt);
          if (here.length === 0 && !writing) return null;
          return (
            <div className="line-talk">
              {here.length > 0 && <LineMessages comments={here} shown={id} />}
              {writing && <Composer id={id} place={writing} onEnd={() => setAt(undefined)} />}
            </div>
          );
        }}
        {...(isOpen && isWhole && mayCall("take_changes")
          ? {
              changeHead: (number: number, added: string) => (
                <ChangeHead
                  number={number}
                  total={total}
                  added={added}
                  choice={choices.get(number)}
                  onChoose={(choice) => choose(number, choice)}
                />
              ),
            }
          : {})}
      />
      {isOpen && isChoosing && (
        <TakeChanges id={id} total={total} choices={choices} onReset={() => setChoices(new Map())} />
      )}
    </>
  );
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

function Composer({ id, place, onEnd }: { id: string; place: Place; onEnd(): void }) {
  const [text, setText] = useState("");
  const send = useWrite("comment_on_line", { onDone: onEnd });
  const words = text.trim();
  const submit = () => words && !send.isPending && send.mutate({ id, ...place, content: words });
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
        if (event.key === "Escape" && words === "") onEnd();
      }}
    >
      <Textarea
        label={`Comment on ${nameOf(place)}`}
        autosize
        minRows={2}
        data-autofocus
        ref={(field) => field?.focus({ preventScroll: true })}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        maxLength={20_000}
      />
      <div className="row-of-buttons">
        <Button type="submit" size="xs" loading={send.isPending} disabled={words === ""}>
          Add comment
        </Button>
        <Button size="xs" variant="default" onClick={onEnd}>
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

type TakeProps = { id: string; total: number; choices: ReadonlyMap<number, Choice>; onReset(): void };

/** Makes the revision with the changes that were taken. */
function TakeChanges({ id, total, choices, onReset }: TakeProps) {
  const [note, setNote] = useState("");
  const navigate = useNavigate();
  const take = useWrite("take_changes", {
    onDone({ id: made, revision_number: revision }) {
      say(`Revision ${revision} has your changes. Approve it now.`);
      void navigate({ to: `/proposals/${made}`, search: { as: "source" } as never });
    },
  });
  const changes = Array.from({ length: total }, (_, at) => at + 1).flatMap((number) => {
    const choice = choices.get(number);
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
        <Button size="xs" variant="default" onClick={onReset}>
          Take all
        </Button>
      </div>
    </section>
  );
}
