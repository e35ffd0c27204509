import type { WireData } from "./wire.ts";

/** A failure that a well-behaved caller may meet. Every other failure is thrown. */
export type Problem = {
  code: "invalid" | "not_found" | "denied" | "conflict" | "refused";
  message: string;
  /** Data for the next step: the latest content, the sections a role may write, the place of a mistake. Keys are wire names. */
  details?: WireData & { latestContent?: string; latestVersion?: number };
};

export type Refusal = { ok: false; problem: Problem };
export type Result<T> = { ok: true; value: T } | Refusal;

export const ok = <T>(value: T): Result<T> => ({ ok: true, value });

export const refuse = (code: Problem["code"], message: string, details?: Problem["details"]): Refusal => ({
  ok: false,
  problem: details ? { code, message, details } : { code, message },
});

/** The wire form of a refusal: K6 promises `error`, K7 `message`. */
export function refusalFor(problem: Problem): { status: Problem["code"] } & Record<string, unknown> {
  const word = problem.code === "conflict" ? "message" : "error";
  return { status: problem.code, [word]: problem.message, ...problem.details };
}

/** For callers that cannot continue after a refusal. */
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
