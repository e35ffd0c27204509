import { asTool, type NextOperation, type NextStep, type Wording, withNextSteps } from "./next-step.ts";
import type { WireData } from "./wire.ts";

/** A failure that a well-behaved caller may meet. Every other failure is thrown. */
export type Problem = {
  code: "invalid" | "not_found" | "denied" | "conflict" | "refused" | "storage";
  message: string;
  /** Data for the next step: the latest content, the sections a role may write, the position of an error. Keys are wire names. */
  details?: WireData & { latestContent?: string; latestVersion?: number; next?: readonly NextStep[] };
};

export type Refusal = { ok: false; problem: Problem };
export type Result<T> = { ok: true; value: T } | Refusal;

export const ok = <T>(value: T): Result<T> => ({ ok: true, value });

export const refuse = (code: Problem["code"], message: string, details?: Problem["details"]): Refusal => ({
  ok: false,
  problem: details ? { code, message, details } : { code, message },
});

/** The wire form of a refusal, in the words of the face that sends it: K6 promises `error`, K7 `message`. */
export function refusalFor(
  problem: Problem,
  wording: Wording = asTool,
): { status: Problem["code"] } & Record<string, unknown> {
  const field = problem.code === "conflict" ? "message" : "error";
  return { status: problem.code, [field]: problemText(problem, wording), ...problem.details };
}

/** The message of a problem with its next steps, in the words of one face. */
export const problemText = ({ message, details }: Problem, wording: Wording): string =>
  withNextSteps(message, details?.next ?? [], wording);

/** Drops the next steps that a caller cannot take, such as tools that an agent does not have. */
export function onlySteps(problem: Problem, can: (operation: NextOperation) => boolean): Problem {
  const { next, ...details } = problem.details ?? {};
  if (!next) return problem;
  const possible = next.filter(({ operation }) => can(operation));
  return { ...problem, details: possible.length > 0 ? { ...details, next: possible } : details };
}

/** For callers that cannot continue after a refusal. */
export class Refused extends Error {
  constructor(readonly problem: Problem) {
    super(problemText(problem, asTool));
    this.name = "Refused";
  }
}

export function unwrap<T>(result: Result<T>): T {
  if (!result.ok) throw new Refused(result.problem);
  return result.value;
}
