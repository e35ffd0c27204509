import { Link } from "@tanstack/react-router";
import { type KeyboardEvent, type ReactNode, useState } from "react";
import { boot } from "../boot.ts";
import { mayCall } from "../client/call.ts";
import { useOperation } from "../client/query.ts";
import { addressOf } from "../parts/paths.ts";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { JobState } from "../topics/job.tsx";
import { Messages } from "../topics/messages.tsx";
import { ReplyForm, useReply } from "../topics/reply-form.tsx";
import { JobTranscript } from "./job-transcript.tsx";
import type { Proposal } from "./proposal.tsx";

const names = { change: "Change", discussion: "Discussion", effects: "Effects", agent: "Agent" } as const;
export type Tab = keyof typeof names;

/** The tabs about a proposal. On a narrow screen the change is one of them. */
export function DeskTabs({
  proposal,
  isNarrow,
  tab,
  onTab,
}: {
  proposal: Proposal;
  isNarrow: boolean;
  tab: Tab;
  onTab(tab: Tab): void;
}) {
  const hasAgent = proposal.job_id !== null && mayCall("show_job");
  const tabs = (Object.keys(names) as Tab[]).filter(
    (name) =>
      (name !== "change" || isNarrow) &&
      (name !== "agent" || hasAgent) &&
      (name !== "effects" || proposal.impact !== undefined),
  );
  const onKey = (event: KeyboardEvent<HTMLElement>) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
    if (step === 0 || next === undefined) return;
    event.preventDefault();
    onTab(next);
    document.getElementById(`beside-${next}`)?.focus();
  };
  const open = proposal.line_comments.filter(({ resolved_at: at }) => at === null).length;
  return (
    <div className="side-tabs" role="tablist" aria-label="About this proposal" onKeyDown={onKey}>
      {tabs.map((name) => (
        <button
          key={name}
          id={`beside-${name}`}
          type="button"
          role="tab"
          tabIndex={tab === name ? 0 : -1}
          aria-selected={tab === name}
          aria-controls={name === "change" ? "desk-change" : "beside-panel"}
          onClick={() => onTab(name)}
        >
          {names[name]}
          {name === "discussion" && open > 0 && <span className="count"> {open}</span>}
        </button>
      ))}
    </div>
  );
}

/** Beside the change: the discussion, the effects of approving, or the agent that wrote it. */
export function Beside({ proposal, tab }: { proposal: Proposal; tab: Tab }) {
  return (
    <div id="beside-panel" role="tabpanel" aria-labelledby={`beside-${tab}`} hidden={tab === "change"}>
      {tab === "discussion" && <Discussion proposal={proposal} />}
      {tab === "effects" && proposal.impact && <Effects impact={proposal.impact} />}
      {tab === "agent" && proposal.job_id !== null && (
        <>
          <JobState id={proposal.job_id} />
          {mayCall("job_transcript") && <JobTranscript id={proposal.job_id} />}
        </>
      )}
    </div>
  );
}

/** The messages of the topic and the comments on the proposal, in order. */
function Discussion({ proposal: { topic_id: topic, comments, line_comments: onLines } }: { proposal: Proposal }) {
  const found = useOperation("get_topic", { id: topic ?? "" }, { enabled: topic !== null });
  const reply = useReply(topic ?? "");
  const [editing, setEditing] = useState<string>();
  if (topic !== null && !found.data && !found.error) return <Loading lines={3} />;
  const messages = found.data?.messages ?? [];
  const returned = (author: string, at: string) =>
    comments.some((one) => one.wants_revision && one.author === author && one.at === at);
  const said = messages.map(({ seq, author, author_kind: kind, content, at, edited_at: editedAt }) => {
    const line = onLines.find((one) => one.seq === seq);
    return {
      ...{ id: `topic-${seq}`, author, isAgent: kind === "agent", content, at, editedAt },
      ...(topic === null ? {} : { place: { topic, seq } }),
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
      {all.length === 0 && !found.error ? (
        <p className="muted">No messages yet.</p>
      ) : (
        <Messages messages={all} editing={editing} onEditing={setEditing} waiting={reply.waiting} />
      )}
      {topic !== null && found.data && mayCall("reply_topic") && (
        <ReplyForm topic={topic} reply={reply} messages={all} onEdit={setEditing} />
      )}
    </>
  );
}

const revisionWanted = (
  <>
    {" "}
    <span className="state tone-busy">requested a revision</span>
  </>
);

function OnLine({ comment }: { comment: LineComment }) {
  const { side, line, place, quote, revision_number: revision, resolved_at: resolved } = comment;
  return (
    <span className="on-line">
      {" "}
      on {side === "old" ? "removed line" : "line"} {place ?? line}
      {place === null && ` of revision ${revision}`}
      {quote.trim() !== "" && (
        <>
          : <q>{<Shown text={quote} />}</q>
        </>
      )}
      {resolved !== null && (
        <>
          {" "}
          <span className="state tone-good">resolved</span>
        </>
      )}
    </span>
  );
}

type LineComment = Proposal["line_comments"][number];

const becomes = {
  anchored: "keeps its passage",
  moved: "moves with its passage",
  "needs-review": "needs review",
  orphaned: "loses its passage",
};

function Effects({ impact }: { impact: NonNullable<Proposal["impact"]> }) {
  const { base_moved: moved, merge, uncommitted, topics, topics_cursor: more, relations } = impact;
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
      <EffectList title="Topics" none="No open topic is affected.">
        {topics.map(({ id, quote, to }) => (
          <li key={id}>
            <Link to={`/topics/${id}`}>
              <q>
                <Shown text={quote} />
              </q>
            </Link>{" "}
            <span className={`state ${to === "orphaned" || to === "needs-review" ? "tone-bad" : "tone-good"}`}>
              {becomes[to]}
            </span>
          </li>
        ))}
      </EffectList>
      {more && <p className="muted">Only the first {topics.length} topics are shown.</p>}
      {relations && <Relations relations={relations} />}
    </>
  );
}

function EffectList({ title, none, children }: { title: string; none: string; children: ReactNode[] }) {
  return (
    <>
      <h2 className="effects-title">{title}</h2>
      {children.length === 0 ? <p className="muted">{none}</p> : <ul className="effects">{children}</ul>}
    </>
  );
}

type Related = NonNullable<NonNullable<Proposal["impact"]>["relations"]>;

function Relations({ relations }: { relations: Related }) {
  const { links_added: added, links_removed: removed, links_in_broken: broken, same_page: others } = relations;
  return (
    <>
      <EffectList title="Other proposals" none="No other proposal for this page is open.">
        {others.map(({ id, revision_number: revision, proposed_by: by, conflict }) => (
          <li key={id}>
            <Link to={`/proposals/${id}`}>
              Revision {revision} by <Shown text={by ?? "the agent"} />
            </Link>{" "}
            <span className={`state ${conflict ? "tone-bad" : "tone-good"}`}>{conflict ? "conflict" : "merges"}</span>
          </li>
        ))}
      </EffectList>
      <EffectList title="Links" none="No link changes.">
        {[
          ...broken.map(({ path, heading }) => (
            <li key={`in ${path} ${heading}`}>
              <PageLink path={path} name={path} /> links to the heading <q>{<Shown text={heading} />}</q>{" "}
              <span className="state tone-bad">broken</span>
            </li>
          )),
          ...added.map(({ path, name, missing }) => (
            <li key={`added ${name}`}>
              <PageLink path={missing ? null : path} name={name} />{" "}
              <span className={`state ${missing ? "tone-bad" : "tone-good"}`}>
                {missing ? "added, page missing" : "added"}
              </span>
            </li>
          )),
          ...removed.map(({ path, name }) => (
            <li key={`removed ${name}`}>
              <PageLink path={path} name={name} /> <span className="state tone-off">removed</span>
            </li>
          )),
        ]}
      </EffectList>
    </>
  );
}

function PageLink({ path, name }: { path: string | null; name: string }) {
  const words = <Shown text={path ?? name.replace(/^(?:entry|page):/, "")} />;
  return path === null ? words : <Link to={addressOf(path, boot.workspace.wiki)}>{words}</Link>;
}
