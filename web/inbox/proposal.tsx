import { Textarea } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { Check, X } from "lucide-react";
import { useState } from "react";
import { useOperation, useWrite } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { useTitle } from "../parts/title.ts";
import { say } from "../parts/toast.tsx";
import { ActionButton } from "../shell/action-button.tsx";
import { type Action, useActions } from "../shell/actions.ts";

/** One proposal with exactly what it would do. */
export function ProposalPage() {
  const { id = "" } = useParams({ strict: false });
  const found = useOperation("show_proposal", { id });
  const [note, setNote] = useState("");
  const proposal = found.data;
  useTitle(proposal ? `Proposal for ${proposal.subject}` : "Proposal");
  const approve = useWrite("approve_proposal", { onDone: () => say("Approved: it has taken effect") });
  const reject = useWrite("reject_proposal", { onDone: () => say("Rejected: nothing changes") });
  const isOpen = proposal?.status === "open";
  const input = { id, ...(note.trim() ? { note: note.trim() } : {}) };
  const actions: Record<"approve" | "reject", Action> = {
    approve: { id: "approve", label: "Approve", group: "Decision", keys: "a", operation: "approve_proposal", when: isOpen && !approve.isPending, run: () => approve.mutate(input) },
    reject: { id: "reject", label: "Reject", group: "Decision", keys: "x", operation: "reject_proposal", when: isOpen && !reject.isPending, run: () => reject.mutate(input) },
  };
  useActions(Object.values(actions));
  if (found.error) {
    return (
      <div className="column">
        <h1>Proposal</h1>
        <Failed error={found.error} again={() => void found.refetch()} />
      </div>
    );
  }
  if (!proposal) {
    return (
      <div className="column">
        <Loading />
      </div>
    );
  }
  return (
    <div className="column wide">
      <div className="page-head">
        <h1>
          {proposal.kind === "section" ? "New section " : "Rewrite of "}
          <Shown text={proposal.subject} />
        </h1>
        <p className="facts">
          <span className={`state state-${proposal.status}`}>{proposal.status}</span>
          <span>
            proposed by <Shown text={proposal.proposedBy ?? "the agent"} />, <Time at={proposal.createdAt} />
          </span>
          {proposal.decidedBy && (
            <span>
              {proposal.status} by <Shown text={proposal.decidedBy} />
              {proposal.decidedAt && (
                <>
                  , <Time at={proposal.decidedAt} />
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
      <Section data={proposal.data} />
      {isOpen && (
        <div className="decide">
          <Textarea label="Note" description="Kept with the decision, for whoever proposed it" autosize minRows={2} value={note} onChange={(event) => setNote(event.currentTarget.value)} maxLength={4000} />
          <div className="row-of-buttons">
            <ActionButton action={actions.approve} icon={<Check size={16} />} busy={approve.isPending} />
            <ActionButton action={actions.reject} icon={<X size={16} />} variant="default" busy={reject.isPending} />
          </div>
        </div>
      )}
    </div>
  );
}

function Section({ data }: { data: Record<string, unknown> }) {
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
