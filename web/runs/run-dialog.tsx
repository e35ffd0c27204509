import { Button, NumberInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Output, Refusal } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Dialog } from "../parts/dialog.tsx";
import { SetUpAgent } from "../parts/set-up-agent.tsx";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { say } from "../parts/toast.tsx";
import { dropPlanDraft, loadPlanDraft, useHasPlanDraft } from "./plan-draft.ts";

type Props = {
  run: string;
  /** True if it was started before. */
  isResumed?: boolean;
  onClose(): void;
};

/** Asks how many workers a run gets and what it may cost, and what to do with unsaved edits of its plan. */
export function RunDialog({ run, isResumed = false, onClose }: Props) {
  const plan = useOperation("show_plan", { id: run });
  return (
    <Dialog onClose={onClose} title={isResumed ? "Resume run" : "Run plan"}>
      {plan.error && <Failed error={plan.error} again={() => void plan.refetch()} />}
      {!plan.data && !plan.error && <Loading />}
      {plan.data && <Limits run={run} isResumed={isResumed} defaults={plan.data.defaults} onClose={onClose} />}
    </Dialog>
  );
}

type Defaults = Output<"show_plan">["defaults"];

function Limits({ run, isResumed = false, defaults, onClose }: Props & { defaults: Defaults }) {
  const [workers, setWorkers] = useState<string | number>(defaults.workers);
  const [tokens, setTokens] = useState<string | number>(defaults.budget_tokens ?? "");
  const [usd, setUsd] = useState<string | number>(defaults.budget_usd ?? "");
  const [trouble, setTrouble] = useState<Refusal>();
  const isEdited = useHasPlanDraft(run);
  const verb = isResumed ? "Resume" : "Run";
  const refused = (refusal: Refusal) => {
    setTrouble(refusal);
    return true;
  };
  const execute = useWrite("execute_run", {
    onDone: () => {
      say("Run started");
      onClose();
    },
    onRefused: refused,
  });
  const save = useWrite("save_plan", { onDone: () => dropPlanDraft(run), onRefused: refused });
  const input = {
    id: run,
    ...(workers === "" ? {} : { workers: Number(workers) }),
    ...changed("budget_tokens", defaults.budget_tokens, tokens),
    ...changed("budget_usd", defaults.budget_usd, usd),
  };
  const start = async () => {
    setTrouble(undefined);
    const draft = loadPlanDraft(run);
    if (draft) {
      const saved = await save
        .mutateAsync({ id: run, content: draft.text, base_hash: draft.hash })
        .catch((error: unknown) => error as Error);
      if (saved instanceof Error) return;
    }
    execute.mutate(input);
  };
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      {isEdited && (
        <p className="note" role="status">
          You have <PlanLink onClose={onClose}>unsaved edits of the plan</PlanLink>.
        </p>
      )}
      <NumberInput
        label="Workers"
        description="Tasks worked on at once"
        min={1}
        max={1000}
        allowDecimal={false}
        value={workers}
        onChange={setWorkers}
        data-autofocus
      />
      <NumberInput
        label="Token budget"
        description="Empty for no limit"
        min={1}
        allowDecimal={false}
        thousandSeparator=" "
        value={tokens}
        onChange={setTokens}
      />
      <NumberInput label="Budget in dollars" description="Empty for no limit" min={0} value={usd} onChange={setUsd} />
      {trouble && (
        <p className="note bad plain" role="alert">
          <Shown text={trouble.message} />
          {isEdited && (
            <>
              {" "}
              <PlanLink onClose={onClose}>Open the plan</PlanLink>
            </>
          )}
        </p>
      )}
      <div className="row-of-buttons">
        <Button type="submit" loading={execute.isPending || save.isPending}>
          {isEdited ? `Save plan and ${verb.toLowerCase()}` : verb}
        </Button>
        {isEdited && (
          <Button
            variant="default"
            disabled={execute.isPending || save.isPending}
            onClick={() => execute.mutate(input)}
          >
            {verb} saved plan
          </Button>
        )}
        <SetUpAgent after={trouble} />
      </div>
    </form>
  );
}

function PlanLink({ onClose, children }: { onClose(): void; children: string }) {
  return (
    <Link to="." search={{ tab: "plan" } as never} onClick={onClose}>
      {children}
    </Link>
  );
}

/** Only what the person changed: an unchanged default needs no field, and an emptied one removes the limit. */
function changed<K extends "budget_tokens" | "budget_usd">(
  field: K,
  before: number | null,
  typed: string | number,
): Partial<Record<K, number | null>> {
  const value = typed === "" ? null : Number(typed);
  return value === before ? {} : ({ [field]: value } as Partial<Record<K, number | null>>);
}
