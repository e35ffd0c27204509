import { sql } from "kysely";
import type { SpendRow } from "../crew-tables.ts";
import type { Query } from "../database.ts";

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

export const insertSpend = (tx: Query, row: SpendRow) => tx.insertInto("spends").values(row).execute();

export const settleSpend = (tx: Query, id: string, change: Pick<SpendRow, "state" | "tokens" | "usd" | "settled_at">) =>
  tx.updateTable("spends").set(change).where("id", "=", id).where("state", "=", "reserved").execute();
