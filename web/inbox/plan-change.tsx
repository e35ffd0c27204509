import { Link, useParams } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Output } from "../client/call.ts";
import { useWrite } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { SourceHunks } from "../parts/source-diff.tsx";
import { DecisionCard } from "./decision-card.tsx";
import { DecisionPage, useDecision, useWaiting } from "./decision-page.tsx";
import { hiddenIn, hiddenInPatch } from "./hidden.ts";
import { filesOf } from "./patched-files.tsx";

type PlanChange = Output<"show_plan_change">;

/** A change of a plan that the planner proposes for failed tasks: its reason, its diff, and the decision. */
export function PlanChangePage() {
  const { id = "" } = useParams({ strict: false });
  const found = useWaiting("show_plan_change", { id });
  return (
    <DecisionPage
      title={found.data ? `Plan change for task ${found.data.tasks.join(", ")}` : "Plan change"}
      found={found}
      about={({ state, run }) => (
        <p className="facts">
          <span className="state">{state}</span>
          <Link to={`/runs/${run}`}>{run}</Link>
        </p>
      )}
    >
      {(change) => (
        <>
          {change.reason && (
            <p className="plain reason">
              <Shown text={change.reason} />
            </p>
          )}
          {change.state === "open" && <Decide change={change} />}
        </>
      )}
    </DecisionPage>
  );
}

function Decide({ change: { id, run, reason, diff } }: { change: PlanChange }) {
  const { note, decided } = useDecision(`plan change ${id}`);
  const hunks = useMemo(() => filesOf(diff).flatMap((file) => file.hunks), [diff]);
  const toRun = (what: string) => () => decided(what, { to: `/runs/${run}`, movesOn: false });
  const confirm = useWrite("confirm_plan_change", { onDone: toRun("Plan changed; resume the run") });
  const reject = useWrite("reject_plan_change", { onDone: toRun("Plan change rejected") });
  const when = !confirm.isPending && !reject.isPending;
  return (
    <>
      <SourceHunks hunks={hunks} label="Change of the plan" />
      <DecisionCard
        label="Reason"
        note={note}
        hidden={[...hiddenIn([["reason", reason]]), ...hiddenInPatch(diff)]}
        description="If you reject it"
        accept={{
          ...{ id: "confirm-plan-change", label: "Confirm", operation: "confirm_plan_change", when },
          run: () => confirm.mutate({ id }),
        }}
        decline={{
          ...{ id: "reject-plan-change", label: "Reject", operation: "reject_plan_change", when },
          run: (note) => reject.mutate({ id, ...(note ? { note } : {}) }),
        }}
      />
    </>
  );
}
