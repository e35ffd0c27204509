import { parseJsonOr } from "../store/json.ts";
import type { StoredTask } from "../store/queries/tasks.ts";

/** The states of O5. `blocked` and `stale` are not among them: they follow from what became of those before. */
export const states = [
  "pending",
  "worker_executing",
  "worker_completed",
  "qc_executing",
  "qc_passed",
  "qc_failed",
  "preparing_retry",
  "completed",
  "failed",
  "cancelled",
] as const;
export type State = (typeof states)[number];

export type Task = {
  /** Its place among all tasks, in the order in which they were made. */
  num: number;
  id: string;
  /** The run it belongs to; a todo of its own has none, and nobody verifies it. */
  run: string | null;
  title: string;
  description: string;
  state: State;
  priority: number;
  /** 0 before the first; attempts go to max retries + 1. */
  attempt: number;
  maxRetries: number;
  blockersLeft: number;
  lostBlockers: number;
  /** Grows with every claim. A write under an older one is refused. */
  epoch: number;
  holder: string | null;
  claimedAt: number | null;
  leaseUntil: number | null;
  /** What the attempts left: output, score, feedback, reasons. */
  result: Record<string, unknown>;
  version: number;
  /** Whether other tasks depend on it. */
  awaited: boolean;
  createdAt: string;
  createdBy: string;
  updatedAt: string;
};

export const isOver = (state: State) => state === "completed" || state === "failed" || state === "cancelled";

/** Over, and not completed: whatever depends on it cannot be done. */
export const isLost = (state: State) => state === "failed" || state === "cancelled";

/** What people see beside the states. */
export const shownStates = [...states, "blocked", "stale"] as const;
export type ShownState = (typeof shownStates)[number];

/**
 * A task behind one that failed or was cancelled cannot be done until that one is; one that was done
 * with what turned out to be wrong is stale.
 */
export function shownState(task: Pick<Task, "state" | "lostBlockers" | "result">): ShownState {
  if (task.state === "failed" && task.result.stale !== undefined) return "stale";
  return task.lostBlockers > 0 && !isOver(task.state) ? "blocked" : task.state;
}

export const fromRow = (row: StoredTask): Task => ({
  num: row.num,
  id: row.id,
  run: row.run,
  title: row.title,
  description: row.description,
  state: row.state as State,
  priority: row.priority,
  attempt: row.attempt,
  maxRetries: row.max_retries,
  blockersLeft: row.blockers_left,
  lostBlockers: row.lost_blockers,
  epoch: row.epoch,
  holder: row.holder,
  claimedAt: row.claimed_at,
  leaseUntil: row.lease_until,
  result: parseJsonOr(row.result, { unreadable: true }),
  version: row.version,
  awaited: row.awaited === 1,
  createdAt: row.created_at,
  createdBy: row.created_by,
  updatedAt: row.updated_at,
});
