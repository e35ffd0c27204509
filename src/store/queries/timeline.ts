import type { AttemptRow, ContextRow } from "../crew-tables.ts";
import type { Query } from "../database.ts";

export type TimelineRows = {
  attempts: (Pick<
    AttemptRow,
    | "task_id"
    | "epoch"
    | "attempt"
    | "phase"
    | "worker"
    | "verifier"
    | "started_at"
    | "worker_ended_at"
    | "qc_started_at"
    | "ended_at"
  > & { number: string })[];
  agents: Pick<ContextRow, "task_id" | "epoch" | "attempt" | "part" | "agent" | "started_at" | "ended_at">[];
  gates: { task_id: string; epoch: number; held_at: string; decided_at: string | null }[];
  /** When the completed tasks of the run were completed. */
  completed: Map<string, string>;
};

/** The times of a run: those of its last `limit` attempts and, besides, of agents without a task. */
export async function timelineRows(query: Query, run: string, limit: number): Promise<TimelineRows> {
  const newest = await query
    .selectFrom("attempts")
    .innerJoin("run_tasks", "run_tasks.task_id", "attempts.task_id")
    .select([
      "attempts.task_id",
      "attempts.epoch",
      "attempts.attempt",
      "attempts.phase",
      "attempts.worker",
      "attempts.verifier",
      "attempts.started_at",
      "attempts.worker_ended_at",
      "attempts.qc_started_at",
      "attempts.ended_at",
      "run_tasks.number",
    ])
    .where("attempts.run_id", "=", run)
    .orderBy("attempts.started_at", "desc")
    .orderBy("attempts.task_id", "desc")
    .limit(limit)
    .execute();
  const [agents, gates, completed] = await Promise.all([
    query
      .selectFrom("contexts")
      .select(["task_id", "epoch", "attempt", "part", "agent", "started_at", "ended_at"])
      .where("run_id", "=", run)
      .orderBy("started_at")
      .execute(),
    query.selectFrom("gates").select(["task_id", "epoch", "held_at", "decided_at"]).where("run_id", "=", run).execute(),
    query
      .selectFrom("tasks")
      .select(["id", "updated_at"])
      .where("run", "=", run)
      .where("state", "=", "completed")
      .execute(),
  ]);
  return {
    attempts: newest.reverse(),
    agents,
    gates,
    completed: new Map(completed.map(({ id, updated_at }) => [id, updated_at])),
  };
}

/** What each agent of a run used, in the order in which they ended; agents that still work come last. */
export const usageOverTime = (
  query: Query,
  run: string,
): Promise<
  Pick<
    ContextRow,
    "part" | "model" | "runner" | "started_at" | "ended_at" | "input_tokens" | "output_tokens" | "cost_usd"
  >[]
> =>
  query
    .selectFrom("contexts")
    .select(["part", "model", "runner", "started_at", "ended_at", "input_tokens", "output_tokens", "cost_usd"])
    .where("run_id", "=", run)
    .orderBy("started_at")
    .execute();
