import { ok, type Result, refuse } from "../../kernel/result.ts";
import { storeClock } from "../../store/clock.ts";
import type { PlanChangeRow } from "../../store/crew-tables.ts";
import type { Query } from "../../store/database.ts";
import { appendEvent, type NewEvent } from "../../store/events.ts";
import { parseJsonOr } from "../../store/json.ts";
import { noSuch } from "../../store/no-such.ts";
import {
  currentPlanChange,
  findPlanChange,
  insertPlanChange,
  planChangesIn,
  updatePlanChange,
} from "../../store/queries/plan-changes.ts";
import { lockRun, tasksOfRun } from "../../store/queries/runs.ts";
import { reopen } from "../../tasks/overturn.ts";
import { fromRow, shownState } from "../../tasks/task.ts";
import { byNumber, type PlanTask } from "../rules/plan.ts";
import { planDiff, type Standing } from "../rules/plan-change.ts";
import { planChangeFrom, replanned, type Split, type StoredPlanChange } from "../rules/replan.ts";
import { type Run, runFrom } from "../rules/run.ts";
import { type Burden, carrierOf, isAbandoned, leaseEnd, recordLeases } from "./carrier.ts";
import type { CrewApp } from "./crew-app.ts";
import { moving } from "./deps.ts";

export const findChange = async ({ db }: Pick<CrewApp, "db">, id: string): Promise<StoredPlanChange | undefined> => {
  const row = await findPlanChange(db.read, id);
  return row && planChangeFrom(row);
};

/** The change of a run that is being drafted or waits for a person. */
export const currentChange = async ({ db }: Pick<CrewApp, "db">, run: string) => {
  const row = await currentPlanChange(db.read, run);
  return row && planChangeFrom(row);
};

/** Changes that wait for a person, oldest first. */
export const openChanges = async ({ db }: Pick<CrewApp, "db">) =>
  (await planChangesIn(db.read, "open")).map(({ title, ...row }) => ({ ...planChangeFrom(row), title }));

/** Changes whose planner another process may continue. One that a person interrupted waits for them. */
export async function abandonedChanges({ db }: Pick<CrewApp, "db">) {
  const drafting = (await planChangesIn(db.read, "drafting")).filter(({ process }) => process !== "");
  if (drafting.length === 0) return [];
  if (drafting.some(({ process_until }) => process_until === null)) await recordLeases({ db });
  const now = await storeClock(db.read, db.engine);
  return drafting
    .filter((row) => isAbandoned(leaseOf(row), now))
    .map(({ id, run_id: run, requested_by: by, message, tasks }) => ({
      ...{ id, run, by, message },
      tasks: parseJsonOr<string[]>(tasks, []),
    }));
}

const leaseOf = ({ process, process_until: until }: PlanChangeRow) => ({
  carrier: process,
  until: until === null ? null : Number(until),
});

/** A change that this process is drafting. */
export const carriedChange = ({ id, process }: StoredPlanChange): Burden => ({
  about: { change: id },
  renew: (tx, process_until) => updatePlanChange(tx, id, ["drafting"], { process_until }, process),
  async isElsewhere(query) {
    const now = await findPlanChange(query, id);
    return now?.state === "drafting" && now.process !== process;
  },
});

type Wanted = { run: string; tasks: string[]; message: string | null; by: string };

/**
 * Starts a change of the plan for failed tasks. It replaces one that waits for a person; one that a killed process was
 * drafting is continued with what its planner had submitted.
 */
export async function beginChange(
  app: CrewApp,
  { run, tasks, message, by }: Wanted,
): Promise<Result<StoredPlanChange>> {
  const { db } = app;
  await recordLeases(app);
  return db.write(async (tx): Promise<Result<StoredPlanChange>> => {
    const row = await lockRun(tx, db.engine, run);
    if (!row) return noSuch(tx, "run", run);
    const plan = runFrom(row).plan;
    if (!plan || (row.state !== "stopped" && row.state !== "failed"))
      return refuse("conflict", `run ${run} is ${row.state}; only a stopped or failed run can be replanned`);
    const wanted = await tasksToReplan(tx, run, tasks);
    if (!wanted.ok) return wanted;
    const held = { process: carrierOf("planner"), process_until: await leaseEnd(app, tx) };
    const before = await currentPlanChange(tx, run);
    if (before?.state === "drafting" && (await isBeingDrafted(tx, db.engine, before)))
      return refuse("conflict", `run ${run} is being replanned (${before.id}); wait for its proposal`);
    const at = app.now().toISOString();
    const isSame = before?.state === "drafting" && before.base_hash === row.plan_hash;
    if (before && isSame && before.tasks === JSON.stringify(wanted.value)) {
      const set = { ...held, message: message ?? before.message };
      await updatePlanChange(tx, before.id, ["drafting"], set);
      return ok(planChangeFrom({ ...before, ...set }));
    }
    if (before) await updatePlanChange(tx, before.id, ["drafting", "open"], { state: "superseded", decided_at: at });
    const made: PlanChangeRow = {
      ...{ id: app.newId("change"), run_id: run, state: "drafting", base_hash: row.plan_hash ?? "", message, ...held },
      ...{ tasks: JSON.stringify(wanted.value), draft: JSON.stringify(plan.tasks), plan: null, reason: null },
      ...{ requested_by: by, requested_at: at, proposed_by: null, proposed_at: null },
      ...{ decided_by: null, decided_at: null, note: null },
    };
    await insertPlanChange(tx, made);
    await event(tx, app, by, "run-replan-started", made, { tasks: wanted.value, message });
    return ok(planChangeFrom(made));
  });
}

const isBeingDrafted = async (tx: Query, engine: CrewApp["db"]["engine"], row: PlanChangeRow): Promise<boolean> =>
  row.process !== "" && !isAbandoned(leaseOf(row), await storeClock(tx, engine));

/** Frees a change whose planner was interrupted; the next request continues from its draft. */
export const freeChange = ({ db }: CrewApp, { id, process }: StoredPlanChange) =>
  db.write((tx) => updatePlanChange(tx, id, ["drafting"], { process: "" }, process));

/** The tasks named, or all that failed. Accepted work and work in progress cannot be replanned. */
async function tasksToReplan(tx: Query, run: string, named: string[]): Promise<Result<string[]>> {
  const rows = await tasksOfRun(tx, run);
  const failed = rows.filter(({ task }) => shownState(fromRow(task)) === "failed").map(({ number }) => number);
  if (named.length === 0) {
    if (failed.length > 0) return ok(failed);
    return refuse("conflict", `run ${run} has no failed task; name the task to replan`, { failed });
  }
  for (const number of named) {
    const found = rows.find((row) => row.number === number);
    if (!found)
      return refuse(
        "not_found",
        `run ${run} has no task ${number}; it has ${rows.map((row) => row.number).join(", ")}`,
      );
    if (!["pending", "preparing_retry", "failed", "cancelled"].includes(found.task.state))
      return refuse(
        "conflict",
        found.task.state === "completed"
          ? `task ${number} is completed; to do it again, overturn it first: scriptorium task overturn ${found.task_id} --reason "…"`
          : `task ${number} is in progress; wait until its attempt has ended`,
      );
  }
  return ok([...new Set(named)].sort((a, b) => byNumber({ number: a }, { number: b })));
}

/** Stores tasks that are valid by themselves, and removes others from the draft. */
export async function draftChange(
  app: CrewApp,
  { id, process }: Pick<StoredPlanChange, "id" | "process">,
  { tasks, removed }: { tasks: PlanTask[]; removed: string[] },
): Promise<Result<PlanTask[]>> {
  return app.db.write(async (tx): Promise<Result<PlanTask[]>> => {
    const row = await findPlanChange(tx, id);
    if (row?.state !== "drafting" || row.process !== process) return over(id, row);
    const numbers = new Set([...tasks.map(({ number }) => number), ...removed]);
    const kept = planChangeFrom(row).draft.filter(({ number }) => !numbers.has(number));
    const draft = [...kept, ...tasks].sort(byNumber);
    const isSaved = await updatePlanChange(tx, id, ["drafting"], { draft: JSON.stringify(draft) }, process);
    return isSaved ? ok(draft) : over(id, row);
  });
}

/** Submits the drafted plan: it waits for a person. */
export async function proposeChange(
  app: CrewApp,
  { id, process }: Pick<StoredPlanChange, "id" | "process">,
  { reason, splits }: { reason: string; splits: Split[] },
  by: string,
): Promise<Result<{ tasks: number }>> {
  const { db } = app;
  return db.write(async (tx): Promise<Result<{ tasks: number }>> => {
    const row = await findPlanChange(tx, id);
    if (row?.state !== "drafting" || row.process !== process) return over(id, row);
    const run = await lockRun(tx, db.engine, row.run_id);
    const before = run && runFrom(run).plan;
    if (!run || !before || run.plan_hash !== row.base_hash) return planMoved(row);
    const { wanted, draft } = planChangeFrom(row);
    const standing = await standingOf(tx, run.id);
    const made = replanned(before, { tasks: draft, splits }, { wanted, standing });
    if (!made.ok) return made;
    const { plan, change } = made.value;
    const set = { plan: JSON.stringify(plan), reason, proposed_by: by, proposed_at: app.now().toISOString() };
    if (!(await updatePlanChange(tx, id, ["drafting"], { state: "open", ...set }, process))) return over(id, row);
    const told = { changed: change.changed.map(numberOf), added: change.added.map(numberOf), removed: change.removed };
    await event(tx, app, by, "run-replan-proposed", row, { ...told, reason });
    return ok({ tasks: plan.tasks.length });
  });
}

/** Ends a change without a proposal. */
export const failChange = ({ db, now }: CrewApp, { id, process }: StoredPlanChange, reason: string) =>
  db.write((tx) => {
    const set = { state: "failed" as const, reason: reason.slice(0, 2000), decided_at: now().toISOString() };
    return updatePlanChange(tx, id, ["drafting"], set, process);
  });

export type Confirmed = { run: Run; diff: string; reopened: string[] };

/** Adopts a proposed plan as an edit of the plan by this person, and reopens the failed tasks that it replans. */
export async function confirmChange(app: CrewApp, id: string, by: string): Promise<Result<Confirmed>> {
  const { db, runs } = app;
  const change = await findChange(app, id);
  if (change?.state !== "open" || !change.plan) return over(id, change);
  // The person may have edited the file since: their edits are taken first, and the proposal is then for an old plan.
  const read = await runs.readBack(change.run_id, by);
  if (!read.ok) return read;
  if (read.value.run.planHash !== change.base_hash) return planMoved(change);
  const reopened: string[] = [];
  const adopted = await runs.adopt(change.run_id, change.plan, by, change.base_hash, async (tx, { ended }) => {
    const set = { state: "confirmed" as const, decided_by: by, decided_at: app.now().toISOString() };
    if (!(await updatePlanChange(tx, id, ["open"], set))) return over(id, await findChange(app, id));
    for (const { id: task, number } of ended) {
      if (!change.wanted.includes(number)) continue;
      const opened = await reopen(tx, moving({ db, now: app.now }), task, by);
      if (!opened.ok) return opened;
      reopened.push(number);
    }
    await event(tx, app, by, "run-replan-confirmed", change, { reopened });
    return ok(true);
  });
  return adopted.ok ? ok({ run: adopted.value.run, diff: adopted.value.diff, reopened }) : adopted;
}

export async function rejectChange(
  app: CrewApp,
  id: string,
  note: string | null,
  by: string,
): Promise<Result<StoredPlanChange>> {
  return app.db.write(async (tx): Promise<Result<StoredPlanChange>> => {
    const row = await findPlanChange(tx, id);
    const set = { state: "rejected" as const, decided_by: by, decided_at: app.now().toISOString(), note };
    if (!row || !(await updatePlanChange(tx, id, ["open"], set))) return over(id, row);
    await event(tx, app, by, "run-replan-rejected", row, { note });
    return ok(planChangeFrom({ ...row, ...set }));
  });
}

/** The change as the diff of the plan's file. */
export const diffOfChange = ({ id, request, plan }: Run, change: StoredPlanChange): string =>
  plan && change.plan ? planDiff({ run: id, request }, plan, change.plan) : "";

async function standingOf(tx: Query, run: string): Promise<Standing[]> {
  const rows = await tasksOfRun(tx, run);
  return rows.map(({ task, number }) => ({ id: task.id, number, state: fromRow(task).state, epoch: task.epoch }));
}

const numberOf = ({ number }: PlanTask) => number;

const event = (
  tx: Query,
  { now }: Pick<CrewApp, "now">,
  actor: string,
  kind: NewEvent["kind"],
  { id, run_id }: Pick<PlanChangeRow, "id" | "run_id">,
  data: Record<string, unknown>,
) =>
  appendEvent(tx, { at: now().toISOString(), actor, kind, subject: `run:${run_id}`, data: { change_id: id, ...data } });

const stateWords: Record<PlanChangeRow["state"], string> = {
  drafting: "being written",
  open: "waiting for a person",
  confirmed: "confirmed already",
  rejected: "rejected already",
  superseded: "replaced by a newer one",
  failed: "not there: its planner failed",
};

const over = (id: string, row: Pick<PlanChangeRow, "state"> | undefined) =>
  row
    ? refuse("conflict", `plan change ${id} is ${stateWords[row.state]}`, { state: row.state })
    : refuse("not_found", `plan change ${id} does not exist; list what waits with: scriptorium inbox`);

const planMoved = ({ id, run_id }: Pick<PlanChangeRow, "id" | "run_id">) =>
  refuse(
    "conflict",
    `the plan of run ${run_id} changed since plan change ${id} was started; replan it again: scriptorium run replan ${run_id}`,
  );
