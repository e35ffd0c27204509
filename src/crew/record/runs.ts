import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { RunRow } from "../../store/crew-tables.ts";
import type { Query } from "../../store/database.ts";
import { appendEvent } from "../../store/events.ts";
import { noSuch } from "../../store/no-such.ts";
import { heldIn, openTasks } from "../../store/queries/crew-queue.ts";
import { deleteDraft } from "../../store/queries/plan-drafts.ts";
import {
  deleteUnstartedTasks,
  findRun,
  insertRun,
  insertRunTasks,
  listRuns,
  lockRun,
  type RunTask,
  saveRun,
  saveRunTask,
  tasksOfRun,
} from "../../store/queries/runs.ts";
import { lockShape, lockTasks } from "../../store/queries/tasks.ts";
import { createTasks } from "../../tasks/create.ts";
import { move } from "../../tasks/moves.ts";
import { replanTasks } from "../../tasks/replan.ts";
import { fromRow, isLost, type Task } from "../../tasks/task.ts";
import type { Step } from "../../tasks/transition.ts";
import { baseOf, type Chain, chainName, planFile, readChain } from "../rules/chain-file.ts";
import { dependenciesOf, type Plan, type PlanTask, planHash } from "../rules/plan.ts";
import { planChange, planDiff } from "../rules/plan-change.ts";
import { pauseReason, type Run, type RunStep, runFrom, runTransition } from "../rules/run.ts";
import { type CrewDeps, moving } from "./deps.ts";
import { refuseElsewhere } from "./elsewhere.ts";
import { putFile } from "./put-file.ts";

export type PlannedTask = { id: string; number: string; title: string };
/**
 * `diff` is the change of a plan that had been started; empty otherwise. `ended` are changed tasks that stay failed or
 * cancelled until they are retried.
 */
export type AdoptedPlan = { run: Run; tasks: PlannedTask[]; diff: string; ended: PlannedTask[] };

/** The runs of a workspace, their tasks, and the file in which people edit a plan. */
export function runStore(deps: CrewDeps) {
  const { db, root, now, newId } = deps;
  const stamp = () => now().toISOString();
  const folder = (run: string) => join(root, "runs", run);
  const chainPath = (run: string) => join(folder(run), chainName);

  /** `also` names the process that plans it, and its lease. */
  async function create(request: string, by: string, also: Also = {}): Promise<Run> {
    const at = stamp();
    const row: RunRow = {
      id: newId("run"),
      state: "planning",
      request,
      brief: null,
      title: titleFrom(request),
      plan: null,
      plan_hash: null,
      budget_tokens: null,
      budget_usd: null,
      reason: null,
      stopped_by: null,
      created_at: at,
      created_by: by,
      planned_at: null,
      started_at: null,
      ended_at: null,
      version: 1,
      carried_by: null,
      carrier_until: null,
      ...also,
    };
    await db.write(async (tx) => {
      await insertRun(tx, row);
      await appendEvent(tx, { at, actor: by, kind: "run-created", subject: `run:${row.id}`, data: { request } });
    });
    return runFrom(row);
  }

  /** Moves a run and sets the columns of `also` with it. */
  const step = (id: string, wanted: RunStep, by: string, also: Also = {}) =>
    db.write((tx) => stepWithin(tx, id, wanted, by, also));

  /** `step` in an open transaction. */
  async function stepWithin(tx: Query, id: string, wanted: RunStep, by: string, also: Also): Promise<Result<Run>> {
    // Locked: a concurrent step, such as what a run waits for, must not make this one fail.
    const row = await lockRun(tx, db.engine, id);
    if (!row) return noSuch(tx, "run", id);
    const at = stamp();
    const change = runTransition(row, wanted, at);
    if (!change.ok) return change;
    const set = { ...change.value, ...also };
    if (!(await saveRun(tx, row, set))) return busy(id);
    const { type, ...said } = wanted;
    await appendEvent(tx, { at, actor: by, kind: `run-${type}`, subject: `run:${id}`, data: { ...said, ...set } });
    return ok(runFrom({ ...row, ...set }));
  }

  /** Cancels a run with all its open tasks; later writes of their workers are refused as late. */
  const cancel = (id: string, reason: string, by: string) =>
    db.write(async (tx): Promise<Result<{ run: Run; tasks: number }>> => {
      const run = await stepWithin(tx, id, { type: "cancel", reason }, by, {});
      if (!run.ok) return run;
      const open = await openTasks(tx, id);
      const decide = () => ok({ type: "cancel" as const, reason });
      const given = await move(
        tx,
        moving(deps),
        open.map((task) => ({ id: task, actor: by, decide })),
      );
      return ok({ run: run.value, tasks: given.filter((one) => one.ok).length });
    });

  /**
   * Pauses a run in every process: agents end their stage, and nothing new starts. `now` also ends the claims, so that
   * agents stop and their tasks go back as they were; a released attempt does not count.
   */
  const pause = (id: string, { reason, now }: { reason: string | undefined; now: boolean }, by: string) =>
    db.write(async (tx): Promise<Result<{ run: Run; released: string[]; inProgress: number }>> => {
      const words = pauseReason(by, reason);
      const run = await stepWithin(tx, id, { type: "pause", reason: words }, by, {});
      if (!run.ok) return run;
      const held = await heldIn(tx, id);
      if (!now) return ok({ run: run.value, released: [], inProgress: held.length });
      const decide = ({ holder }: Task): Result<Step> =>
        holder === null
          ? refuse("conflict", "the task is not claimed")
          : ok({ type: "release", reason: words, forced: true, from: holder });
      const moved = await move(
        tx,
        moving(deps),
        held.map((task) => ({ id: task.id, actor: by, decide })),
      );
      const released = moved.flatMap((one) => (one.ok ? one.value.id : []));
      return ok({ run: run.value, released, inProgress: 0 });
    });

  async function setBrief(id: string, brief: string, by: string): Promise<Result<Run>> {
    return db.write(async (tx): Promise<Result<Run>> => {
      const row = await findRun(tx, id);
      if (!row) return noSuch(tx, "run", id);
      if (row.state !== "planning")
        return refuse("conflict", `run ${id} is ${row.state}; a brief can only be written before the plan`);
      const elsewhere = refuseElsewhere(id, row.carried_by);
      if (elsewhere) return elsewhere;
      if (!(await saveRun(tx, row, { brief }))) return busy(id);
      await appendEvent(tx, { at: stamp(), actor: by, kind: "run-briefed", subject: `run:${id}`, data: { brief } });
      return ok(runFrom({ ...row, brief }));
    });
  }

  /**
   * Stores a plan. Before the run starts it replaces the tasks of the earlier plan; afterwards it changes, adds and
   * removes tasks, and what is done or in progress stays. `base` is the hash of the plan that the new one was edited
   * from: a conflict if it is not the current one. `also` runs in the same transaction; its refusal undoes everything.
   */
  async function adopt(
    id: string,
    plan: Plan,
    by: string,
    base?: string,
    also: (tx: Query, adopted: AdoptedPlan) => Promise<Result<unknown>> = async () => ok(true),
  ): Promise<Result<AdoptedPlan>> {
    const before = await findRun(db.read, id);
    if (!before) return noSuch(db.read, "run", id);
    const adopted = await db.write(async (tx): Promise<Result<AdoptedPlan>> => {
      // The lock keeps a concurrent adopt from inserting its tasks between our delete and our insert.
      const row = await lockRun(tx, db.engine, id);
      if (!row) return noSuch(tx, "run", id);
      if (row.version !== before.version || (base !== undefined && row.plan_hash !== base)) return busy(id);
      const hasStarted = ["running", "stopped", "failed"].includes(row.state) && row.plan !== null;
      const saved = await (hasStarted ? changePlan(tx, row, plan, by) : replacePlan(tx, row, plan, by));
      const more = saved.ok ? await also(tx, saved.value) : saved;
      return more.ok ? saved : more;
    });
    if (adopted.ok) await writeChainFile(adopted.value.run);
    return adopted;
  }

  async function replacePlan(tx: Query, row: RunRow, plan: Plan, by: string): Promise<Result<AdoptedPlan>> {
    const at = stamp();
    const change = runTransition(row, { type: "plan" }, at);
    if (!change.ok) return change;
    await deleteDraft(tx, row.id);
    await deleteUnstartedTasks(tx, row.id);
    const tasks = await addTasks(tx, deps, row.id, plan.tasks, by);
    const set = { ...change.value, ...planColumns(plan) };
    if (!(await saveRun(tx, row, set))) return busy(row.id);
    const data = { plan, plan_hash: set.plan_hash, tasks };
    await appendEvent(tx, { at, actor: by, kind: "run-planned", subject: `run:${row.id}`, data });
    return ok({ run: runFrom({ ...row, ...set }), tasks, diff: "", ended: [] });
  }

  async function changePlan(tx: Query, row: RunRow, plan: Plan, by: string): Promise<Result<AdoptedPlan>> {
    const { id, request } = row;
    const before = runFrom(row).plan;
    if (!before) return refuse("conflict", `run ${id} has no plan that can be read`);
    await lockShape(tx, db.engine);
    const standing = await tasksOfRun(tx, id);
    const states = await lockTasks(
      tx,
      db.engine,
      standing.map(({ task_id }) => task_id),
    );
    const numbers = new Map(standing.map(({ task_id, number }) => [task_id, number]));
    const change = planChange(
      before,
      plan,
      states.map((task) => ({
        id: task.id,
        number: numbers.get(task.id) ?? "",
        state: fromRow(task).state,
        epoch: task.epoch,
      })),
    );
    if (!change.ok) return change;
    const { changed, added, removed } = change.value;
    const ids = new Map(standing.map(({ task_id, number }) => [number, task_id]));
    for (const { id: task, number } of await addTasks(tx, deps, id, added, by, ids)) ids.set(number, task);
    const idOf = (number: string) => ids.get(number) ?? "";
    const replanned = changed.map((task) => ({
      id: idOf(task.number),
      title: task.title,
      description: task.requirements,
      maxRetries: task.max_retries,
      dependsOn: dependenciesOf(task).map(idOf),
    }));
    await replanTasks(tx, moving(deps), { run: id, changed: replanned, removed: removed.map(idOf) }, by);
    for (const task of changed) await saveRunTask(tx, detail(id, idOf(task.number), task));
    const set = planColumns(plan);
    if (!(await saveRun(tx, row, set))) return busy(id);
    const diff = planDiff({ run: id, request }, before, plan);
    const told = { changed: changed.map(numberOf), added: added.map(numberOf), removed };
    const data = { ...told, diff, plan, plan_hash: set.plan_hash };
    await appendEvent(tx, { at: stamp(), actor: by, kind: "run-plan-changed", subject: `run:${id}`, data });
    const tasks = plan.tasks.map(({ number, title }) => ({ id: idOf(number), number, title }));
    const lost = new Set(states.filter((task) => isLost(fromRow(task).state)).map((task) => task.id));
    const isChanged = ({ number }: PlannedTask) => told.changed.includes(number);
    const ended = tasks.filter((task) => lost.has(task.id) && isChanged(task));
    return ok({ run: runFrom({ ...row, ...set }), tasks, diff, ended });
  }

  async function writeChainFile(run: Run): Promise<void> {
    if (run.plan) await putFile(root, chainPath(run.id), planFile(run, run.plan));
  }

  /** The plan in a person's edited file; undefined if there is nothing to adopt. Refused if the file has errors or is stale. */
  async function editedPlan(run: Run): Promise<Result<Plan | undefined>> {
    const { id, request } = run;
    if (!run.plan || ["completed", "cancelled"].includes(run.state)) return ok(undefined);
    const text = await readFile(chainPath(id), "utf8").catch(() => undefined);
    if (text === undefined) {
      await writeChainFile(run);
      return ok(undefined);
    }
    const chain = readChain(text);
    if (!chain.ok) return chain;
    if (chain.value.run !== id)
      return refuse("invalid", `${chainName}: the file is the plan of run ${chain.value.run}, not of ${id}`);
    if (chain.value.request !== request.replaceAll("\r\n", "\n"))
      return refuse(
        "invalid",
        `${chainName}: the request of a run cannot be changed; restore it, or plan the new one with: scriptorium plan`,
      );
    if (planHash(chain.value.plan) === run.planHash) return ok(undefined);
    if (isUnedited(chain.value)) {
      // The process that saved the newer plan was killed before it wrote the file.
      await writeChainFile(run);
      return ok(undefined);
    }
    const current = checkBase(run, chain.value);
    return current.ok ? ok(chain.value.plan) : current;
  }

  /** Adopts a person's edits of the plan file, if there are any; called before a run starts or goes on. */
  async function readBack(id: string, by: string): Promise<Result<ReadBack>> {
    const run = await find(id);
    if (!run) return noSuch(db.read, "run", id);
    const edited = await editedPlan(run);
    if (!edited.ok) return edited;
    if (edited.value === undefined) return ok({ run, diff: "", ended: [] });
    return adopt(id, edited.value, by, run.planHash ?? undefined);
  }

  async function find(id: string): Promise<Run | undefined> {
    const row = await findRun(db.read, id);
    return row && runFrom(row);
  }

  return {
    create,
    step,
    stepWithin,
    cancel,
    pause,
    setBrief,
    adopt,
    editedPlan,
    readBack,
    find,
    chainPath,
    reportPath: (run: string) => join(folder(run), "execution-report.md"),
    putReport: (run: string, text: string) => putFile(root, join(folder(run), "execution-report.md"), text),
    list: async (limit: number, after?: string) => (await listRuns(db.read, limit, after)).map(runFrom),
    tasks: (run: string) => tasksOfRun(db.read, run),
  };
}

const isUnedited = ({ base, plan }: Chain) => base === baseOf(planHash(plan));

/** Refuses a file that was edited from another plan than the stored one: adopting it would undo what was saved since. */
export function checkBase({ id, request, plan, planHash: hash }: Run, { base }: Chain): Result<true> {
  if (base === undefined || plan === null || hash === null || base === baseOf(hash)) return ok(true);
  const message = [
    `${chainName}: the plan of run ${id} was saved since this file was written, and the file has edits; nothing was changed.`,
    `To edit the saved plan, move the file away, write it again with: scriptorium execute ${id} --dry-run, and repeat your edits.`,
    `To replace the saved plan by the file, write into it: Based on: ${baseOf(hash)}`,
  ].join(" ");
  return refuse("conflict", message, {
    latestContent: planFile({ id, request }, plan),
    next: [{ operation: "show_run", input: { id }, to: "read it again" }],
  });
}

export type RunStore = ReturnType<typeof runStore>;
type ReadBack = Pick<AdoptedPlan, "run" | "diff" | "ended">;
type Also = {
  budget_tokens?: number | null;
  budget_usd?: number | null;
  carried_by?: string;
  carrier_until?: number | null;
};

const busy = (id: string) =>
  refuse("conflict", `run ${id} changed since it was read; nothing was saved`, {
    next: [{ operation: "show_run", input: { id }, to: "read it again" }],
  });

const titleFrom = (request: string) => {
  const [first = ""] = request.trim().split("\n");
  return first.length > 80 ? `${first.slice(0, 79)}…` : first;
};

const planColumns = (plan: Plan) => ({ title: plan.title, plan: JSON.stringify(plan), plan_hash: planHash(plan) });

const numberOf = ({ number }: PlanTask) => number;

/** `known` are the ids of tasks that exist already, by number. */
async function addTasks(
  tx: Query,
  deps: CrewDeps,
  run: string,
  tasks: PlanTask[],
  by: string,
  known: ReadonlyMap<string, string> = new Map(),
): Promise<PlannedTask[]> {
  const wanted = tasks.map((task) => ({
    key: task.number,
    title: task.title,
    description: task.requirements,
    dependsOn: dependenciesOf(task).map((number) => known.get(number) ?? number),
    priority: 0,
    run,
    maxRetries: task.max_retries,
  }));
  const made = await createTasks(tx, { ...moving(deps), newId: deps.newId }, wanted, by);
  if (!made.ok) throw new Error(`a valid plan could not be saved: ${made.problem.message}`);
  const details = tasks.map((task, i) => detail(run, made.value[i]?.id ?? "", task));
  await insertRunTasks(tx, details);
  return details.map(({ task_id: id, number }, i) => ({ id, number, title: tasks[i]?.title ?? "" }));
}

const detail = (run: string, id: string, task: PlanTask): RunTask => ({
  task_id: id,
  run_id: run,
  number: task.number,
  requirements: task.requirements,
  worker_role: task.worker_role,
  qc_role: task.qc_role,
  criteria: task.verification,
  execution: task.execution,
  files: task.files,
  deliverable: task.deliverable,
  estimated_tool_calls: task.estimated_tool_calls ?? null,
  model: task.model ?? null,
  notes: task.notes,
  failure: null,
  gate: task.gate ?? null,
  on_reject: task.on_reject ?? null,
  start_epoch: null,
  start_since: null,
});
