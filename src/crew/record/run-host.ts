import type { Result } from "../../kernel/result.ts";

/** What a person now allows a run; what is left out stays as it was. */
export type Budget = { budgetTokens?: number | undefined; budgetUsd?: number | undefined };

/** A process that plans and carries out runs while it serves. */
export interface RunHost {
  plan(request: string, how: { brief: boolean; by: string }): Promise<Result<{ run: string }>>;
  carryOut(run: string, by: string, budget?: Budget): Promise<Result<{ run: string }>>;
}
