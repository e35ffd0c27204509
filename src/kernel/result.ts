/** What a caller must be ready for. Anything else that goes wrong is thrown. */
export type Problem = {
  code: "invalid" | "not_found" | "denied" | "conflict" | "refused";
  message: string;
  /** What the caller needs to go on: the latest content, what a role may write, where the mistake is. */
  details?: Record<string, unknown>;
};

export type Result<T> = { ok: true; value: T } | { ok: false; problem: Problem };

export const ok = <T>(value: T): Result<T> => ({ ok: true, value });

export const refuse = (
  code: Problem["code"],
  message: string,
  details?: Record<string, unknown>,
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
