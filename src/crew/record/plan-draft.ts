import { ok, type Result, refuse } from "../../kernel/result.ts";
import { appendEvent } from "../../store/events.ts";
import { parseJsonOr } from "../../store/json.ts";
import { noSuch } from "../../store/no-such.ts";
import { deleteDraftTasks, draftOf, saveDraftTasks } from "../../store/queries/plan-drafts.ts";
import { lockRun } from "../../store/queries/runs.ts";
import { byNumber, type PlanTask } from "../rules/plan.ts";
import type { CrewApp } from "./crew-app.ts";
import { refuseElsewhere } from "./elsewhere.ts";

/** The tasks that a planner has submitted so far, in the order of the plan. */
export async function readDraft({ db }: Pick<CrewApp, "db">, run: string): Promise<PlanTask[]> {
  const rows = await draftOf(db.read, run);
  return rows.flatMap(({ task }) => parseJsonOr<PlanTask[]>(`[${task}]`, [])).sort(byNumber);
}

/** Stores tasks that are valid by themselves, and removes others. */
export function changeDraft(
  app: CrewApp,
  run: string,
  { tasks, removed }: { tasks: PlanTask[]; removed: string[] },
  actor: string,
): Promise<Result<true>> {
  return app.db.write(async (tx): Promise<Result<true>> => {
    const row = await lockRun(tx, app.db.engine, run);
    if (!row) return noSuch(tx, "run", run);
    if (row.state !== "planning")
      return refuse("conflict", `run ${run} is ${row.state}; tasks can only be submitted while it is planned`);
    const elsewhere = refuseElsewhere(run, row.carried_by);
    if (elsewhere) return elsewhere;
    const at = app.now().toISOString();
    await saveDraftTasks(
      tx,
      tasks.map((task) => ({ run_id: run, number: task.number, task: JSON.stringify(task), at })),
    );
    if (removed.length > 0) await deleteDraftTasks(tx, run, removed);
    const data = { tasks: tasks.map(({ number, title }) => ({ number, title })), removed };
    await appendEvent(tx, { at, actor, kind: "run-plan-drafted", subject: `run:${run}`, data });
    return ok(true);
  });
}
