import * as z from "zod";
import { operation } from "../../kernel/operation.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { crashPoint } from "../../store/disk/crash.ts";
import { findAgentReport } from "../../store/queries/agent-reports.ts";
import { tasksOfRun } from "../../store/queries/runs.ts";
import { fromRow, shownState } from "../../tasks/task.ts";
import { checkReady } from "../agent/ready.ts";
import { reportInstructions } from "../agent/report-prompts.ts";
import { runWithoutTask } from "../agent/run-without-task.ts";
import { claimReport, endReport, freeReport, type WantedReport } from "../record/agent-reports.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { failureRecord } from "../record/failure-record.ts";
import { reportOf } from "../report/report.ts";
import { aboutFailure, aboutOutcome, reportKinds, sectionsText } from "../rules/agent-report.ts";
import { boundsFor } from "../rules/breakers.ts";
import { finalReportContext, pmReportContext, qcReportContext } from "../rules/report-context.ts";
import type { Crew } from "./crew.ts";

/** Enough for one call of submit_report and corrections of its fields. */
const estimatedCalls = 4;
/** A run waits no longer than this for a report. */
const mostMinutes = 5;

/**
 * Has agents write the reports on a failed task: the verifier's part the technical one, the planner's part its
 * consequences (O9). Neither can fail or stop the run: without one, the report has the facts and says why.
 */
export async function writeFailureReports(crew: Crew, task: string, outer: AbortSignal): Promise<void> {
  const { app } = crew;
  if (app.config.crew.reports === "facts") return;
  const found = await failureRecord(app, task);
  if (!found) return;
  const { run, epoch, record } = found;
  const about = { run_id: run, about: aboutFailure(task, epoch), task_id: task };
  await writeReport(crew, { ...about, kind: "qc_failure", part: "qc" }, () => qcReportContext(record), outer);
  const qc = await findAgentReport(app.db.read, { ...about, kind: "qc_failure" });
  const qcReport = qc?.content ? sectionsText(qc.content) : "";
  const context = () => pmReportContext({ ...record, qcReport });
  await writeReport(crew, { ...about, kind: "pm_failure", part: "pm" }, context, outer);
}

/** Has agents write what is missing on a run whose tasks are all over: after a crash too, each report once. */
export async function writeRunReports(crew: Crew, run: string, outer: AbortSignal): Promise<void> {
  const { app } = crew;
  if (app.config.crew.reports === "facts") return;
  const rows = await tasksOfRun(app.db.read, run);
  for (const { task } of rows)
    if (shownState(fromRow(task)) === "failed") await writeFailureReports(crew, task.id, outer);
  const about = aboutOutcome(rows.map(({ task }) => task));
  const wanted: WantedReport = { run_id: run, about, task_id: null, kind: "final", part: "reporter" };
  const context = async () => {
    const facts = await reportOf(app, run, { factsOnly: true });
    return finalReportContext(facts.ok ? facts.value : facts.problem.message);
  };
  await writeReport(crew, wanted, context, outer);
}

async function writeReport(
  crew: Crew,
  wanted: WantedReport,
  context: () => string | Promise<string>,
  outer: AbortSignal,
): Promise<void> {
  const { app } = crew;
  if (outer.aborted || !(await claimReport(app, wanted))) return;
  crashPoint("crew-report-claimed");
  const { title } = reportKinds[wanted.kind];
  crew.tell({
    kind: "report-started",
    run: wanted.run_id,
    ...(wanted.task_id ? { task: wanted.task_id } : {}),
    title,
  });
  // Whatever goes wrong here must not reach the stage or the end of the run that waits for it.
  const failed = await askFor(crew, wanted, context, outer).catch((error: Error) => {
    app.log.error({ run: wanted.run_id, report: wanted.kind, error: error.message }, "report-failed");
    return `the report failed: ${error.message}`;
  });
  if (outer.aborted) await freeReport(app, wanted);
  else if (failed !== undefined) await endReport(app, wanted, { missing: failed });
  crashPoint("crew-reported");
}

/** The reason why there is no report; undefined if the agent submitted it. */
async function askFor(
  crew: Crew,
  wanted: WantedReport,
  context: () => string | Promise<string>,
  outer: AbortSignal,
): Promise<string | undefined> {
  const { part, kind, run_id: run } = wanted;
  const ready = checkReady(crew, [part]);
  if (!ready.ok) return ready.problem.message;
  const minutes = Math.min(crew.app.config.crew.attempt_minutes, mostMinutes);
  const late = AbortSignal.timeout(minutes * 60_000);
  const playing = crew.agents(part);
  const model = playing.ok ? (playing.value.model ?? null) : null;
  const ran = await runWithoutTask(
    crew,
    {
      part,
      run,
      system: reportInstructions[kind],
      prompt: await context(),
      operations: [submitReport(wanted, model)],
      delivers: "submit_report",
      bounds: boundsFor(reportKinds[kind].job, estimatedCalls),
    },
    AbortSignal.any([outer, late]),
  );
  if (ran.ok && ran.value.delivered) return undefined;
  if (late.aborted) return `the agent did not finish within ${minutes} minutes`;
  return ran.ok ? (ran.value.failure ?? ran.value.why) : ran.problem.message;
}

const submitReport = (wanted: WantedReport, model: string | null) =>
  operation({
    name: "submit_report",
    summary: "Submit the report that you wrote.",
    guidance: "Call it once with every section. Markdown is allowed inside a section; headings are added for you.",
    effect: "writes",
    touches: ["run"],
    callers: ["agent"],
    group: "crew",
    input: z.object({ content: reportKinds[wanted.kind].sections.describe("The sections of the report") }),
    output: z.object({ status: z.literal("submitted"), message: z.string() }),
    async run(app: CrewApp, { content }, caller): Promise<Result<{ status: "submitted"; message: string }>> {
      const crew = caller.kind === "agent" ? caller.crew : undefined;
      if (crew?.part !== wanted.part)
        return refuse("denied", `only the agent of the part ${wanted.part} can submit it`);
      await endReport(app, wanted, { agent: crew.agent, model, content });
      return ok({ status: "submitted", message: "recorded; you are done, stop here" });
    },
  });
