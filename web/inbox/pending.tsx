import { Button } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { mayCall, type Output } from "../client/call.ts";
import { invalidate } from "../client/live.ts";
import { queries, useWrite } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { say } from "../parts/toast.tsx";

type Decided = Pick<Output<"list_proposals">["proposals"][number], "id" | "pending">;
/** `subject`: what was decided, where the page is about something else. */
type Props = { proposal: Decided; subject?: string; isMine: boolean };

/** A decision that can still be undone, by anybody who may decide, or the reason why it did not take effect. */
export function Pending({ proposal: { id, pending }, subject, isMine }: Props) {
  const undo = useWrite("undo_decision", { onDone: ({ pending: { problem } }) => problem ?? say("Decision undone") });
  const left = useCountdown(pending);
  const button = useRef<HTMLButtonElement>(null);
  const isHeld = pending !== null && pending.problem === null;
  useEffect(() => {
    // The pressed button is gone; the next key must not land on the page.
    if (isHeld && isMine) button.current?.focus();
  }, [isHeld, isMine]);
  if (!pending) return null;
  const { decision, by, problem } = pending;
  const canUndo = mayCall("undo_decision");
  if (problem !== null) {
    return (
      <div className="note bad pending" role="alert">
        <p>
          The {decision === "approve" ? "approval" : "rejection"}
          {subject !== undefined && (
            <>
              {" "}
              of <Shown text={subject} />
            </>
          )}{" "}
          by <Shown text={by} /> did not take effect: <Shown text={problem} />
        </p>
        {canUndo && (
          <Button size="xs" variant="default" loading={undo.isPending} onClick={() => undo.mutate({ id })}>
            Dismiss
          </Button>
        )}
      </div>
    );
  }
  return (
    <div className="note pending">
      <p>
        <span role="status">
          <Shown text={by} /> {decision === "approve" ? "approved" : "rejected"} <Shown text={subject ?? "this"} />.
        </span>{" "}
        <span aria-hidden>{left > 0 ? `It takes effect in ${left} s.` : "It is taking effect…"}</span>
      </p>
      {canUndo && (
        <Button
          ref={button}
          size="xs"
          variant="default"
          loading={undo.isPending}
          disabled={left === 0}
          onClick={() => undo.mutate({ id })}
        >
          Undo
        </Button>
      )}
    </div>
  );
}

/** Seconds until the decision takes effect, by this browser's clock. At zero the proposal is read again. */
function useCountdown(pending: Decided["pending"]): number {
  const at = pending?.problem === null ? pending.at : undefined;
  const remaining = useRef(0);
  remaining.current = pending?.remaining_ms ?? 0;
  const [left, setLeft] = useState(0);
  useEffect(() => {
    if (at === undefined) return;
    const deadline = Date.now() + remaining.current;
    const tick = () => {
      setLeft(Math.max(0, Math.ceil((deadline - Date.now()) / 1000)));
      // A server that restarted in between has dropped the decision and says nothing about it.
      if (Date.now() > deadline + 1000) void invalidate(queries, ["proposal"]);
    };
    tick();
    const timer = setInterval(tick, 1000);
    return () => clearInterval(timer);
  }, [at]);
  return left;
}
