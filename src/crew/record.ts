import type { CrewDeps } from "./deps.ts";
import { endingRecord } from "./record/ending.ts";
import { verificationRecord } from "./record/verification.ts";
import { workRecord } from "./record/work.ts";

/**
 * Every phase of an attempt, recorded by the system in the transaction that moves the task (O5). An
 * agent only ever adds its output or its verdict; what those lead to is decided here.
 */
export const crewRecord = (deps: CrewDeps) => ({
  ...workRecord(deps),
  ...verificationRecord(deps),
  ...endingRecord(deps),
});

export type CrewRecord = ReturnType<typeof crewRecord>;
