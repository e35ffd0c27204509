import { useState } from "react";
import { hiddenFields } from "../../src/review/proposals/hidden-text.ts";
import type { Input } from "../client/call.ts";
import { useDraft } from "../client/draft.ts";
import { useWrite } from "../client/query.ts";
import { Check, MessageSquare, RotateCcw, X } from "../parts/icons.tsx";
import { Shown } from "../parts/shown.tsx";
import { AgentSetupLink } from "../topics/agent-setup-link.tsx";
import { DecisionCard } from "./decision-card.tsx";
import { Pending } from "./pending.tsx";
import type { Proposal } from "./proposal.tsx";
import { useMoveOn } from "./queue.ts";

/** `isChoosing`: some changes are left out or edited, and an approval would apply all of them as proposed. */
type Props = {
  proposal: Proposal;
  isChoosing: boolean;
  /** An agent started on the next revision. */
  onReturned(): void;
  /** The note is in the discussion now. */
  onNoted(): void;
};
type Choice = Input<"decide_proposal">["decision"];

/** The note about a proposal, until it is sent. */
export const useNote = (id: string) => useDraft(`note ${id}`, "");

/** The decision about a proposal; the server holds it for 10 s. About a replaced one a note can still be sent. */
export function Decide({ proposal, isChoosing, onReturned, onNoted }: Props) {
  const { id, impact, pending } = proposal;
  const note = useNote(id);
  const [notStarted, setNotStarted] = useState<string>();
  const moveOn = useMoveOn();
  const decide = useWrite("decide_proposal", { onDone: () => moveOn() });
  const comment = useWrite("comment_proposal", {
    onDone(_, { content }) {
      note.clearSent(content);
      onNoted();
    },
  });
  const giveBack = useWrite("request_revision", {
    onDone({ not_started: problem }, { content }) {
      note.clearSent(content);
      setNotStarted(problem ?? undefined);
      if (problem === null) onReturned();
      else onNoted();
    },
  });
  const hidden = hiddenIn(proposal);
  const isOpen = proposal.status === "open";
  const isStale = impact?.base_moved === true && !impact.merge?.clean;
  const isHeld = pending !== null && pending.problem === null;
  const when = isOpen && !decide.isPending && !giveBack.isPending;
  const choose = (decision: Choice) => (words: string) =>
    decide.mutate({
      id,
      decision,
      ...(words ? { note: words } : {}),
      ...(decision === "approve" && impact?.source_sha ? { onto: impact.source_sha } : {}),
      ...(decision === "approve" && impact?.base_moved ? { merge: true } : {}),
      ...(decision === "approve" && hidden.length > 0 ? { accept_hidden: true } : {}),
    });
  const isChosen = (decision: Choice) => decide.isPending && decide.variables?.decision === decision;
  return (
    <DecisionCard
      description="Saved with your decision, or as a comment"
      note={note}
      mostCharacters={4000}
      hidden={isOpen ? hidden : []}
      isHeld={isHeld}
      accept={{
        ...{ id: "approve", operation: "decide_proposal", icon: <Check size={16} />, isBusy: isChosen("approve") },
        label: impact?.base_moved && !isStale ? "Approve merged text" : "Approve",
        when: when && !isChoosing && !isStale && !impact?.uncommitted,
        run: choose("approve"),
      }}
      decline={{
        ...{ id: "reject", label: "Reject", operation: "decide_proposal", when },
        ...{ icon: <X size={16} />, isBusy: isChosen("reject"), run: choose("reject") },
      }}
      others={[
        ...(proposal.kind === "page"
          ? [
              {
                ...{ id: "revision", label: "Return with a note", operation: "request_revision" as const, when },
                ...{ needsNote: true, icon: <RotateCcw size={16} />, isBusy: giveBack.isPending },
                run: (content: string) => giveBack.mutate({ id, content }),
              },
            ]
          : []),
        {
          ...{ id: "comment", label: "Comment", operation: "comment_proposal", when: !comment.isPending },
          ...{ needsNote: true, icon: <MessageSquare size={16} />, isBusy: comment.isPending },
          run: (content) => comment.mutate({ id, content }),
        },
      ]}
    >
      {!isOpen && <p className="muted">This revision was replaced. Send your note as a comment, or delete it.</p>}
      {isChoosing && <p className="muted">Make your revision, or take all changes, before you approve.</p>}
      {notStarted !== undefined && (
        <div className="note bad" role="alert">
          <p>
            Your note is saved, but no agent was started: <Shown text={notStarted} />
          </p>
          <AgentSetupLink />
        </div>
      )}
      <Pending proposal={proposal} isMine={decide.isSuccess} />
    </DecisionCard>
  );
}

const hiddenIn = ({ kind, data, impact }: Proposal) =>
  kind === "page"
    ? (impact?.hidden ?? []).map(({ line, characters }) => ({ where: `line ${line}`, characters }))
    : hiddenFields(data);
