import { type RawBuilder, sql } from "kysely";
import { type Result, refuse } from "../result.ts";
import type { Database, Query } from "./database.ts";
import { appendEvent } from "./events.ts";

type Engine = Database["engine"];

/** Who writes, and under which claim, if any. */
export type Claimant = { name: string; task?: string | undefined; epoch?: number | undefined };

/** Leases go by the clock of the store, never by a worker's. */
const clock: Record<Engine, RawBuilder<number>> = {
  sqlite: sql<number>`CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
  postgres: sql<number>`CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)`,
};

type Held = { epoch: number; state: string; attempt: number; standing: number };

/**
 * The one fence for whatever is written under a claim beside the task itself: entries, nodes, edges.
 * It stands in the transaction of the write, and on PostgreSQL keeps the task's row until that ends:
 * no newer epoch can begin between the look and the write. Gives the attempt that the write belongs
 * to; a task that this store does not know has no claim that could be over.
 */
export async function holdClaim(tx: Query, engine: Engine, { task, epoch }: Claimant): Promise<number | null> {
  if (task === undefined || epoch === undefined) return null;
  const lock = engine === "postgres" ? sql`FOR SHARE` : sql``;
  const { rows } = await sql<Held>`SELECT epoch, state, attempt,
    CASE WHEN epoch = ${epoch} AND holder IS NOT NULL AND lease_until >= ${clock[engine]} THEN 1 ELSE 0 END AS standing
    FROM tasks WHERE id = ${task} ${lock}`.execute(tx);
  const [held] = rows;
  if (!held) return null;
  if (held.standing === 1) return held.attempt;
  throw new Late(task, epoch, held);
}

/** Thrown to take back all that the transaction has done so far. */
class Late extends Error {
  constructor(
    readonly task: string,
    readonly given: number,
    readonly held: Held,
  ) {
    const why = given < held.epoch ? `epoch ${given} is over, the task is at ${held.epoch}` : "its lease has run out";
    super(`task ${task}: ${why}; nothing was written`);
  }
}

/** Makes a refusal of a write that came too late, and puts it on record: such a worker is worth knowing about. */
export async function refusingLate<T>(
  { db, now }: { db: Database; now(): Date },
  by: Claimant,
  what: string,
  write: () => Promise<Result<T>>,
): Promise<Result<T>> {
  try {
    return await write();
  } catch (error) {
    if (!(error instanceof Late)) throw error;
    const { task, given, held } = error;
    await db.write((tx) =>
      appendEvent(tx, {
        at: now().toISOString(),
        actor: by.name,
        kind: "task-write-refused",
        subject: `task:${task}`,
        data: { step: what, epoch: given },
      }),
    );
    return refuse("conflict", error.message, { late: true, epoch: held.epoch, state: held.state });
  }
}
