import { sql } from "kysely";
import { clockByNow } from "../clock.ts";
import type { SpendRow } from "../crew-tables.ts";
import type { Database, Query } from "../database.ts";

export type Sums = { tokens: number; usd: number };

/** Spent and reserved amounts together; a settled call counts with its actual cost if that is known. */
export async function spentOn(query: Query, where: { run: string; task?: string; epoch?: number }): Promise<Sums> {
  const row = await query
    .selectFrom("spends")
    .select([
      sql<number>`coalesce(sum(coalesce(tokens, reserved_tokens)), 0)`.as("tokens"),
      sql<number>`coalesce(sum(coalesce(usd, reserved_usd)), 0)`.as("usd"),
    ])
    .where("run_id", "=", where.run)
    .where("state", "in", ["reserved", "settled"])
    .$if(where.task !== undefined, (q) => q.where("task_id", "=", where.task ?? ""))
    .$if(where.epoch !== undefined, (q) => q.where("epoch", "=", where.epoch ?? 0))
    .executeTakeFirstOrThrow();
  return { tokens: Number(row.tokens), usd: Number(row.usd) };
}

type Waiting = { task: string | null; epoch: number | null };

/**
 * Reserved amounts that others are going to settle: those of this process (`own`), and those under a claim that is
 * still valid. The reservations of a killed process are never settled.
 */
export async function pendingOn(
  query: Query,
  engine: Database["engine"],
  where: { run: string; task?: string; epoch?: number },
  own: readonly string[],
  { task, epoch }: Waiting,
): Promise<Sums> {
  const row = await query
    .selectFrom("spends")
    .leftJoin("tasks", (on) =>
      on
        .onRef("tasks.id", "=", "spends.task_id")
        .onRef("tasks.epoch", "=", "spends.epoch")
        .on("tasks.holder", "is not", null)
        .on("tasks.lease_until", ">=", clockByNow[engine]),
    )
    .select([
      sql<number>`coalesce(sum(spends.reserved_tokens), 0)`.as("tokens"),
      sql<number>`coalesce(sum(spends.reserved_usd), 0)`.as("usd"),
    ])
    .where("spends.run_id", "=", where.run)
    .where("spends.state", "=", "reserved")
    .where((x) => x.or([x("tasks.id", "is not", null), ...(own.length > 0 ? [x("spends.id", "in", own)] : [])]))
    .$if(where.task !== undefined, (q) => q.where("spends.task_id", "=", where.task ?? ""))
    .$if(where.epoch !== undefined, (q) => q.where("spends.epoch", "=", where.epoch ?? 0))
    .$if(task !== null && epoch !== null, (q) =>
      q.where((x) =>
        x.or([x("spends.task_id", "is", null), x("spends.task_id", "!=", task), x("spends.epoch", "!=", epoch)]),
      ),
    )
    .executeTakeFirstOrThrow();
  return { tokens: Number(row.tokens), usd: Number(row.usd) };
}

/** The highest reported cost of an agent of this part and model in a run; undefined if none was reported. */
export async function highestCost(
  query: Query,
  { run, part, model }: { run: string; part: string; model: string | null },
): Promise<number | undefined> {
  const row = await query
    .selectFrom("spends")
    .select((x) => x.fn.max("usd").as("usd"))
    .where("run_id", "=", run)
    .where("part", "=", part)
    .where("model", model === null ? "is" : "=", model)
    .where("state", "=", "settled")
    .executeTakeFirst();
  return row?.usd === null || row?.usd === undefined ? undefined : Number(row.usd);
}

export const insertSpend = (tx: Query, row: SpendRow) => tx.insertInto("spends").values(row).execute();

export const settleSpend = (tx: Query, id: string, change: Pick<SpendRow, "state" | "tokens" | "usd" | "settled_at">) =>
  tx.updateTable("spends").set(change).where("id", "=", id).where("state", "=", "reserved").execute();
