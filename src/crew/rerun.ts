import * as z from "zod";
import { nameOf } from "../kernel/caller.ts";
import { collaborators, operation } from "../kernel/operation.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Query } from "../store/database.ts";
import { crashPoint } from "../store/disk/crash.ts";
import { appendEvent } from "../store/events.ts";
import { noSuch } from "../store/no-such.ts";
import { attemptsOf } from "../store/queries/attempts.ts";
import { descendantsOf } from "../store/queries/descendants.ts";
import { findMeta, setMeta, unfinishedRerunKey } from "../store/queries/meta.ts";
import { lockRun, type StoredRunTask, saveStart, tasksOfRun } from "../store/queries/runs.ts";
import { overturn, reopen } from "../tasks/overturn.ts";
import { wordsFor } from "../tasks/state-words.ts";
import { fromRow, shownState } from "../tasks/task.ts";
import type { UnfinishedRerun } from "./attempt/finish-rerun.ts";
import { recordOverturn, rewriteReport } from "./overturn.ts";
import type { CrewApp } from "./record/crew-app.ts";
import { moving } from "./record/deps.ts";
import { attemptNamed, parseFrom } from "./rules/rerun.ts";

const repeatable = ["completed", "failed", "cancelled", "preparing_retry"];

export const rerunRun = operation({
  name: "rerun_run",
  summary: "Repeat a task of a run and all that depends on it, from the files of an attempt or from the accepted work.",
  effect: "destroys",
  touches: ["run", "task", "attempt"],
  callers: collaborators,
  group: "runs",
  http: { method: "post", path: "/runs/{id}/rerun" },
  decision: (_app: CrewApp, { confirm }) => confirm,
  input: z.object({
    id: z.string().max(64).describe("Id of the run, such as run-…"),
    from: z
      .string()
      .min(1)
      .max(100)
      .describe(
        "The task, such as 1.2, or one of its attempts, such as 1.2@1; without one it starts from accepted work",
      ),
    message: z.string().trim().min(1).max(2000).optional().describe("Why; the next worker reads it"),
    confirm: z.boolean().default(false).describe("Without it, only a preview"),
  }),
  output: z.object({
    id: z.string(),
    rerun: z.boolean(),
    task: z.string(),
    number: z.string(),
    attempt: z.int().nullable().describe("The attempt whose files it starts from; null is the accepted work"),
    repeated: z.array(z.object({ id: z.string(), number: z.string(), title: z.string() })),
    kept: z.array(z.string()).describe("Numbers of accepted tasks that are not repeated"),
  }),
  async run(app: CrewApp, { id, from, message, confirm }, caller) {
    const by = nameOf(caller);
    const { finishRerun, unfinishedRerun } = await import("./attempt/finish-rerun.ts");
    const interrupted = await unfinishedRerun<Shown>(app, id);
    if (interrupted?.asked === from && !confirm) return ok({ ...interrupted.shown, rerun: false });
    const before = await finishRerun(app, id);
    if (!before.ok) return before;
    if (interrupted?.asked === from) {
      await rewriteReport(app, id);
      return ok({ ...interrupted.shown, rerun: true });
    }
    const wanted = await planRerun(app, id, from);
    if (!wanted.ok) return wanted;
    const { rows, start, attempt, repeated, kept } = wanted.value;
    const { task, number } = start;
    const shown: Shown = {
      ...{ id, task: task.id, number, attempt: attempt?.attempt ?? null, kept: kept.map((row) => row.number) },
      repeated: repeated.map((row) => ({ id: row.task.id, number: row.number, title: row.task.title })),
    };
    if (!confirm) return ok({ ...shown, rerun: false });
    const reason = `${by} had it repeated from ${attempt ? `attempt ${attempt.attempt}` : "the accepted work"}${message ? `: ${message}` : ""}`;
    const done = await app.db.write(async (tx): Promise<Result<true>> => {
      const row = await lockRun(tx, app.db.engine, id);
      if (!row || row.state === "running")
        return refuse("conflict", `run ${id} was started meanwhile; nothing was changed`);
      const changed = changedSince(rows, await tasksOfRun(tx, id));
      if (changed)
        return refuse("conflict", `task ${changed} of run ${id} changed meanwhile; nothing was changed, try it again`);
      if ((await findMeta(tx, unfinishedRerunKey(id))) !== undefined)
        return refuse("conflict", `another rerun of run ${id} is in progress; nothing was changed, try it again`);
      const opened = await openAgain(app, tx, start, reason, by);
      if (!opened.ok) return opened;
      for (const { task: other } of repeated) {
        const start_epoch = other.id === task.id ? (attempt?.epoch ?? 0) : 0;
        await saveStart(tx, other.id, { start_epoch, start_since: other.epoch });
      }
      const data = { task: task.id, attempt: attempt?.attempt ?? null, epoch: attempt?.epoch ?? null, message };
      const at = app.now().toISOString();
      await appendEvent(tx, { at, actor: by, kind: "run-rerun", subject: `run:${id}`, data });
      const rest: UnfinishedRerun<Shown> = { asked: from, shown };
      await setMeta(tx, unfinishedRerunKey(id), JSON.stringify(rest));
      return ok(true);
    });
    if (!done.ok) return done;
    crashPoint("rerun-recorded");
    const finished = await finishRerun(app, id);
    if (!finished.ok) return finished;
    await rewriteReport(app, id);
    return ok({ ...shown, rerun: true });
  },
});

type Shown = {
  id: string;
  task: string;
  number: string;
  attempt: number | null;
  repeated: { id: string; number: string; title: string }[];
  kept: string[];
};

/** The task, the attempt and everything that a rerun repeats, or why it cannot. */
async function planRerun(app: CrewApp, id: string, text: string) {
  const from = parseFrom(text);
  if (!from.ok) return from;
  const run = await app.runs.find(id);
  if (!run) return noSuch(app.db.read, "run", id);
  if (!["stopped", "failed", "completed"].includes(run.state))
    return refuse("conflict", `run ${id} is ${run.state}; only a run that has stopped or ended can be repeated`);
  const rows = await tasksOfRun(app.db.read, id);
  const start = rows.find((row) => row.number === from.value.task || row.task_id === from.value.task);
  if (!start)
    return refuse(
      "not_found",
      `run ${id} has no task ${from.value.task}; it has ${rows.map((row) => row.number).join(", ")}`,
    );
  const attempts = await attemptsOf(app.db.read, { task: start.task_id });
  const attempt = attemptNamed(attempts, { ...from.value, task: start.number });
  if (!attempt.ok) return attempt;
  const state = shownState(fromRow(start.task));
  const wasTried = attempts.length > 0 || start.on_reject !== null;
  if (!repeatable.includes(start.task.state) || !wasTried)
    return refuse("conflict", `task ${start.number} is ${wordsFor(state)}; only a task that was tried can be repeated`);
  const behind = new Set([start.task_id, ...(await descendantsOf(app.db.read, start.task_id))]);
  const repeated = rows.filter((row) => behind.has(row.task_id));
  const busy = repeated.find(({ task }) => task.holder !== null);
  if (busy) return refuse("conflict", `${busy.task.holder} holds task ${busy.number}; wait for it, or release it`);
  const { openTrees } = await import("./attempt/crew.ts");
  const trees = await openTrees(app);
  const without = (await trees.hasAccepted(id)) ? await trees.acceptedWithout(id, behind) : ok(undefined);
  if (!without.ok) return without;
  const kept = rows.filter((row) => !behind.has(row.task_id) && row.task.state === "completed");
  return ok({ rows, start, attempt: attempt.value, repeated, kept });
}

/** The number of a task that moved since the rerun was planned, such as one that was accepted. */
const changedSince = (before: readonly StoredRunTask[], now: readonly StoredRunTask[]): string | undefined => {
  const known = new Map(before.map(({ task }) => [task.id, `${task.state} ${task.epoch}`]));
  return now.find(({ task }) => `${task.state} ${task.epoch}` !== known.get(task.id))?.number;
};

async function openAgain(
  app: CrewApp,
  tx: Query,
  { task }: StoredRunTask,
  reason: string,
  by: string,
): Promise<Result<unknown>> {
  const deps = moving(app);
  if (task.state === "preparing_retry") return ok(true);
  if (task.state === "completed") {
    const fallout = await overturn(tx, deps, task.id, reason, by);
    if (!fallout.ok) return fallout;
    await recordOverturn(app, tx, fallout.value, reason, by);
  }
  return reopen(tx, deps, task.id, by);
}
