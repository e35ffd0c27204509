import { NativeSelect } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { spellHidden } from "../../src/kernel/hidden.ts";
import { mayCall } from "../client/call.ts";
import { useDraft } from "../client/draft.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Check, RotateCcw } from "../parts/icons.tsx";
import { firstWords } from "../parts/plain.ts";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { say } from "../parts/toast.tsx";
import { ActionButton } from "../shell/action-button.tsx";
import { type Action, useActions } from "../shell/actions.ts";
import type { Topic } from "./discussion.tsx";
import { Messages } from "./messages.tsx";
import { ReplyForm, useReply } from "./reply-form.tsx";
import { TopicWork } from "./work.tsx";

type Props = { topic: Topic; isActive: boolean; onChoose(id: string | undefined): void };

const stateWords = { anchored: "", moved: "moved", "needs-review": "needs review", orphaned: "orphaned" } as const;

/** A topic as a card: its beginning, or when chosen the whole talk. */
export function Thread({ topic, isActive, onChoose }: Props) {
  const state = topic.anchor?.state;
  const { isKept: hasDraft } = useDraft(`reply ${topic.id}`, "");
  return (
    <article
      className={`thread${isActive ? " active" : ""}`}
      data-state={state ?? "page"}
      data-status={topic.status}
      aria-label={spellHidden(`Topic: ${topic.opening.slice(0, 80)}`)}
    >
      <header>
        <span className="facts">
          {topic.unread && !isActive && <span className="state tone-busy">unread</span>}
          <span className="mode">{topic.kind}</span>
          {state && stateWords[state] && (
            <span className={`state ${state === "moved" ? "" : "tone-off"}`}>{stateWords[state]}</span>
          )}
          {hasDraft && !isActive && <span className="state tone-busy">draft</span>}
          {topic.status === "resolved" && <span className="state tone-good">resolved</span>}
        </span>
        {isActive && (
          <button type="button" className="icon-button" aria-label="Close topic" onClick={() => onChoose(undefined)}>
            ×
          </button>
        )}
      </header>
      {topic.anchor && (!topic.anchor.place || isActive) && (
        <blockquote className="quote">
          <Shown text={topic.anchor.quote.slice(0, 240)} />
        </blockquote>
      )}
      {isActive ? (
        <Talk topic={topic} />
      ) : (
        <button type="button" className="thread-open" onClick={() => onChoose(topic.id)}>
          <span className="opening">
            <Shown text={firstWords(topic.opening, 180)} />
          </span>
          <span className="by">
            <Shown text={topic.created_by} />, <Time at={topic.created_at} />
            {topic.message_count > 1 &&
              ` · ${topic.message_count - 1} ${topic.message_count === 2 ? "reply" : "replies"}`}
          </span>
        </button>
      )}
    </article>
  );
}

function Talk({ topic }: { topic: Topic }) {
  const whole = useOperation("get_topic", { id: topic.id });
  const reply = useReply(topic.id);
  const field = useRef<HTMLTextAreaElement>(null);
  const [editing, setEditing] = useState<string>();
  const reopen = useWrite("reopen_topic", { onDone: () => say("Topic reopened") });
  const resolve = useWrite("resolve_topic", { onDone: () => say("Resolved", () => reopen.mutate({ id: topic.id })) });
  const isOpen = topic.status === "open";
  const actions: Record<"reply" | "resolve" | "reopen", Action> = {
    reply: {
      id: "topic-reply",
      label: "Reply",
      group: "Discussion",
      keys: "r",
      operation: "reply_topic",
      run: () => field.current?.focus(),
    },
    resolve: {
      id: "topic-resolve",
      label: "Resolve",
      group: "Discussion",
      keys: "m",
      operation: "resolve_topic",
      when: isOpen,
      run: () => resolve.mutate({ id: topic.id }),
    },
    reopen: {
      id: "topic-reopen",
      label: "Reopen",
      group: "Discussion",
      keys: "m",
      operation: "reopen_topic",
      when: !isOpen,
      run: () => reopen.mutate({ id: topic.id }),
    },
  };
  useActions(Object.values(actions));
  const { mutate: markRead } = useWrite("mark_read", { onRefused: () => true });
  const notices = useOperation("notifications", {}).data?.notifications ?? [];
  const isNoticed = notices.some(
    ({ subject, read, kind }) => !read && kind === "assigned" && subject === `topic:${topic.id}`,
  );
  const isSeen = whole.data !== undefined && (topic.unread === true || isNoticed);
  useEffect(() => {
    if (isSeen) markRead({ topic_id: topic.id });
  }, [isSeen, topic.id, markRead]);
  const failure = whole.error && <Failed error={whole.error} again={() => void whole.refetch()} />;
  if (!whole.data) return failure ?? <Loading lines={2} />;
  const messages = whole.data.messages.map(({ seq, author_kind: authorKind, edited_at: editedAt, ...message }) => ({
    ...message,
    id: `${topic.id}-${seq}`,
    isAgent: authorKind === "agent",
    editedAt,
    place: { topic: topic.id, seq },
  }));
  return (
    <>
      {failure}
      <Messages messages={messages} editing={editing} onEditing={setEditing} waiting={reply.waiting} />
      <TopicWork topic={topic} />
      {mayCall("assign_topic") && <Assignee topic={topic} />}
      {mayCall("reply_topic") && (
        <ReplyForm topic={topic.id} reply={reply} messages={messages} onEdit={setEditing} field={field}>
          {isOpen ? (
            <ActionButton
              action={actions.resolve}
              icon={<Check size={14} />}
              size="xs"
              variant="default"
              busy={resolve.isPending}
            />
          ) : (
            <ActionButton
              action={actions.reopen}
              icon={<RotateCcw size={14} />}
              size="xs"
              variant="default"
              busy={reopen.isPending}
            />
          )}
        </ReplyForm>
      )}
    </>
  );
}

/** The person who is to deal with the topic. A person alone has nobody to choose. */
function Assignee({ topic }: { topic: Topic }) {
  const names = useOperation("list_names", {});
  const assign = useWrite("assign_topic");
  const people = (names.data?.names ?? []).filter(({ assignable }) => assignable).map(({ name }) => name);
  const others = topic.assignee && !people.includes(topic.assignee) ? [topic.assignee] : [];
  if (people.length < 2 && !topic.assignee) return null;
  return (
    <NativeSelect
      size="xs"
      label="Assigned to"
      disabled={assign.isPending}
      value={topic.assignee ?? ""}
      onChange={(event) => assign.mutate({ id: topic.id, assignee: event.currentTarget.value || null })}
      data={[
        { value: "", label: "Nobody" },
        ...[...people, ...others].map((name) => ({ value: name, label: spellHidden(name) })),
      ]}
    />
  );
}
