import { ok, type Result, refuse } from "../../kernel/result.ts";
import { noSuch } from "../../store/no-such.ts";
import { lockRun, tasksOfRun } from "../../store/queries/runs.ts";
import { reopen } from "../../tasks/overturn.ts";
import type { CrewApp } from "./crew-app.ts";
import { moving } from "./deps.ts";
import type { Retry } from "./run-host.ts";

/** Reopens failed tasks of a run in one transaction. A task that somebody reopened or took over meanwhile stays as it is. */
export async function retryTasks(app: CrewApp, run: string, wanted: Retry, by: string): Promise<Result<number>> {
  return app.db.write(async (tx): Promise<Result<number>> => {
    const row = await lockRun(tx, app.db.engine, run);
    if (!row) return noSuch(tx, "run", run);
    const tasks = await tasksOfRun(tx, run);
    const unknown = wanted === "all" ? undefined : wanted.find((one) => !tasks.some((row) => isNamed(row, one)));
    if (unknown !== undefined) return refuse("not_found", `run ${run} has no task ${unknown}`);
    const failed = tasks.filter(
      (row) => row.task.state === "failed" && (wanted === "all" || wanted.some((one) => isNamed(row, one))),
    );
    for (const { task_id: id } of failed) {
      const opened = await reopen(tx, moving(app), id, by);
      if (!opened.ok) return opened;
    }
    return ok(failed.length);
  });
}

const isNamed = ({ task_id, number }: { task_id: string; number: string }, name: string) =>
  task_id === name || number === name;
