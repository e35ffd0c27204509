import { sql } from "kysely";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { clockByNow } from "./clock.ts";
import type { Database, Query } from "./database.ts";
import { appendEvent, type NewEvent } from "./events.ts";

type Engine = Database["engine"];

/** The writer and its claim, if any. */
export type Claimant = { name: string; task?: string | undefined; epoch?: number | undefined };

/** The columns of a task that describe its claim. */
type Held = { id: string; epoch: number; state: string; holder: string | null; leaseUntil: number | null };

/** The reason why a claim of this epoch has expired, by the store's clock; undefined while it is valid. */
export function lateness(task: Held, clock: number, epoch: number): string | undefined {
  if (epoch === task.epoch && task.holder !== null && (task.leaseUntil ?? 0) >= clock) return undefined;
  const why =
    epoch < task.epoch
      ? `the claim with epoch ${epoch} has ended; the task is at epoch ${task.epoch}`
      : "its lease has expired";
  return `task ${task.id}: ${why}; nothing was saved`;
}

/**
 * Fences a write made under a claim but not on the task itself: entries, nodes, edges, spend. It runs
 * in the transaction of the write. On PostgreSQL it locks the task's row until that transaction ends, so
 * no newer epoch can begin in between. Returns the attempt that the write belongs to; a task unknown to
 * this store has no claim that could have expired.
 */
export async function holdClaim(
  tx: Query,
  engine: Engine,
  { task, epoch }: Claimant,
): Promise<Result<{ attempt: number | null }>> {
  if (task === undefined || epoch === undefined) return ok({ attempt: null });
  const lock = engine === "postgres" ? sql`FOR SHARE` : sql``;
  const { rows } = await sql<Held & { attempt: number; now: number }>`
    SELECT id, epoch, state, holder, lease_until AS "leaseUntil", attempt, ${clockByNow[engine]} AS now
    FROM tasks WHERE id = ${task} ${lock}`.execute(tx);
  const [held] = rows;
  if (!held) return ok({ attempt: null });
  const late = lateness(held, Number(held.now), epoch);
  if (late) return refuse("conflict", late, { late: true, epoch: held.epoch, state: held.state });
  return ok({ attempt: held.attempt });
}

type Deps = { db: Database; now(): Date };

/**
 * Runs a write and, when it is refused as late, records that. The record needs a transaction of its
 * own: the one of the write is rolled back.
 */
export async function recordingLate<T>(
  deps: Deps,
  { name, task, epoch }: Claimant,
  step: string,
  write: () => Promise<Result<T>>,
): Promise<Result<T>> {
  const done = await write();
  if (!done.ok && done.problem.details?.late && task !== undefined)
    await recordLate(deps, { actor: name, task, step, epoch });
  return done;
}

/** Records an attempt to write under an expired claim; `doctor` and metrics count these. */
export async function recordLate(
  { db, now }: Deps,
  { actor, task, step, epoch }: { actor: string; task: string; step: string; epoch: number | undefined },
): Promise<void> {
  const event: NewEvent = {
    at: now().toISOString(),
    actor,
    kind: "task-write-refused",
    subject: `task:${task}`,
    data: { step, epoch: epoch ?? null },
  };
  await db.write((tx) => appendEvent(tx, event));
}
