import { sql } from "kysely";
import { type Result, refuse } from "../kernel/result.ts";
import { clockByNow } from "./clock.ts";
import type { Database, Query } from "./database.ts";
import { appendEvent, type NewEvent } from "./events.ts";

type Engine = Database["engine"];

/** Who writes, and under which claim, if any. */
export type Claimant = { name: string; task?: string | undefined; epoch?: number | undefined };

/** What a task says of its claim. */
type Held = { id: string; epoch: number; state: string; holder: string | null; leaseUntil: number | null };

/** Why a claim of this epoch no longer stands, by the store's clock; nothing while it does. */
export function lateness(task: Held, clock: number, epoch: number): string | undefined {
  if (epoch === task.epoch && task.holder !== null && (task.leaseUntil ?? 0) >= clock) return undefined;
  const why = epoch < task.epoch ? `epoch ${epoch} is over, the task is at ${task.epoch}` : "its lease has run out";
  return `task ${task.id}: ${why}; nothing was written`;
}

/**
 * The fence for whatever is written under a claim beside the task itself: entries, nodes, edges. It
 * stands in the transaction of the write, and on PostgreSQL keeps the task's row until that ends: no
 * newer epoch can begin between the look and the write. Gives the attempt that the write belongs to;
 * a task that this store does not know has no claim that could be over.
 */
export async function holdClaim(tx: Query, engine: Engine, { task, epoch }: Claimant): Promise<number | null> {
  if (task === undefined || epoch === undefined) return null;
  const lock = engine === "postgres" ? sql`FOR SHARE` : sql``;
  const { rows } = await sql<Held & { attempt: number; now: number }>`
    SELECT id, epoch, state, holder, lease_until AS "leaseUntil", attempt, ${clockByNow[engine]} AS now
    FROM tasks WHERE id = ${task} ${lock}`.execute(tx);
  const [held] = rows;
  if (!held) return null;
  const late = lateness(held, Number(held.now), epoch);
  if (late) throw new Late(late, task, epoch, held);
  return held.attempt;
}

/** Thrown to take back all that the transaction has done so far. */
class Late extends Error {
  constructor(
    message: string,
    readonly task: string,
    readonly given: number,
    readonly held: Held,
  ) {
    super(message);
  }
}

type Deps = { db: Database; now(): Date };

/** Makes a refusal of a write that came too late, and puts it on record. */
export async function refusingLate<T>(
  deps: Deps,
  by: Claimant,
  what: string,
  write: () => Promise<Result<T>>,
): Promise<Result<T>> {
  try {
    return await write();
  } catch (error) {
    if (!(error instanceof Late)) throw error;
    const { task, given, held } = error;
    await recordLate(deps, { actor: by.name, task, step: what, epoch: given });
    return refuse("conflict", error.message, { late: true, epoch: held.epoch, state: held.state });
  }
}

/** A worker that woke up too late is worth knowing about. */
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
