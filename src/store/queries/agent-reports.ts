import { clockText } from "../clock.ts";
import type { AgentReportRow, ReportSections } from "../crew-tables.ts";
import type { Database, Query } from "../database.ts";
import { type Parsed, parseColumns, stringifyColumns } from "../json-columns.ts";
import { byTaskOrRun, type OfTask } from "./attempts.ts";

type Json = { content: ReportSections | null };
const empty: Json = { content: null };

export type AgentReport = Parsed<AgentReportRow, Json>;
export type ReportKey = Pick<AgentReportRow, "run_id" | "kind" | "about">;
/** A report whose `started_at` is that of the store's clock when it is inserted. */
export type NewReport = Pick<AgentReport, "run_id" | "kind" | "about" | "task_id" | "part" | "process">;
type Engine = Database["engine"];

/** In the order in which they were begun. */
export async function agentReportsOf(query: Query, of: OfTask): Promise<AgentReport[]> {
  const [column, value] = byTaskOrRun(of);
  const rows = await query
    .selectFrom("agent_reports")
    .selectAll()
    .where(column, "=", value)
    .orderBy("started_at")
    .orderBy("kind", "desc")
    .execute();
  return rows.map((row) => parseColumns(row, empty));
}

export async function findAgentReport(query: Query, key: ReportKey): Promise<AgentReport | undefined> {
  const row = await query
    .selectFrom("agent_reports")
    .selectAll()
    .where("run_id", "=", key.run_id)
    .where("kind", "=", key.kind)
    .where("about", "=", key.about)
    .executeTakeFirst();
  return row && parseColumns(row, empty);
}

/** True for the one process that begins this report. */
export async function insertAgentReport(tx: Query, engine: Engine, report: NewReport): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto("agent_reports")
    .values({
      ...report,
      ...{ agent: null, model: null, content: null, missing: null, started_at: clockText[engine], ended_at: null },
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return Number(numInsertedOrUpdatedRows) === 1;
}

/** Takes an unfinished report over from the process that began it; false when another was faster. */
export async function takeOverReport(
  tx: Query,
  engine: Engine,
  from: ReportKey & Pick<AgentReport, "process" | "started_at">,
  process: string,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable("agent_reports")
    .set({ process, started_at: clockText[engine] })
    .where("run_id", "=", from.run_id)
    .where("kind", "=", from.kind)
    .where("about", "=", from.about)
    .where("process", "=", from.process)
    .where("started_at", "=", from.started_at)
    .where("ended_at", "is", null)
    .executeTakeFirst();
  return Number(numUpdatedRows) === 1;
}

type Ending = Pick<AgentReport, "agent" | "model" | "content" | "missing" | "ended_at">;

/** Ends a report; false when it has ended already, so that the first text stays. */
export async function endAgentReport(tx: Query, key: ReportKey, ending: Ending): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable("agent_reports")
    .set(stringifyColumns<AgentReportRow, Json>(ending, empty))
    .where("run_id", "=", key.run_id)
    .where("kind", "=", key.kind)
    .where("about", "=", key.about)
    .where("ended_at", "is", null)
    .executeTakeFirst();
  return Number(numUpdatedRows) === 1;
}

/** Removes an unfinished report, so that any process can begin it again. */
export const deleteUnfinishedReport = (tx: Query, key: ReportKey) =>
  tx
    .deleteFrom("agent_reports")
    .where("run_id", "=", key.run_id)
    .where("kind", "=", key.kind)
    .where("about", "=", key.about)
    .where("ended_at", "is", null)
    .execute();
