import type { Query } from "../database.ts";
import { type Parsed, parseColumns, stringifyColumns } from "../json-columns.ts";
import type { RecheckRow } from "../tables.ts";

/** A quote that was found where the agent said. */
export type ResolvedEvidence = { ref: string; quote: string; line: number; says: string };

type Json = { evidence: ResolvedEvidence[] };
const empty: Json = { evidence: [] };

/** What an agent found when it checked a passage. */
export type Recheck = Parsed<RecheckRow, Json>;

export const insertRecheck = (tx: Query, recheck: Recheck) =>
  tx
    .insertInto("rechecks")
    .values(stringifyColumns<RecheckRow, Json>(recheck, empty) as RecheckRow)
    .execute();

export const hasRecheckOfJob = async (query: Query, job: string): Promise<boolean> =>
  (await query.selectFrom("rechecks").select("id").where("job_id", "=", job).executeTakeFirst()) !== undefined;

export async function findRecheck(query: Query, id: string): Promise<Recheck | undefined> {
  const row = await query.selectFrom("rechecks").selectAll().where("id", "=", id).executeTakeFirst();
  return row && parseColumns<RecheckRow, Json>(row, empty);
}

/** Newest first; of one page if `subject` is given. */
export async function listRechecks(query: Query, subject: string | undefined, limit: number): Promise<Recheck[]> {
  const rows = await query
    .selectFrom("rechecks")
    .selectAll()
    .$if(subject !== undefined, (q) => q.where("subject", "=", subject ?? ""))
    .orderBy("at", "desc")
    .orderBy("id", "desc")
    .limit(limit)
    .execute();
  return rows.map((row) => parseColumns<RecheckRow, Json>(row, empty));
}

/** False if somebody confirmed it before. */
export async function confirmRecheckRow(tx: Query, id: string, by: string, at: string): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable("rechecks")
    .set({ confirmed_by: by, confirmed_at: at })
    .where("id", "=", id)
    .where("confirmed_by", "is", null)
    .executeTakeFirst();
  return Number(numUpdatedRows) === 1;
}
