import type * as z from "zod";
import type { Audience } from "./audience.ts";
import { type Caller, checkCaller, kindOf } from "./caller.ts";
import { issueText } from "./issue-text.ts";
import { jsonSchema } from "./json-schema.ts";
import { list } from "./nearest.ts";
import type { Noun } from "./noun.ts";
import type { CallerKind, OperationDescription } from "./operation-description.ts";
import { type Result, refuse } from "./result.ts";
import { nulIn } from "./storable.ts";
import { storageProblem } from "./storage-problem.ts";
import type { ToolGroup } from "./tool-groups.ts";
import { unknownFields } from "./unknown-fields.ts";

/** The effect, with the nouns whose change makes an answer stale, or which a change makes stale. */
type Effect =
  | { effect: "reads"; reads: readonly Noun[]; touches?: undefined }
  | { effect: "writes" | "destroys"; touches: readonly Noun[]; reads?: undefined };

/**
 * Everything the system can do, defined once; the faces only translate into it and out of it.
 * `A` is the part of the application that the operation needs.
 */
export type Definition<A, I extends z.ZodType, O extends z.ZodType> = Effect & {
  /** The name of the MCP tool; the HTTP operation id; in kebab case the scribe command. */
  name: string;
  /** One sentence for people: help texts, OpenAPI. */
  summary: string;
  /** For agents, after the summary: when to use it, when not, an example. */
  guidance?: string;
  callers: readonly CallerKind[];
  /** The group that lists it as an MCP tool. */
  group: ToolGroup;
  /** The agents that it is listed for; all that may call it if left out. It decides the list, not access. */
  audience?: Audience;
  http?: { method: "get" | "put" | "post" | "delete"; path: `/${string}` };
  /**
   * True for decisions, which need a person's proof: a call without one is refused. A function says which inputs are
   * decisions, where others only preview one or do less.
   */
  decision?: boolean | ((app: A, input: z.output<I>) => boolean | Promise<boolean>);
  /** The answer has a secret that is shown once; repeating the call with its idempotency key does not show it again. */
  showsOnce?: true;
  input: I;
  output: O;
  run(app: A, input: z.output<I>, caller: Caller): Promise<Result<z.output<O>>>;
};

/**
 * Runs a mutation at most once for a key that its caller chose; a repeat gets the first answer. `showsOnce`: the answer
 * has a secret that must not be stored.
 */
export type Once = <T>(
  call: { operation: string; input: unknown; caller: Caller; showsOnce: boolean },
  run: () => Promise<Result<T>>,
) => Promise<Result<T>>;

export type Operation<A = never, I extends z.ZodType = z.ZodType, O extends z.ZodType = z.ZodType> = Effect &
  Omit<Definition<A, I, O>, "run" | "decision" | keyof Effect> & {
    /** Whether a call may be a decision; `isDecision` tells for one input. */
    decision: boolean;
    /** Whether a call with this input needs a person's proof; an invalid input does not, because it is refused anyway. */
    isDecision(app: A, raw: unknown): Promise<boolean>;
    /** The only entry point: the caller's rank and proof and the input are checked here and nowhere else. */
    perform(app: A, raw: unknown, caller: Caller, once?: Once): Promise<Result<z.output<O>>>;
  };

export const everyone = ["agent", "reader", "collaborator", "admin"] as const;
export const writers = ["agent", "collaborator", "admin"] as const;
export const people = ["reader", "collaborator", "admin"] as const;
export const collaborators = ["collaborator", "admin"] as const;

export function operation<A, I extends z.ZodType, O extends z.ZodType>({
  run,
  decision = false,
  ...definition
}: Definition<A, I, O>): Operation<A, I, O> {
  const decides = async (app: A, input: z.output<I>) =>
    typeof decision === "function" ? decision(app, input) : decision;
  return {
    ...definition,
    decision: decision !== false,
    async isDecision(app, raw) {
      const input = definition.input.safeParse(raw);
      return input.success && decides(app, input.data);
    },
    async perform(app, raw, caller, once) {
      const kind = kindOf(caller);
      if (!definition.callers.includes(kind)) {
        const allowed = list(definition.callers.map(article));
        return refuse("denied", `${article(kind)} may not call ${definition.name}; it needs ${allowed}`);
      }
      const named = checkCaller(caller);
      if (!named.ok) return named;
      const strange = unknownFields(definition.input, raw);
      if (strange.length > 0) return refuse("invalid", listOf(strange), { issues: strange });
      const input = definition.input.safeParse(raw, { reportInput: true });
      if (!input.success) {
        const issues = input.error.issues.map(briefly);
        return refuse("invalid", listOf(issues), { issues });
      }
      const nul = nulIn(input.data);
      if (nul !== undefined) {
        const issue = { path: nul, message: "contains a NUL character; send text" };
        return refuse("invalid", listOf([issue]), { issues: [issue] });
      }
      if (!hasProof(caller) && (await decides(app, input.data))) return unproven(definition.name);
      const { name, effect, showsOnce = false } = definition;
      const work = () => run(app, input.data, caller);
      const done =
        once && effect !== "reads" ? once({ operation: name, input: input.data, caller, showsOnce }, work) : work();
      return done.catch((error: unknown) => {
        const problem = storageProblem(error);
        if (problem) return { ok: false, problem };
        throw error;
      });
    },
  };
}

/** An agent never proves to be a person, also where an operation lists agents among its callers. */
const hasProof = (caller: Caller) => caller.kind === "person" && caller.proof !== undefined;

const unproven = (name: string) =>
  refuse(
    "denied",
    `${name} is a decision of a person; make it in a signed-in browser, at a terminal, or with a person's token`,
  );

const article = (word: string) => (/^[aeiou]/.test(word) ? `an ${word}` : `a ${word}`);

type Issue = { path: string; message: string };

const listOf = (issues: Issue[]) => issues.map(({ path, message }) => `${path || "input"}: ${message}`).join("; ");

const briefly = (issue: z.core.$ZodIssue): Issue => ({
  path: issue.path.map(String).join("."),
  message: issueText(issue),
});

/** The part of an operation that a face needs before it calls it. */
export function describeOperation(operation: Operation): OperationDescription {
  const { name, summary, guidance, effect, callers, group, audience, decision, input } = operation;
  const { $schema: _dialect, ...schema } = jsonSchema(input);
  return {
    name,
    summary,
    ...(guidance === undefined ? {} : { guidance }),
    effect,
    callers,
    group,
    ...(audience === undefined ? {} : { audience }),
    ...(decision ? { decision } : {}),
    input: schema,
  };
}
