import { Textarea } from "@mantine/core";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { boot } from "../boot.ts";
import { mayCall, type Output } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Check, MessageSquare, RotateCcw, X } from "../parts/icons.tsx";
import { addressOf } from "../parts/paths.ts";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { useTitle } from "../parts/title.ts";
import { say } from "../parts/toast.tsx";
import { ActionButton } from "../shell/action-button.tsx";
import { type Action, useActions } from "../shell/actions.ts";
import { Messages } from "../topics/messages.tsx";
import { PageChange } from "./page-change.tsx";

export type Proposal = Output<"show_proposal">;

/** One proposal with exactly what it would do. */
export function ProposalPage() {
  const { id = "" } = useParams({ strict: false });
  const found = useOperation("show_proposal", { id });
  useTitle(found.data ? `Proposal for ${found.data.subject}` : "Proposal");
  if (found.data) return <Whole key={id} proposal={found.data} />;
  return (
    <div className="column">
      <h1>Proposal</h1>
      {found.error ? <Failed error={found.error} again={() => void found.refetch()} /> : <Loading />}
    </div>
  );
}

function Whole({ proposal }: { proposal: Proposal }) {
  return (
    <div className="column wide">
      <div className="page-head">
        <h1>
          {proposal.kind === "section" ? "New section " : "Change to "}
          {proposal.kind === "page" ? (
            <Link to={addressOf(proposal.subject, boot.workspace.wiki)}>
              <Shown text={proposal.subject} />
            </Link>
          ) : (
            <Shown text={proposal.subject} />
          )}
        </h1>
        <p className="facts">
          <span className={`state state-${proposal.status}`}>{proposal.status}</span>
          {proposal.revision_number && <span>revision {proposal.revision_number}</span>}
          <span>
            proposed by <Shown text={proposal.proposed_by ?? "the agent"} />, <Time at={proposal.created_at} />
          </span>
          {proposal.topic_id && (
            <Link to={addressOf(proposal.subject, boot.workspace.wiki)} search={{ topic: proposal.topic_id } as never}>
              the topic
            </Link>
          )}
          {proposal.decided_by && (
            <span>
              {proposal.status} by <Shown text={proposal.decided_by} />
              {proposal.decided_at && (
                <>
                  , <Time at={proposal.decided_at} />
                </>
              )}
            </span>
          )}
        </p>
        {proposal.note && (
          <p className="note">
            <Shown text={proposal.note} />
          </p>
        )}
      </div>
      {proposal.kind === "page" ? <PageChange proposal={proposal} /> : <Fields data={proposal.data} />}
      {proposal.comments.length > 0 && (
        <section>
          <h2>Comments</h2>
          <Messages
            messages={proposal.comments.map(({ wants_revision: wantsRevision, ...comment }) => ({
              ...comment,
              id: `comment-${comment.id}`,
              remark: wantsRevision && <span className="state tone-busy">requested a revision</span>,
            }))}
          />
        </section>
      )}
      {proposal.status === "open" && <Decide key={proposal.id} proposal={proposal} />}
    </div>
  );
}

function Decide({ proposal }: { proposal: Proposal }) {
  const { id, impact } = proposal;
  const [note, setNote] = useState("");
  const approve = useWrite("approve_proposal", { onDone: () => say("Approved and applied") });
  const reject = useWrite("reject_proposal", { onDone: () => say("Rejected") });
  const comment = useWrite("comment_proposal", { onDone: () => setNote("") });
  const again = useWrite("request_revision", { onDone: () => setNote("") });
  const words = note.trim();
  const isStale = impact?.base_moved === true && !impact.merge?.clean;
  const isBusy = approve.isPending || reject.isPending || again.isPending;
  const onto = impact?.source_sha ? { onto: impact.source_sha } : {};
  const actions: Record<"approve" | "reject" | "again" | "comment", Action> = {
    approve: {
      id: "approve",
      label: impact?.base_moved ? "Approve merged text" : "Approve",
      group: "Decision",
      keys: "a",
      operation: "approve_proposal",
      when: !isBusy && !isStale && !impact?.uncommitted,
      run: () =>
        approve.mutate({
          id,
          ...onto,
          ...(words ? { note: words } : {}),
          ...(impact?.base_moved ? { merge: true } : {}),
        }),
    },
    reject: {
      id: "reject",
      label: "Reject",
      group: "Decision",
      keys: "x",
      operation: "reject_proposal",
      when: !isBusy,
      run: () => reject.mutate({ id, ...(words ? { note: words } : {}) }),
    },
    again: {
      id: "revision",
      label: "Request revision",
      group: "Decision",
      operation: "request_revision",
      when: proposal.kind === "page" && words !== "" && !isBusy,
      run: () => again.mutate({ id, content: words }),
    },
    comment: {
      id: "comment",
      label: "Comment",
      group: "Decision",
      operation: "comment_proposal",
      when: words !== "",
      run: () => comment.mutate({ id, content: words }),
    },
  };
  useActions(Object.values(actions));
  if (!mayCall("approve_proposal")) return <p className="note">Only collaborators and admins can decide.</p>;
  return (
    <div className="decide">
      <Textarea
        label="Note"
        description="Saved with your decision, or as a comment"
        autosize
        minRows={2}
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
        maxLength={4000}
      />
      <div className="row-of-buttons">
        <ActionButton action={actions.approve} icon={<Check size={16} />} busy={approve.isPending} />
        <ActionButton action={actions.reject} icon={<X size={16} />} variant="default" busy={reject.isPending} />
        {proposal.kind === "page" && (
          <ActionButton
            action={actions.again}
            icon={<RotateCcw size={16} />}
            variant="default"
            busy={again.isPending}
          />
        )}
        <ActionButton
          action={actions.comment}
          icon={<MessageSquare size={16} />}
          variant="default"
          busy={comment.isPending}
        />
      </div>
      {impact?.uncommitted && (
        <p className="note bad">The page has uncommitted changes. Commit or stash them, then approve.</p>
      )}
      {isStale && !impact?.uncommitted && (
        <p className="note bad">
          The page changed since, in the same lines, so the two cannot be merged. Press Request revision.
        </p>
      )}
    </div>
  );
}

function Fields({ data }: { data: Record<string, unknown> }) {
  return (
    <dl className="about">
      {Object.entries(data).map(([name, value]) => (
        <div key={name}>
          <dt>{name.replaceAll("_", " ")}</dt>
          <dd>
            <Shown text={Array.isArray(value) ? value.join(", ") || "people only" : String(value)} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
