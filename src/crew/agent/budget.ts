import { pricesVersion } from "../../agents/model/prices.ts";
import type { Meter } from "../../agents/runner.ts";
import type { CrewPart } from "../../kernel/caller.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { type Database, keepWrites } from "../../store/database.ts";
import { appendEvent, type NewEvent } from "../../store/events.ts";
import { type Claimant, holdClaim, recordingLate } from "../../store/fence.ts";
import { lockRun } from "../../store/queries/runs.ts";
import { insertSpend, type Sums, settleSpend, spentOn } from "../../store/queries/spends.ts";

/** A budget; a unit that is left out is unlimited. */
export type Allowance = { tokens?: number | undefined; usd?: number | undefined };
export type Allowances = { task: Allowance; attempt: Allowance };

type Deps = { db: Database; now(): Date; newId(prefix: string): string };
type Purpose = {
  run: string;
  task: string | null;
  epoch: number | null;
  part: CrewPart;
  context: string | null;
  model: string | null;
  agent: string;
};

/** The reason why this much more may not be spent; undefined if it may. Pure. */
export function affordable(
  what: string,
  allowance: Allowance,
  spent: Sums,
  wanted: { tokens: number; usd: number | null },
): string | undefined {
  const { tokens, usd } = allowance;
  if (tokens !== undefined && spent.tokens + wanted.tokens > tokens) {
    const left = Math.max(0, tokens - spent.tokens);
    return `the budget of the ${what} is ${tokens} tokens, ${left} are left, and the next call may take ${wanted.tokens}`;
  }
  if (usd === undefined) return undefined;
  if (wanted.usd === null) {
    return `the ${what} has a budget in dollars, and nobody knows what the next call costs; give the model's price under crew.prices, or, for an agent that is a program, crew.budget.attempt_usd`;
  }
  if (spent.usd + wanted.usd > usd) {
    const left = Math.max(0, usd - spent.usd);
    return `the budget of the ${what} is $${usd}, $${left.toFixed(4)} are left, and the next call may cost $${wanted.usd.toFixed(4)}`;
  }
  return undefined;
}

/**
 * Reserves the maximum cost of a call before the call, against the budgets of run, task and attempt in
 * one transaction, so that no budget is ever exceeded (C5). Reservations of a killed process count as
 * spent: nobody knows whether they were.
 */
export function meterOf({ db, now, newId }: Deps, purpose: Purpose, allowances: Allowances): Meter {
  const { run, task, epoch, part, context, model, agent } = purpose;
  const event = (kind: NewEvent["kind"], data: object): NewEvent => ({
    at: now().toISOString(),
    actor: agent,
    kind,
    subject: `run:${run}`,
    data: { task, epoch, part, ...data },
  });

  type Held = { id: string; limits: { tokens: boolean; usd: boolean } };

  const reserve = (wanted: { tokens: number; usd: number | null }): Promise<Result<Held>> => {
    const claimant = { name: agent, task: task ?? undefined, epoch: epoch ?? undefined };
    return recordingLate({ db, now }, claimant, "spend", () => reserveUnder(claimant, wanted));
  };

  const reserveUnder = (claimant: Claimant, wanted: { tokens: number; usd: number | null }) =>
    db.write(async (tx): Promise<Result<Held>> => {
      const row = await lockRun(tx, db.engine, run);
      if (!row) return refuse("not_found", `there is no run ${run}`);
      if (row.state === "cancelled") return refuse("refused", `run ${run} was cancelled`);
      const held = await holdClaim(tx, db.engine, claimant);
      if (!held.ok) return held;
      const budget = { tokens: row.budget_tokens ?? undefined, usd: row.budget_usd ?? undefined };
      const levels: [string, Allowance, { run: string; task?: string; epoch?: number }][] = [["run", budget, { run }]];
      if (task !== null) levels.push(["task", allowances.task, { run, task }]);
      if (task !== null && epoch !== null) levels.push(["attempt", allowances.attempt, { run, task, epoch }]);
      for (const [what, allowance, where] of levels) {
        if (allowance.tokens === undefined && allowance.usd === undefined) continue;
        const no = affordable(what, allowance, await spentOn(tx, where), wanted);
        if (!no) continue;
        await appendEvent(tx, event("spend-refused", { reason: no, ...wanted }));
        return keepWrites(refuse("refused", no, { budget: what }));
      }
      const id = newId("spend");
      const reserved = { reserved_tokens: wanted.tokens, reserved_usd: wanted.usd, tokens: null, usd: null };
      const owner = { run_id: run, context_id: context, task_id: task, epoch, part, model };
      const at = now().toISOString();
      await insertSpend(tx, { id, ...owner, state: "reserved", ...reserved, at, settled_at: null });
      await appendEvent(tx, event("spend-reserved", { spend_id: id, model, ...wanted }));
      const isLimited = (unit: keyof Allowance) => levels.some(([, allowance]) => allowance[unit] !== undefined);
      return ok({ id, limits: { tokens: isLimited("tokens"), usd: isLimited("usd") } });
    });

  const settle = (id: string, spent: { tokens: number; usd: number | null } | null) =>
    db.write(async (tx) => {
      const state = spent?.tokens === 0 ? "released" : "settled";
      const settled_at = now().toISOString();
      await settleSpend(tx, id, { state, tokens: spent?.tokens ?? null, usd: spent?.usd ?? null, settled_at });
      await appendEvent(tx, event("spend-settled", { spend_id: id, state, prices: pricesVersion, ...(spent ?? {}) }));
    });

  return {
    async reserve(wanted) {
      const reserved = await reserve(wanted);
      if (!reserved.ok) return reserved;
      const { id, limits } = reserved.value;
      return ok({ limits, settle: (spent) => settle(id, spent) });
    },
  };
}
