/** Limits of a run; null where there is none. */
type RunBudget = { tokens: number | null; usd: number | null };
type Configured = { run_tokens?: number | undefined; run_usd?: number | undefined };
type Budgeted = { startedAt: string | null; budgetTokens: number | null; budgetUsd: number | null };

/** The configured budget is the default of a run that has not started; after that the run has its own, or none. */
export function currentBudget(run: Budgeted, configured: Configured): RunBudget {
  const { run_tokens = null, run_usd = null } = run.startedAt === null ? configured : {};
  return { tokens: run.budgetTokens ?? run_tokens, usd: run.budgetUsd ?? run_usd };
}

/** Whether a request raises or removes a limit. Lowering one, or limiting a run that had none, does not. */
export const raisesBudget = (current: RunBudget, asked: Partial<Record<keyof RunBudget, number | null | undefined>>) =>
  raises(current.tokens, asked.tokens) || raises(current.usd, asked.usd);

const raises = (current: number | null, asked: number | null | undefined) =>
  current !== null && asked !== undefined && (asked === null || asked > current);
