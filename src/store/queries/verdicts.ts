import type { CheckResultRow, Evidence, VerdictRow } from "../crew-tables.ts";
import type { Query } from "../database.ts";
import { type Parsed, parseColumns, stringifyColumns } from "../json-columns.ts";
import { byTaskOrRun, type OfTask } from "./attempts.ts";

type Json = {
  issues: string[];
  required_fixes: string[];
  evidence: Evidence[];
  caused_by: string[];
  objections: string[];
};
const empty: Json = { issues: [], required_fixes: [], evidence: [], caused_by: [], objections: [] };

export type Verdict = Parsed<VerdictRow, Json>;
const fromRow = (row: VerdictRow): Verdict => parseColumns(row, empty);

/** Oldest first. */
export async function verdictsOf(query: Query, of: OfTask): Promise<Verdict[]> {
  const [column, value] = byTaskOrRun(of);
  const rows = await query
    .selectFrom("verdicts")
    .selectAll()
    .where(column, "=", value)
    .orderBy("at")
    .orderBy("id")
    .execute();
  return rows.map(fromRow);
}

export const insertVerdict = (tx: Query, verdict: Verdict) =>
  tx
    .insertInto("verdicts")
    .values(stringifyColumns<VerdictRow, Json>(verdict, empty) as VerdictRow)
    .execute();

export const markVoid = (tx: Query, id: string, reason: string, at: string) =>
  tx.updateTable("verdicts").set({ voided_at: at, void_reason: reason }).where("id", "=", id).execute();

export const verdictIds = async (query: Query): Promise<string[]> =>
  (await query.selectFrom("verdicts").select("id").execute()).map(({ id }) => id);

/** A verdict with the title of its task. */
export async function titledVerdict(query: Query, id: string): Promise<(Verdict & { title: string }) | undefined> {
  const row = await query
    .selectFrom("verdicts")
    .innerJoin("tasks", "tasks.id", "verdicts.task_id")
    .selectAll("verdicts")
    .select("tasks.title")
    .where("verdicts.id", "=", id)
    .executeTakeFirst();
  return row && { ...fromRow(row), title: row.title };
}

/** Results of the checks of one attempt, by criterion. */
export const checksOf = (query: Query, task: string, epoch: number): Promise<CheckResultRow[]> =>
  query
    .selectFrom("check_results")
    .selectAll()
    .where("task_id", "=", task)
    .where("epoch", "=", epoch)
    .orderBy("criterion")
    .execute();

/** Of every attempt. */
export const checksOfTask = (query: Query, task: string): Promise<CheckResultRow[]> =>
  query
    .selectFrom("check_results")
    .selectAll()
    .where("task_id", "=", task)
    .orderBy("epoch")
    .orderBy("criterion")
    .execute();

/** A check that runs again on the same content replaces its earlier result. */
export const saveChecks = (tx: Query, rows: CheckResultRow[]) =>
  tx
    .insertInto("check_results")
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(["task_id", "epoch", "criterion", "deliverable_hash"]).doUpdateSet((x) => ({
        passed: x.ref("excluded.passed"),
        detail: x.ref("excluded.detail"),
        duration_ms: x.ref("excluded.duration_ms"),
        at: x.ref("excluded.at"),
      })),
    )
    .execute();
