import type { GateRow } from "../../store/crew-tables.ts";
import type { Attempt } from "../../store/queries/attempts.ts";
import type { RunTask } from "../../store/queries/runs.ts";
import { holdAtGate } from "../record/gates.ts";
import type { Crew } from "./crew.ts";

/** The gate that a verified attempt has to pass, with the decision if there is one; undefined if the plan has none. */
export async function gateOf({ app, trees }: Crew, detail: RunTask, attempt: Attempt): Promise<GateRow | undefined> {
  if (detail.gate === null) return undefined;
  const { task_id, run_id } = detail;
  const { epoch, commit_id, deliverable_hash } = attempt;
  const base_id = commit_id === null ? null : await trees.baseOf(run_id, commit_id);
  return holdAtGate(app, { task_id, run_id, epoch, hash: deliverable_hash ?? "", base_id, commit_id });
}

export const gateReason = ({ number, on_reject }: Pick<RunTask, "number" | "on_reject">) =>
  on_reject === null
    ? `task ${number} waits for the approval of a person`
    : `task ${number} waits for the answer of a person`;
