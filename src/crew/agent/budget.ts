import { setTimeout as sleep } from "node:timers/promises";
import { pricesVersion } from "../../agents/model/prices.ts";
import type { Amount, Meter, WantedAmount } from "../../agents/runner.ts";
import type { CrewPart } from "../../kernel/caller.ts";
import { ok, type Problem, type Result, refuse } from "../../kernel/result.ts";
import { type Database, keepWrites } from "../../store/database.ts";
import { appendEvent, type NewEvent } from "../../store/events.ts";
import { type Claimant, holdClaim, recordingRefused } from "../../store/fence.ts";
import { lockRun } from "../../store/queries/runs.ts";
import { insertSpend, pendingOn, type Sums, settleSpend, spentOn } from "../../store/queries/spends.ts";

/** A budget; a unit that is left out is unlimited. */
export type Allowance = { tokens?: number | undefined; usd?: number | undefined };
export type Allowances = { task: Allowance; attempt: Allowance };

type Deps = { db: Database; now(): Date; newId(prefix: string): string };
type Purpose = {
  run: string;
  task: string | null;
  epoch: number | null;
  /** Proves the claim with this epoch; never stored. */
  secret?: string | undefined;
  part: CrewPart;
  context: string | null;
  model: string | null;
  agent: string;
};

type Granted = Amount & { short?: string };
type Decision = { granted: Granted } | { wait: true } | { refused: string };

/**
 * How much of `wanted` one budget allows. Pending reservations usually settle for less than they hold, so an amount
 * that fits without them waits for them. An agent that stops at its limit takes what is left, down to `least`. Pure.
 */
export function grant(
  what: string,
  { tokens, usd }: Allowance,
  spent: Sums,
  pending: Sums,
  wanted: WantedAmount,
): Decision {
  if (usd !== undefined && wanted.usd === null)
    return { refused: `the ${what} has a budget in dollars; ${unknownCost}` };
  const units: Unit[] = [];
  if (tokens !== undefined) units.push({ name: "tokens", budget: tokens, wanted: wanted.tokens, show: String });
  if (usd !== undefined) units.push({ name: "usd", budget: usd, wanted: wanted.usd ?? 0, show: dollars });
  const granted: Granted = { tokens: wanted.tokens, usd: wanted.usd };
  let wait = false;
  for (const { name, budget, wanted: amount, show } of units) {
    const left = Math.max(0, budget - spent[name]);
    if (amount <= left) continue;
    const least = wanted.least?.[name] ?? amount;
    const unit = name === "tokens" ? " tokens" : "";
    const is = `the budget of the ${what} is ${show(budget)}${unit}; ${show(left)} left`;
    if (least > left + pending[name]) return { refused: `${is}, and the next call may take ${show(least)}${unit}` };
    wait ||= pending[name] > 0;
    granted[name] = left;
    granted.short = `${is}, which the last agent used up`;
  }
  return wait ? { wait } : { granted };
}

type Unit = { name: keyof Sums; budget: number; wanted: number; show(amount: number): string };
const dollars = (amount: number) => `$${Number(amount.toFixed(4))}`;

/** Why a budget in dollars cannot be kept, and what to choose instead. */
export const unknownCost =
  "the agent's cost is unknown. Choose one: set crew.prices for its model, set crew.budget.attempt_usd to count that much for each agent, limit tokens instead (--no-budget-usd --budget-tokens N), or run without a limit in dollars (--no-budget-usd)";

const recheckMs = 300;

/** Reservations of this process that are not settled yet. */
const unsettled = new WeakMap<Database, Set<string>>();

/**
 * Reserves the maximum cost of a call before the call, against the budgets of run, task and attempt in
 * one transaction, so that no budget is ever exceeded (C5). Reservations of a killed process count as
 * spent: nobody knows whether they were.
 */
export function meterOf(
  { db, now, newId }: Deps,
  purpose: Purpose,
  allowances: Allowances,
  signal: AbortSignal = new AbortController().signal,
): Meter {
  const { run, task, epoch, part, context, model, agent } = purpose;
  const own = unsettled.get(db) ?? new Set<string>();
  unsettled.set(db, own);
  const event = (kind: NewEvent["kind"], data: object): NewEvent => ({
    at: now().toISOString(),
    actor: agent,
    kind,
    subject: `run:${run}`,
    data: { task, epoch, part, ...data },
  });

  type Held = { id: string; limits: { tokens?: number; usd?: number }; short?: Problem };

  const reserveUnder = (claimant: Claimant, wanted: WantedAmount) =>
    db.write(async (tx): Promise<Result<Held | "wait">> => {
      const row = await lockRun(tx, db.engine, run);
      if (!row) return refuse("not_found", `there is no run ${run}`);
      if (row.state === "cancelled") return refuse("refused", `run ${run} was cancelled`);
      const held = await holdClaim(tx, db.engine, claimant);
      if (!held.ok) return held;
      const budget = { tokens: row.budget_tokens ?? undefined, usd: row.budget_usd ?? undefined };
      const levels: [string, Allowance, { run: string; task?: string; epoch?: number }][] = [["run", budget, { run }]];
      if (task !== null) levels.push(["task", allowances.task, { run, task }]);
      if (task !== null && epoch !== null) levels.push(["attempt", allowances.attempt, { run, task, epoch }]);
      let amount: Amount = { tokens: wanted.tokens, usd: wanted.usd };
      const limits: Held["limits"] = {};
      let short: Problem | undefined;
      for (const [what, allowance, where] of levels) {
        if (allowance.tokens === undefined && allowance.usd === undefined) continue;
        const pending = await pendingOn(tx, db.engine, where, [...own], { task, epoch });
        const decision = grant(what, allowance, await spentOn(tx, where), pending, { ...wanted, ...amount });
        if ("wait" in decision) return ok("wait" as const);
        if ("refused" in decision) {
          await appendEvent(tx, event("spend-refused", { reason: decision.refused, ...amount }));
          return keepWrites(refuse("refused", decision.refused, { budget: what }));
        }
        const { tokens, usd, short: reason } = decision.granted;
        amount = { tokens, usd };
        if (allowance.tokens !== undefined) limits.tokens = tokens;
        if (allowance.usd !== undefined && usd !== null) limits.usd = usd;
        if (reason) short = { code: "refused", message: reason, details: { budget: what } };
      }
      const id = newId("spend");
      const reserved = { reserved_tokens: amount.tokens, reserved_usd: amount.usd, tokens: null, usd: null };
      const owner = { run_id: run, context_id: context, task_id: task, epoch, part, model };
      const at = now().toISOString();
      await insertSpend(tx, { id, ...owner, state: "reserved", ...reserved, at, settled_at: null });
      await appendEvent(tx, event("spend-reserved", { spend_id: id, model, ...amount }));
      return ok({ id, limits, ...(short ? { short } : {}) });
    });

  const settle = async (id: string, spent: Amount | null) => {
    await db.write(async (tx) => {
      const state = spent?.tokens === 0 ? "released" : "settled";
      const settled_at = now().toISOString();
      await settleSpend(tx, id, { state, tokens: spent?.tokens ?? null, usd: spent?.usd ?? null, settled_at });
      await appendEvent(tx, event("spend-settled", { spend_id: id, state, prices: pricesVersion, ...(spent ?? {}) }));
    });
    own.delete(id);
  };

  return {
    async reserve(wanted) {
      const claimant = { name: agent, task: task ?? undefined, epoch: epoch ?? undefined, secret: purpose.secret };
      for (;;) {
        const reserved = await recordingRefused({ db, now }, claimant, "spend", () => reserveUnder(claimant, wanted));
        if (!reserved.ok) return reserved;
        if (reserved.value !== "wait") {
          const { id, ...rest } = reserved.value;
          own.add(id);
          return ok({ ...rest, settle: (spent) => settle(id, spent) });
        }
        // Not on every change of the database: looking is a change too, and two that wait would wake each other.
        await sleep(recheckMs, undefined, { signal }).catch(() => undefined);
        if (signal.aborted) return refuse("refused", "stopped while it waited for the budget");
      }
    },
  };
}
