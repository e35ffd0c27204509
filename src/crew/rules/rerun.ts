import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Attempt } from "../../store/queries/attempts.ts";

/** `1.2`, `1.2@1` or `1.2@1-7`, as branches of attempts are named; a task by its number or its id. */
const reference = /^(?<task>[\w.-]+)(?:@(?<attempt>\d{1,4})(?:-(?<epoch>\d{1,9}))?)?$/;

export type RerunFrom = { task: string; attempt: number | undefined; epoch: number | undefined };

export function parseFrom(text: string): Result<RerunFrom> {
  const { task, attempt, epoch } = reference.exec(text.trim())?.groups ?? {};
  if (task === undefined)
    return refuse("invalid", `from: ${JSON.stringify(text)} is not a task; expected 1.2, or 1.2@1 for its attempt 1`);
  const number = (digits: string | undefined) => (digits === undefined ? undefined : Number(digits));
  return ok({ task, attempt: number(attempt), epoch: number(epoch) });
}

/** The attempt that is named; attempts count from 1 again after a retry, so that the newest of a number is meant. */
export function attemptNamed(
  attempts: readonly Attempt[],
  { task, attempt, epoch }: RerunFrom,
): Result<Attempt | undefined> {
  if (attempt === undefined) return ok(undefined);
  const found = attempts.findLast((row) => row.attempt === attempt && (epoch === undefined || row.epoch === epoch));
  if (found) return ok(found);
  const there = attempts.map((row) => `${task}@${row.attempt}-${row.epoch}`).join(", ");
  return refuse(
    "not_found",
    `task ${task} has no attempt ${attempt}${epoch ? `-${epoch}` : ""}; it has ${there || "none"}`,
  );
}
