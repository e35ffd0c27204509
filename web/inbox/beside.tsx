import { Button, Textarea } from "@mantine/core";
import { type KeyboardEvent, useState } from "react";
import { mayCall } from "../client/call.ts";
import { useDraft } from "../client/draft.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { JobState } from "../topics/job.tsx";
import { Messages } from "../topics/messages.tsx";
import type { Proposal } from "./proposal.tsx";

const names = { discussion: "Discussion", effects: "Effects", agent: "Agent" } as const;
type Tab = keyof typeof names;

/** Beside the change: the discussion, the effects of approving, and the agent that wrote it. */
export function Beside({ proposal }: { proposal: Proposal }) {
  const hasAgent = proposal.job_id !== null && mayCall("show_job");
  const tabs = (Object.keys(names) as Tab[]).filter(
    (tab) => (tab !== "agent" || hasAgent) && (tab !== "effects" || proposal.impact !== undefined),
  );
  const [tab, setTab] = useState<Tab>("discussion");
  const onKey = (event: KeyboardEvent<HTMLElement>) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
    if (step === 0 || next === undefined) return;
    event.preventDefault();
    setTab(next);
    document.getElementById(`beside-${next}`)?.focus();
  };
  return (
    <section aria-label="About this proposal">
      <div className="side-tabs" role="tablist" aria-label="About this proposal" onKeyDown={onKey}>
        {tabs.map((name) => (
          <button
            key={name}
            id={`beside-${name}`}
            type="button"
            role="tab"
            tabIndex={tab === name ? 0 : -1}
            aria-selected={tab === name}
            aria-controls="beside-panel"
            onClick={() => setTab(name)}
          >
            {names[name]}
          </button>
        ))}
      </div>
      <div id="beside-panel" role="tabpanel" aria-labelledby={`beside-${tab}`}>
        {tab === "discussion" && <Discussion proposal={proposal} />}
        {tab === "effects" && proposal.impact && <Effects impact={proposal.impact} />}
        {tab === "agent" && proposal.job_id !== null && <JobState id={proposal.job_id} />}
      </div>
    </section>
  );
}

/** The messages of the topic and the comments on the proposal, in order. */
function Discussion({ proposal: { topic_id: topic, comments, line_comments: onLines } }: { proposal: Proposal }) {
  const found = useOperation("get_topic", { id: topic ?? "" }, { enabled: topic !== null });
  if (topic !== null && !found.data && !found.error) return <Loading lines={3} />;
  const messages = found.data?.messages ?? [];
  const returned = (author: string, at: string) =>
    comments.some((one) => one.wants_revision && one.author === author && one.at === at);
  const said = messages.map(({ seq, author, author_kind: kind, content, at }) => {
    const line = onLines.find((one) => one.seq === seq);
    return {
      ...{ id: `topic-${seq}`, author, isAgent: kind === "agent", content, at },
      remark: (
        <>
          {returned(author, at) && revisionWanted}
          {line && <OnLine comment={line} />}
        </>
      ),
    };
  });
  const isIn = (one: Proposal["comments"][number]) =>
    messages.some(({ author, at, content }) => author === one.author && at === one.at && content === one.content);
  const others = comments
    .filter((one) => !isIn(one))
    .map(({ id, author, content, at, wants_revision: wants }) => ({
      ...{ id: `comment-${id}`, author, content, at },
      remark: wants && revisionWanted,
    }));
  const all = [...said, ...others].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
  return (
    <>
      {found.error && <Failed error={found.error} again={() => void found.refetch()} />}
      {all.length === 0 && !found.error ? <p className="muted">No messages yet.</p> : <Messages messages={all} />}
      {topic !== null && found.data && mayCall("reply_topic") && <Reply topic={topic} />}
    </>
  );
}

const revisionWanted = (
  <>
    {" "}
    <span className="state tone-busy">requested a revision</span>
  </>
);

function OnLine({ comment: { side, line, place, quote, revision_number: revision } }: { comment: LineComment }) {
  return (
    <span className="on-line">
      {" "}
      on {side === "old" ? "removed line" : "line"} {place ?? line}
      {place === null && ` of revision ${revision}`}: <q>{<Shown text={quote} />}</q>
    </span>
  );
}

type LineComment = Proposal["line_comments"][number];

function Reply({ topic }: { topic: string }) {
  const { value: text, setValue: setText, clear } = useDraft(`reply ${topic}`, "");
  const reply = useWrite("reply_topic", { onDone: clear });
  const words = text.trim();
  const send = () => words && !reply.isPending && reply.mutate({ id: topic, content: words });
  return (
    <form
      className="reply"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
      }}
    >
      <Textarea
        aria-label="Reply"
        placeholder="Reply"
        autosize
        minRows={1}
        maxRows={10}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      {words && (
        <div className="row-of-buttons">
          <Button type="submit" size="xs" loading={reply.isPending}>
            Send
          </Button>
        </div>
      )}
    </form>
  );
}

const becomes = {
  anchored: "keeps its passage",
  moved: "moves with its passage",
  "needs-review": "needs review",
  orphaned: "loses its passage",
};

function Effects({ impact }: { impact: NonNullable<Proposal["impact"]> }) {
  const { base_moved: moved, merge, uncommitted, topics, topics_cursor: more } = impact;
  const page = uncommitted
    ? "The page has uncommitted changes."
    : !moved
      ? "The page has not changed since this was proposed."
      : merge?.clean
        ? "The page changed since; both changes merge."
        : "The page changed since, in the same lines: conflict.";
  return (
    <>
      <p className={moved && !merge?.clean ? "note bad" : "muted"}>{page}</p>
      {topics.length === 0 && <p className="muted">No open topic is affected.</p>}
      <ul className="effects">
        {topics.map(({ id, quote, to }) => (
          <li key={id}>
            <q>
              <Shown text={quote} />
            </q>{" "}
            <span className={`state ${to === "orphaned" || to === "needs-review" ? "tone-bad" : "tone-good"}`}>
              {becomes[to]}
            </span>
          </li>
        ))}
      </ul>
      {more && <p className="muted">Only the first {topics.length} topics are shown.</p>}
    </>
  );
}
