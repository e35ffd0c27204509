import { Link, useParams } from "@tanstack/react-router";
import { useEffect, useState, useSyncExternalStore } from "react";
import { boot } from "../boot.ts";
import type { Output } from "../client/call.ts";
import { useOperation } from "../client/query.ts";
import { addressOf } from "../parts/paths.ts";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { useTitle } from "../parts/title.ts";
import { Beside, DeskTabs, type Tab } from "./beside.tsx";
import { useChoices } from "./choices.ts";
import { Decide, useNote } from "./decide.tsx";
import { NextRevision } from "./next-revision.tsx";
import { PageChange } from "./page-change.tsx";
import { Pending } from "./pending.tsx";

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
  const [isReturned, setReturned] = useState(false);
  const choices = useChoices(proposal);
  const note = useNote(proposal.id);
  const isDecided = proposal.status === "approved" || proposal.status === "rejected";
  useEffect(() => {
    // The record has it now.
    if (isDecided && proposal.note !== null) note.clearSent(proposal.note);
  }, [isDecided, proposal.note, note.clearSent]);
  const isNarrow = useNarrow();
  const [chosen, setTab] = useState<Tab>();
  const tab =
    chosen === undefined || (chosen === "change" && !isNarrow) ? (isNarrow ? "change" : "discussion") : chosen;
  const tabs = <DeskTabs proposal={proposal} isNarrow={isNarrow} tab={tab} onTab={setTab} />;
  const beside = <Beside proposal={proposal} tab={tab} />;
  return (
    <div className="column wide">
      <div className="page-head desk-head">
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
        <Trouble proposal={proposal} />
        {proposal.note && (
          <p className="note">
            <Shown text={proposal.note} />
          </p>
        )}
      </div>
      <div className="desk">
        {isNarrow && tabs}
        <div
          className="desk-change"
          id="desk-change"
          hidden={isNarrow && tab !== "change"}
          {...(isNarrow ? { role: "tabpanel", "aria-labelledby": "beside-change" } : {})}
        >
          {proposal.kind === "page" ? (
            <PageChange proposal={proposal} choices={choices} />
          ) : (
            <Fields data={proposal.data} />
          )}
          <NextRevision proposal={proposal} follow={isReturned && !note.isKept} />
        </div>
        {isNarrow && beside}
        <div className="desk-side">
          {proposal.status === "open" || (note.isKept && !isDecided) ? (
            <Decide
              proposal={proposal}
              isChoosing={choices.isChoosing}
              onReturned={() => setReturned(true)}
              onNoted={() => setTab("discussion")}
            />
          ) : (
            <Pending proposal={proposal} isMine={false} />
          )}
          {!isNarrow && (
            <section aria-label="About this proposal">
              {tabs}
              {beside}
            </section>
          )}
        </div>
      </div>
    </div>
  );
}

const narrow = matchMedia("(max-width: 72rem)");
const onNarrow = (listener: () => void) => {
  narrow.addEventListener("change", listener);
  return () => narrow.removeEventListener("change", listener);
};
/** The desk is one column, as in diff.css. */
const useNarrow = () => useSyncExternalStore(onNarrow, () => narrow.matches);

/** Why it cannot be approved as it is, before the change itself. */
function Trouble({ proposal: { status, impact } }: { proposal: Proposal }) {
  if (status !== "open" || !impact) return null;
  const rivals = impact.relations?.same_page.filter(({ conflict }) => conflict) ?? [];
  const first = rivals[0];
  if (impact.uncommitted)
    return <p className="note bad">The page has uncommitted changes. Commit or stash them, then approve.</p>;
  if (impact.base_moved && !impact.merge?.clean)
    return (
      <p className="note bad">
        Conflict: the page changed since, in the same lines, so the two cannot be merged. Press Return with a note.
      </p>
    );
  if (!first) return null;
  return (
    <p className="note">
      Conflict with {rivals.length === 1 ? "another open proposal" : `${rivals.length} other open proposals`} for this
      page: only one can be approved as it is.{" "}
      {rivals.map(({ id, proposed_by: by, revision_number: revision }) => (
        <Link key={id} className="rival" to={`/proposals/${id}`}>
          Revision {revision} by <Shown text={by ?? "the agent"} />
        </Link>
      ))}
    </p>
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
