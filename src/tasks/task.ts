import { parseJsonOr } from "../store/json.ts";
import type { StoredTask } from "../store/queries/tasks.ts";

/** The states of O5. `blocked` and `stale` are derived from the states of other tasks: see `shownState`. */
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
  /** Number in the order of creation. */
  num: number;
  id: string;
  /** The run it belongs to; null for a todo, which no verifier looks at. */
  run: string | null;
  title: string;
  description: string;
  state: State;
  priority: number;
  /** 0 before the first; at most max retries + 1. */
  attempt: number;
  maxRetries: number;
  blockersLeft: number;
  lostBlockers: number;
  /** Grows with every claim. It names a claim; `secretHash` proves it. */
  epoch: number;
  holder: string | null;
  claimedAt: number | null;
  leaseUntil: number | null;
  /** Of the claim that holds it. Answers never show it. */
  secretHash: string | null;
  /** Output, score, feedback and reasons of the last steps. */
  result: Record<string, unknown>;
  version: number;
  /** Whether other tasks depend on it. */
  awaited: boolean;
  createdAt: string;
  createdBy: string;
  updatedAt: string;
};

export const isOver = (state: State) => state === "completed" || state === "failed" || state === "cancelled";

/** Final, but not completed: tasks that depend on it cannot start. */
export const isLost = (state: State) => state === "failed" || state === "cancelled";

export const shownStates = [...states, "blocked", "stale"] as const;
export type ShownState = (typeof shownStates)[number];

/** The state as people see it: blocked behind a lost task; stale if it was completed with an overturned output. */
export function shownState(task: Pick<Task, "state" | "lostBlockers" | "result">): ShownState {
  // A question was not verified: it waits for a person.
  if (task.state === "qc_passed" && task.result.asked === true) return "pending";
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
  secretHash: row.secret_hash,
  result: parseJsonOr(row.result, { unreadable: true }),
  version: row.version,
  awaited: row.awaited === 1,
  createdAt: row.created_at,
  createdBy: row.created_by,
  updatedAt: row.updated_at,
});
