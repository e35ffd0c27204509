import { Checkbox, Textarea } from "@mantine/core";
import { useRef, useState } from "react";
import { hiddenFields } from "../../src/review/proposals/hidden-text.ts";
import { type Input, mayCall } from "../client/call.ts";
import { useWrite } from "../client/query.ts";
import { Check, MessageSquare, RotateCcw, X } from "../parts/icons.tsx";
import { Shown } from "../parts/shown.tsx";
import { complain } from "../parts/toast.tsx";
import { ActionButton } from "../shell/action-button.tsx";
import { type Action, useActions } from "../shell/actions.ts";
import { Pending } from "./pending.tsx";
import type { Proposal } from "./proposal.tsx";

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

/** The decision about an open proposal. Nothing here is decided by a bare key, and the server holds it for 10 s. */
export function Decide({ proposal, isChoosing, onReturned, onNoted }: Props) {
  const { id, impact, pending } = proposal;
  const [note, setNote] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const hidden = hiddenIn(proposal);
  // What was accepted, so that other characters are asked about again.
  const [accepted, setAccepted] = useState("");
  const hasAccepted = accepted === JSON.stringify(hidden);
  const decide = useWrite("decide_proposal");
  const comment = useWrite("comment_proposal", {
    onDone() {
      setNote("");
      onNoted();
    },
  });
  const giveBack = useWrite("request_revision", {
    onDone({ not_started: problem }) {
      setNote("");
      if (problem === null) return onReturned();
      onNoted();
      complain(new Error(`Your note is saved, but no agent was started: ${problem}`));
    },
  });
  const words = note.trim();
  const isStale = impact?.base_moved === true && !impact.merge?.clean;
  const isHeld = pending !== null && pending.problem === null;
  const isBusy = isHeld || decide.isPending || giveBack.isPending;
  const choose = (decision: Choice) =>
    decide.mutate({
      id,
      decision,
      ...(words ? { note: words } : {}),
      ...(decision === "approve" && impact?.source_sha ? { onto: impact.source_sha } : {}),
      ...(decision === "approve" && impact?.base_moved ? { merge: true } : {}),
      ...(decision === "approve" && hidden.length > 0 ? { accept_hidden: hasAccepted } : {}),
    });
  const isChosen = (decision: Choice) => decide.isPending && decide.variables?.decision === decision;
  const actions: Record<"focus" | "approve" | "reject" | "giveBack" | "comment", Action> = {
    focus: {
      id: "decide",
      label: "Write a note",
      group: "Decision",
      keys: "d",
      operation: "decide_proposal",
      when: !isHeld,
      run: () => field.current?.focus(),
    },
    approve: {
      id: "approve",
      label: impact?.base_moved && !isStale ? "Approve merged text" : "Approve",
      group: "Decision",
      keys: "mod+enter",
      within: ".decide",
      operation: "decide_proposal",
      when: !isBusy && !isChoosing && !isStale && !impact?.uncommitted && (hidden.length === 0 || hasAccepted),
      run: () => choose("approve"),
    },
    reject: {
      id: "reject",
      label: "Reject",
      group: "Decision",
      keys: "mod+shift+enter",
      within: ".decide",
      operation: "decide_proposal",
      when: !isBusy,
      run: () => choose("reject"),
    },
    giveBack: {
      id: "revision",
      label: "Return with a note",
      group: "Decision",
      operation: "request_revision",
      when: proposal.kind === "page" && words !== "" && !isBusy,
      run: () => giveBack.mutate({ id, content: words }),
    },
    comment: {
      id: "comment",
      label: "Comment",
      group: "Decision",
      operation: "comment_proposal",
      when: words !== "" && !isHeld,
      run: () => comment.mutate({ id, content: words }),
    },
  };
  useActions(Object.values(actions));
  if (!mayCall("decide_proposal")) {
    return (
      <div className="decide">
        <Pending proposal={proposal} isMine={false} />
        <p className="note">Only collaborators and admins can decide.</p>
      </div>
    );
  }
  return (
    <section className="decide" aria-label="Decision">
      <Textarea
        ref={field}
        label="Note"
        description="Saved with your decision, or as a comment"
        autosize
        minRows={2}
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
        maxLength={4000}
        disabled={isHeld}
      />
      {hidden.length > 0 && !isHeld && (
        <Checkbox
          checked={hasAccepted}
          onChange={(event) => setAccepted(event.currentTarget.checked ? JSON.stringify(hidden) : "")}
          label={
            <>
              Approve these hidden characters: <Shown text={named(hidden)} />
            </>
          }
        />
      )}
      {isChoosing && <p className="muted">Make your revision, or take all changes, before you approve.</p>}
      <Pending proposal={proposal} isMine={decide.isSuccess} />
      {!isHeld && (
        <div className="row-of-buttons">
          <ActionButton action={actions.approve} icon={<Check size={16} />} busy={isChosen("approve")} />
          <ActionButton action={actions.reject} icon={<X size={16} />} variant="default" busy={isChosen("reject")} />
          {proposal.kind === "page" && (
            <ActionButton
              action={actions.giveBack}
              icon={<RotateCcw size={16} />}
              variant="default"
              busy={giveBack.isPending}
            />
          )}
          <ActionButton
            action={actions.comment}
            icon={<MessageSquare size={16} />}
            variant="default"
            busy={comment.isPending}
          />
        </div>
      )}
    </section>
  );
}

type Hidden = ReturnType<typeof hiddenFields>;

const hiddenIn = ({ kind, data, impact }: Proposal): Hidden =>
  kind === "page"
    ? (impact?.hidden ?? []).map(({ line, characters }) => ({ where: `line ${line}`, characters }))
    : hiddenFields(data);

const mostNamed = 10;

const named = (hidden: Hidden) =>
  hidden
    .slice(0, mostNamed)
    .map(({ where, characters }) => `${characters} (${where})`)
    .join(", ") + (hidden.length > mostNamed ? ` and ${hidden.length - mostNamed} more lines` : "");
