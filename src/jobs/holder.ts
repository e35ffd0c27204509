import { processState } from "../kernel/process-name.ts";

/** A holder on another machine counts as gone after this long without a heartbeat. */
const silenceMs = 90_000;

export const beatMs = 20_000;

/** True if the process that holds a job is gone; of a process on another machine only its heartbeats tell. */
export function isGone(holder: string | null, beatAt: number | null, now: number): boolean {
  if (holder === null) return true;
  const state = processState(holder);
  if (state === "unknown") return beatAt === null || now - beatAt > silenceMs;
  return state === "gone";
}
