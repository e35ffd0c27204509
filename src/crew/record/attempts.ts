import { endingRecord } from "./attempts/ending.ts";
import { verificationRecord } from "./attempts/verification.ts";
import { workRecord } from "./attempts/work.ts";
import type { CrewDeps } from "./deps.ts";

/**
 * Records every phase of an attempt in the transaction that moves its task (O5). An agent only adds its
 * output or its verdict; the rules decide what follows.
 *
 * `tasks.state` is the truth about a task now; `attempts.phase` and `attempts.output` are the history,
 * one row for each claim. The newest attempt that was not abandoned agrees with its task:
 *
 *   tasks.state        attempts.phase
 *   worker_executing   worker_executing, or no attempt yet between the claim and `begin`
 *   worker_completed   worker_completed, or qc_executing after a verifier gave the task back
 *   qc_executing       qc_executing
 *   qc_passed          qc_passed
 *   completed          qc_passed
 *   qc_failed          qc_failed
 *   preparing_retry    qc_failed, or worker_executing after a worker gave the retry back
 *
 * From worker_completed on, `tasks.result.output` equals its `attempts.output`; a failed attempt has its
 * unfinished work there. `doctor` checks both (`contradictoryAttempts`).
 */
export const attemptRecord = (deps: CrewDeps) => ({
  ...workRecord(deps),
  ...verificationRecord(deps),
  ...endingRecord(deps),
});

export type AttemptRecord = ReturnType<typeof attemptRecord>;
