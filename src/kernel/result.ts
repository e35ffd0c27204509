import type { WireData } from "./wire.ts";

/** A failure that every caller must handle. Anything else is thrown. */
export type Problem = {
  code: "invalid" | "not_found" | "denied" | "conflict" | "refused";
  message: string;
  /** Data to recover with: the latest content, the sections a role may write, the place of a mistake. Keys are wire names. */
  details?: WireData & { latestContent?: string; latestVersion?: number };
};

export type Result<T> = { ok: true; value: T } | { ok: false; problem: Problem };

export const ok = <T>(value: T): Result<T> => ({ ok: true, value });

export const refuse = (
  code: Problem["code"],
  message: string,
  details?: Problem["details"],
): { ok: false; problem: Problem } => ({
  ok: false,
  problem: details ? { code, message, details } : { code, message },
});

/** A refusal in the shape agents are promised: K6 says `error`, K7 says `message`. */
export function refusalFor(problem: Problem): { status: Problem["code"] } & Record<string, unknown> {
  const word = problem.code === "conflict" ? "message" : "error";
  return { status: problem.code, [word]: problem.message, ...problem.details };
}

/** For callers that have no way on after a refusal. */
export class Refused extends Error {
  constructor(readonly problem: Problem) {
    super(problem.message);
    this.name = "Refused";
  }
}

export function unwrap<T>(result: Result<T>): T {
  if (!result.ok) throw new Refused(result.problem);
  return result.value;
}
