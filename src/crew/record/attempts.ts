import { endingRecord } from "./attempts/ending.ts";
import { verificationRecord } from "./attempts/verification.ts";
import { workRecord } from "./attempts/work.ts";
import type { CrewDeps } from "./deps.ts";

/**
 * Every phase of an attempt, recorded by the system in the transaction that moves the task (O5). An
 * agent only ever adds its output or its verdict; what those lead to is decided here.
 */
export const attemptRecord = (deps: CrewDeps) => ({
  ...workRecord(deps),
  ...verificationRecord(deps),
  ...endingRecord(deps),
});

export type AttemptRecord = ReturnType<typeof attemptRecord>;
