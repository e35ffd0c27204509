import type { Failure, GateRow } from "../../store/crew-tables.ts";

/** A question of a plan that a person has decided about. */
type Answered = Pick<GateRow, "decided_by" | "note" | "task_id">;

const nameOf = ({ decided_by }: Answered) => decided_by ?? "a person";

/** The output of a question that was approved: tasks that depend on it get it. */
export const answerText = (gate: Answered) => gate.note ?? `${nameOf(gate)} approved it.`;

export const rejectionReason = (gate: Answered) => `${nameOf(gate)} rejected it${gate.note ? `: ${gate.note}` : ""}`;

/** The record of a task that failed because a person rejected it: nobody has worked on it. */
export const rejectedQuestion = (gate: Answered): Failure => ({
  timeline: [],
  scores: { lowest: null, highest: null, average: null, progression: [] },
  rootCauses: [{ cause: rejectionReason(gate), attempts: [] }],
  recommendations: [
    `Change the plan as the answer demands. To ask again: scriptorium task retry ${gate.task_id}, then resume the run.`,
  ],
});
