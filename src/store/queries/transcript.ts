import type { CrewPart } from "../../kernel/caller.ts";
import { advisoryLock } from "../advisory-lock.ts";
import type { TranscriptRow } from "../crew-tables.ts";
import type { Database, Query } from "../database.ts";

/** Adds entries at the end of a run's transcript. */
export async function appendTranscript(
  tx: Query,
  engine: Database["engine"],
  run: string,
  entries: readonly Omit<TranscriptRow, "run_id" | "n">[],
): Promise<void> {
  if (entries.length === 0) return;
  await advisoryLock(tx, engine, `transcript ${run}`);
  const last = await tx
    .selectFrom("transcript")
    .select((x) => x.fn.max("n").as("n"))
    .where("run_id", "=", run)
    .executeTakeFirst();
  const first = Number(last?.n ?? 0) + 1;
  await tx
    .insertInto("transcript")
    .values(entries.map((entry, i) => ({ ...entry, run_id: run, n: first + i })))
    .execute();
}

export type TranscriptOf = {
  run: string;
  task: string | undefined;
  attempt: number | undefined;
  /** Epochs of claims: the first, and the first that no longer belongs to it. */
  epochs: { from: number; to: number | undefined } | undefined;
  part: CrewPart | undefined;
};

type Page = TranscriptOf & { after?: number | undefined; before?: number | undefined; limit: number };

/** One page in order: the first entries after `after`, or the last before `before` or of all. */
export async function transcriptPage(query: Query, { run, task, attempt, epochs, part, after, before, limit }: Page) {
  const forward = after !== undefined;
  const rows = await query
    .selectFrom("transcript")
    .innerJoin("contexts", "contexts.id", "transcript.context_id")
    .leftJoin("tool_calls", "tool_calls.id", "transcript.call_id")
    .leftJoin("run_tasks", "run_tasks.task_id", "contexts.task_id")
    .select(["transcript.n", "transcript.at", "transcript.kind", "transcript.data", "transcript.context_id"])
    .select(["contexts.task_id", "contexts.attempt", "contexts.part", "contexts.agent", "run_tasks.number"])
    .select(["tool_calls.name as tool", "tool_calls.ok", "tool_calls.input", "tool_calls.output"])
    .select("tool_calls.duration_ms")
    .where("transcript.run_id", "=", run)
    .$if(task !== undefined, (q) => q.where("contexts.task_id", "=", task ?? ""))
    .$if(attempt !== undefined, (q) => q.where("contexts.attempt", "=", attempt ?? 0))
    .$if(epochs !== undefined, (q) => q.where("contexts.epoch", ">=", epochs?.from ?? 0))
    .$if(epochs?.to !== undefined, (q) => q.where("contexts.epoch", "<", epochs?.to ?? 0))
    .$if(part !== undefined, (q) => q.where("contexts.part", "=", part ?? "worker"))
    .$if(forward, (q) => q.where("transcript.n", ">", after ?? 0))
    .$if(before !== undefined, (q) => q.where("transcript.n", "<", before ?? 0))
    .orderBy("transcript.n", forward ? "asc" : "desc")
    .limit(limit)
    .execute();
  return forward ? rows : rows.reverse();
}

export type TranscriptLine = Awaited<ReturnType<typeof transcriptPage>>[number];

/** True while an agent of this part of the run has not ended. */
export const hasRunningAgent = async (
  query: Query,
  { run, task, attempt, epochs, part }: TranscriptOf,
): Promise<boolean> =>
  (await query
    .selectFrom("contexts")
    .select("id")
    .where("run_id", "=", run)
    .where("ended_at", "is", null)
    .$if(task !== undefined, (q) => q.where("task_id", "=", task ?? ""))
    .$if(attempt !== undefined, (q) => q.where("attempt", "=", attempt ?? 0))
    .$if(epochs !== undefined, (q) => q.where("epoch", ">=", epochs?.from ?? 0))
    .$if(epochs?.to !== undefined, (q) => q.where("epoch", "<", epochs?.to ?? 0))
    .$if(part !== undefined, (q) => q.where("part", "=", part ?? "worker"))
    .limit(1)
    .executeTakeFirst()) !== undefined;
