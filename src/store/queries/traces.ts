import type { AttemptRow, ContextRow, RunRow, SpendRow, ToolCallRow } from "../crew-tables.ts";
import type { Query } from "../database.ts";

type TracedAttempt = Pick<
  AttemptRow,
  "task_id" | "epoch" | "run_id" | "attempt" | "phase" | "worker" | "verifier" | "started_at" | "ended_at"
>;

export type TracedAgent = {
  context: Omit<ContextRow, "parts" | "destinations" | "compactions">;
  /** The attempt that it worked on; a verifier has an epoch of its own. */
  attempt: { task_id: string; epoch: number } | undefined;
  calls: Pick<SpendRow, "id" | "model" | "tokens" | "usd" | "at" | "settled_at" | "state">[];
  /** Without their input and output. */
  tools: Pick<ToolCallRow, "id" | "name" | "ok" | "output_bytes" | "duration_ms" | "at">[];
};

/** An agent that has ended, with its model calls and tool calls. */
export async function tracedAgent(query: Query, id: string): Promise<TracedAgent | undefined> {
  const context = await query.selectFrom("contexts").selectAll().where("id", "=", id).executeTakeFirst();
  if (!context) return undefined;
  const { task_id, epoch } = context;
  const [attempt, calls, tools] = await Promise.all([
    task_id === null || epoch === null
      ? undefined
      : query
          .selectFrom("attempts")
          .select(["task_id", "epoch"])
          .where("task_id", "=", task_id)
          .where((row) => row.or([row("epoch", "=", epoch), row("qc_epoch", "=", epoch)]))
          .orderBy("epoch", "desc")
          .executeTakeFirst(),
    query
      .selectFrom("spends")
      .select(["id", "model", "tokens", "usd", "at", "settled_at", "state"])
      .where("context_id", "=", id)
      .orderBy("at")
      .execute(),
    query
      .selectFrom("tool_calls")
      .select(["id", "name", "ok", "output_bytes", "duration_ms", "at"])
      .where("context_id", "=", id)
      .orderBy("at")
      .execute(),
  ]);
  return { context, attempt, calls, tools };
}

/** The last attempt of a task that had ended at a time, with the task's number in its plan. */
export const endedAttempt = (
  query: Query,
  task: string,
  at: string,
): Promise<(TracedAttempt & { number: string }) | undefined> =>
  query
    .selectFrom("attempts")
    .innerJoin("run_tasks", "run_tasks.task_id", "attempts.task_id")
    .select([
      ...(["attempts.task_id", "attempts.epoch", "attempts.run_id", "attempts.attempt", "attempts.phase"] as const),
      ...(["attempts.worker", "attempts.verifier", "attempts.started_at", "attempts.ended_at"] as const),
      "run_tasks.number",
    ])
    .where("attempts.task_id", "=", task)
    .where("attempts.ended_at", "<=", at)
    .orderBy("attempts.epoch", "desc")
    .executeTakeFirst();

export const tracedRun = (
  query: Query,
  id: string,
): Promise<Pick<RunRow, "id" | "state" | "created_at" | "started_at" | "ended_at"> | undefined> =>
  query
    .selectFrom("runs")
    .select(["id", "state", "created_at", "started_at", "ended_at"])
    .where("id", "=", id)
    .executeTakeFirst();
