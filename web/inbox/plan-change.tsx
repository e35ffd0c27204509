import { Textarea } from "@mantine/core";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { parsePatch } from "diff";
import { useMemo, useState } from "react";
import { mayCall, type Output } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { SourceHunks } from "../parts/source-diff.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { useTitle } from "../parts/title.ts";
import { say } from "../parts/toast.tsx";
import { ActionButton } from "../shell/action-button.tsx";
import { type Action, useActions } from "../shell/actions.ts";

type PlanChange = Output<"show_plan_change">;

/** A change of a plan that the planner proposes for failed tasks: its reason, its diff, and the decision. */
export function PlanChangePage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useOperation("show_plan_change", { id });
  useTitle("Plan change");
  return (
    <div className="column wide">
      <div className="page-head">
        <h1>{data ? `Plan change for task ${data.tasks.join(", ")}` : "Plan change"}</h1>
        {data && (
          <p className="facts">
            <span className="state">{data.state}</span>
            <Link to={`/runs/${data.run}`}>{data.run}</Link>
          </p>
        )}
      </div>
      {error && <Failed error={error} again={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data?.reason && (
        <p className="plain reason">
          <Shown text={data.reason} />
        </p>
      )}
      {data?.state === "open" && <Decide change={data} />}
    </div>
  );
}

function Decide({ change: { id, run, diff } }: { change: PlanChange }) {
  const [note, setNote] = useState("");
  const navigate = useNavigate();
  const hunks = useMemo(
    () =>
      parsePatch(diff).flatMap((patch) =>
        patch.hunks.map(({ oldStart, newStart, lines }) => ({ old_start: oldStart, new_start: newStart, lines })),
      ),
    [diff],
  );
  const toRun = (what: string) => () => {
    say(what);
    void navigate({ to: `/runs/${run}` });
  };
  const confirm = useWrite("confirm_plan_change", { onDone: toRun("Plan changed; resume the run") });
  const reject = useWrite("reject_plan_change", { onDone: toRun("Plan change rejected") });
  const when = !confirm.isPending && !reject.isPending;
  const words = note.trim();
  const actions: Action[] = [
    {
      id: "confirm-plan-change",
      label: "Confirm",
      group: "Decision",
      keys: "mod+enter",
      within: ".decide",
      operation: "confirm_plan_change",
      when,
      run: () => confirm.mutate({ id }),
    },
    {
      id: "reject-plan-change",
      label: "Reject",
      group: "Decision",
      keys: "mod+shift+enter",
      within: ".decide",
      operation: "reject_plan_change",
      when,
      run: () => reject.mutate({ id, ...(words ? { note: words } : {}) }),
    },
  ];
  useActions(actions);
  return (
    <>
      <SourceHunks hunks={hunks} label="Change of the plan" />
      {mayCall("confirm_plan_change") ? (
        <div className="decide">
          <Textarea
            label="Reason"
            description="If you reject it"
            autosize
            minRows={2}
            maxLength={2000}
            value={note}
            onChange={(event) => setNote(event.currentTarget.value)}
          />
          <div className="row-of-buttons">
            {actions.map((action, at) => (
              <ActionButton key={action.id} action={action} {...(at === 0 ? {} : { variant: "default" })} />
            ))}
          </div>
        </div>
      ) : (
        <p className="note">Only collaborators and admins can decide.</p>
      )}
    </>
  );
}
