import { attemptsOf } from "../../store/queries/attempts.ts";
import { contextsOf } from "../../store/queries/contexts.ts";
import { runTask, tasksOfRun } from "../../store/queries/runs.ts";
import { checksOfTask, verdictsOf } from "../../store/queries/verdicts.ts";
import { wordsFor } from "../../tasks/state-words.ts";
import { fromRow, shownState } from "../../tasks/task.ts";
import { behindIn, failureOf, impactOf } from "../rules/failure.ts";
import type { FailureRecord } from "../rules/report-context.ts";
import type { CrewApp } from "./crew-app.ts";

/** The record of a task that failed; undefined if nobody has tried it. */
export async function failureRecord(
  app: CrewApp,
  id: string,
): Promise<{ run: string; epoch: number; record: FailureRecord } | undefined> {
  const query = app.db.read;
  const row = await runTask(query, id);
  const run = row && (await app.runs.find(row.run_id));
  const rows = run ? await tasksOfRun(query, run.id) : [];
  const detail = rows.find(({ task_id }) => task_id === id);
  const planned = run?.plan?.tasks.find(({ number }) => number === detail?.number);
  if (!run?.plan || !detail || !planned) return undefined;
  const of = { task: id };
  const history = {
    attempts: await attemptsOf(query, of),
    verdicts: await verdictsOf(query, of),
    checks: await checksOfTask(query, id),
    contexts: await contextsOf(query, of),
  };
  const last = history.attempts.findLast(({ phase }) => phase !== "abandoned");
  if (!last) return undefined;
  const failure = detail.failure ?? failureOf(history);
  return {
    run: run.id,
    epoch: last.epoch,
    record: {
      request: run.request,
      plan: run.plan,
      task: planned,
      failure,
      impact: impactOf({ run: run.id, id, number: planned.number }, behindIn(run), failure),
      history,
      diffStat: last.commit_id === null ? "" : await diffStat(app, run.id, last.commit_id),
      qcReport: "",
      states: rows.map(({ number, task }) => ({
        number,
        title: task.title,
        state: wordsFor(shownState(fromRow(task))),
      })),
    },
  };
}

/** The files that a commit changes beyond the accepted work; empty where git cannot tell. */
async function diffStat({ git, packs }: CrewApp, run: string, commit: string): Promise<string> {
  const accepted = await packs.acceptedHere(run);
  const base = accepted && (await git.maybe(["merge-base", accepted, commit]));
  if (base === undefined) return "";
  const stat = await git.maybe(["diff", "--stat=100", "--no-ext-diff", "--no-textconv", base.trim(), commit]);
  return (stat ?? "").slice(0, 2000);
}
