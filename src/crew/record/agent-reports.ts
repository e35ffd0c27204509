import { processName, processState } from "../../kernel/process-name.ts";
import { storeClock } from "../../store/clock.ts";
import type { ReportSections } from "../../store/crew-tables.ts";
import { appendEvent } from "../../store/events.ts";
import {
  type AgentReport,
  deleteUnfinishedReport,
  endAgentReport,
  findAgentReport,
  insertAgentReport,
  type NewReport,
  type ReportKey,
  takeOverReport,
} from "../../store/queries/agent-reports.ts";
import type { CrewApp } from "./crew-app.ts";

export type WantedReport = Omit<NewReport, "process">;

/** How long a process of another machine, whose state is unknown here, keeps a report that it began. */
const takenOverMs = 15 * 60_000;

/** True if this process is to have the report written: nobody has, and no living process is about to. */
export async function claimReport({ db }: Pick<CrewApp, "db">, wanted: WantedReport): Promise<boolean> {
  const { engine } = db;
  const process = processName();
  return db.write(async (tx) => {
    if (await insertAgentReport(tx, engine, { ...wanted, process })) return true;
    const there = await findAgentReport(tx, wanted);
    return there !== undefined && isAbandoned(there, await storeClock(tx, engine))
      ? takeOverReport(tx, engine, there, process)
      : false;
  });
}

/** `now` by the store's clock, as the start: it may have been begun on a machine with another time. */
function isAbandoned({ process, started_at, ended_at }: AgentReport, now: number): boolean {
  if (ended_at !== null) return false;
  const state = processState(process);
  return state === "gone" || (state === "unknown" && now - Date.parse(started_at) > takenOverMs);
}

type Ended =
  | { agent: string; model: string | null; content: ReportSections }
  /** There is no report, for this reason. */
  | { missing: string };

/** Stores the text of a report, or why there is none. The first counts. */
export async function endReport({ db, now }: CrewApp, key: ReportKey, ended: Ended): Promise<boolean> {
  const at = now().toISOString();
  const columns =
    "missing" in ended
      ? { agent: null, model: null, content: null, missing: ended.missing.slice(0, 1000) }
      : { ...ended, missing: null };
  return db.write(async (tx) => {
    if (!(await endAgentReport(tx, key, { ...columns, ended_at: at }))) return false;
    await appendEvent(tx, {
      at,
      actor: columns.agent ?? "crew",
      kind: "report-written",
      subject: `run:${key.run_id}`,
      data: { kind: key.kind, about: key.about, missing: columns.missing },
    });
    return true;
  });
}

/** Gives a report back that was interrupted; any process begins it again. */
export const freeReport = ({ db }: CrewApp, key: ReportKey) => db.write((tx) => deleteUnfinishedReport(tx, key));
