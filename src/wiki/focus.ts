import type { Agent } from "../kernel/caller.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Database, Query } from "../store/database.ts";
import { appendEvent } from "../store/events.ts";
import { endedFocus, findFocus, focusOfRole, lockFocus, readsOf, saveFocus, saveRead } from "../store/queries/focus.ts";
import { saveHandoff } from "../store/queries/handoffs.ts";
import type { FocusRow } from "../store/tables.ts";
import { type Handoff, handsOver, mayRead } from "./contract.ts";
import { asLogText } from "./log.ts";
import type { Schema } from "./schema.ts";

/**
 * A run along the pipeline has one holder of the focus (K8). Everything about a turn is in the database, so that it is
 * the same in every process and connection: the holder, the step, the epoch, and what the turn has read.
 */

type Deps = { db: Database; now(): Date; newId(prefix: string): string };

/** The turn of a role: its run and, once the run has begun, the epoch in which the role holds the focus. */
export type PipelineTurn = { run: string; role: string; owner: string | null; epoch: number | undefined };

/** A run without a name that was idle for so long is over for the agents that continue it without naming it. */
const idleMs = 30 * 60_000;

/** Whether the focus rules this agent. The crew's agents and those under a claim are ruled by their claim instead. */
export const isInPipeline = (schema: Schema, { role, crew, task, secret }: Agent): boolean =>
  handsOver(schema, role) && crew === undefined && (task === undefined || secret === undefined);

/**
 * The focus of the agent's run; undefined before the first act in it. An agent that names no run continues the one
 * whose focus its role holds, and otherwise gets a run of its own.
 */
export async function focusFor({ db, now, newId }: Deps, { role, turn }: Agent): Promise<FocusRow | undefined> {
  const known = turn.run === undefined ? undefined : await findFocus(db.read, turn.run);
  if (turn.named || known?.holder === role) return known;
  if (turn.run !== undefined && known === undefined) return undefined;
  const found = await focusOfRole(db.read, role, turn.owner, new Date(now().getTime() - idleMs).toISOString());
  turn.run = found?.run ?? (turn.lasting ? newId("r") : undefined);
  return found;
}

/** Refuses a role that does not hold the focus; the message says who does. */
export function mayAct(focus: FocusRow | undefined, role: string): Result<true> {
  if (!focus || focus.holder === role) return ok(true);
  const { run, holder, since, step, epoch } = focus;
  if (holder === null) return refuse("refused", `run ${run} ended after ${step} steps; start a new run`, { run });
  return refuse(
    "refused",
    `${holder} holds the focus of run ${run} since ${since}, not ${role}; wait until ${holder} hands it over, or work in another run`,
    { run, holder, since, step, epoch, next: [{ operation: "search", to: "look something up meanwhile" }] },
  );
}

/**
 * Fences a write of a turn, in its transaction: the role holds the focus, in the same epoch as when the call began.
 * Begins the run if this is its first act. The row stays locked, so no handoff can happen before the write is done.
 */
export async function holdFocus(
  tx: Query,
  { db, now }: Deps,
  { run, role, owner, epoch }: PipelineTurn,
): Promise<Result<FocusRow>> {
  const at = now().toISOString();
  const first = { run, holder: role, step: 0, epoch: 1, since: at, begun_at: at, active_at: at, handed_by: null };
  const row = await lockFocus(tx, db.engine, { ...first, owner, ended: null });
  const may = mayAct(row, role);
  if (!may.ok) return may;
  if (epoch !== undefined && row.epoch !== epoch)
    return refuse("refused", `the turn of ${role} in run ${run} ended during this call; nothing was saved`, { run });
  const active: FocusRow = { ...row, begun_at: row.begun_at ?? at, active_at: at };
  await saveFocus(tx, active);
  return ok(active);
}

/** Counts a read of the turn, or refuses it at the read cap (K9). */
export async function countRead(
  deps: Deps,
  schema: Schema,
  turn: PipelineTurn,
  entry: string,
): Promise<Result<unknown>> {
  const { run, role, epoch } = turn;
  const reads = epoch === undefined ? [] : await readsOf(deps.db.read, run, epoch);
  if (reads.includes(entry)) return ok(true);
  return deps.db.write(async (tx): Promise<Result<unknown>> => {
    const held = await holdFocus(tx, deps, turn);
    if (!held.ok) return held;
    const before = new Set(await readsOf(tx, run, held.value.epoch));
    const may = mayRead(schema, role, before, entry);
    if (may.ok) await saveRead(tx, run, held.value.epoch, entry, before.size + 1);
    return may;
  });
}

export type HandingOver = { turn: PipelineTurn; target: string; summary: string; next: Handoff };

/** Passes the focus on, with its record and event. Runs in the transaction that appends it to the log. */
export async function passFocus(tx: Query, deps: Deps, { turn, target, summary, next }: HandingOver) {
  const held = await holdFocus(tx, deps, turn);
  if (!held.ok) return held;
  const { run, role } = turn;
  const { to, forced, ended } = next;
  const at = deps.now().toISOString();
  const step = held.value.step + 1;
  const passed = { holder: to, epoch: held.value.epoch + 1, since: at, begun_at: null, active_at: at };
  const how = ended === undefined ? passed : endedFocus(ended, held.value, at);
  await saveFocus(tx, { ...held.value, ...how, step, handed_by: role });
  const row = { run, step, from_role: role, requested: target, to_role: to, summary, at };
  await saveHandoff(tx, { ...row, id: deps.newId("h"), taken_at: null });
  const data = { run, step, from: role, requested: target, to, summary, ended: ended ?? null };
  const event = { at, actor: role, subject: `run:${run}`, data };
  await appendEvent(tx, { ...event, kind: forced ? "handoff-forced" : "handoff-made" });
  if (ended) await appendEvent(tx, { ...event, kind: "run-ended" });
  return ok(step);
}

/** `handed off to architect (step 1 of 12): the summary` */
export function handoffLine({ turn, target, summary, next }: HandingOver, step: number, maxSteps: number): string {
  const { to, forced, ended } = next;
  const asked = forced && target !== turn.role ? `, asked for ${target}` : "";
  const what = to === null ? `ended the run: ${ended}` : `handed off to ${to}`;
  return `${what} (step ${step} of ${maxSteps}${asked}): ${asLogText(summary, 1000)}`;
}

/** The log of the schema in which people read handoffs. */
export const handoffLog = (schema: Schema) =>
  schema.sections.find(({ id, mode }) => id === "handoffs" && mode === "log");
