import * as z from "zod";
import type { App } from "../app.ts";
import { type Caller, kindOf, type Rank } from "./caller.ts";
import { type Result, refuse } from "./result.ts";

export type CallerKind = Rank | "agent";

/** Everything the system can do, defined once; the faces only translate into it and out of it. */
export type Definition<I, O> = {
  /** The name of the MCP tool; the HTTP operation id; in kebab case the scribe command. */
  name: string;
  /** One sentence for people: help texts, OpenAPI. */
  summary: string;
  /** What an agent that has read nothing else needs in order to use it rightly. */
  guidance?: string;
  effect: "reads" | "writes" | "destroys";
  callers: readonly CallerKind[];
  http?: { method: "get" | "put" | "post" | "delete"; path: `/${string}` };
  input: z.ZodType<I>;
  output: z.ZodType<O>;
  run(app: App, input: I, caller: Caller): Promise<Result<NoInfer<O>>>;
};

export type Operation<I = unknown, O = unknown> = Omit<Definition<I, O>, "run"> & {
  /** The only door: who may call and what they give are checked here and nowhere else. */
  perform(app: App, raw: unknown, caller: Caller): Promise<Result<O>>;
};

export const everyone = ["agent", "reader", "collaborator", "admin"] as const;
export const writers = ["agent", "collaborator", "admin"] as const;
export const people = ["reader", "collaborator", "admin"] as const;
export const collaborators = ["collaborator", "admin"] as const;

export function operation<I, O>({ run, ...definition }: Definition<I, O>): Operation<I, O> {
  return {
    ...definition,
    async perform(app, raw, caller) {
      const kind = kindOf(caller);
      if (!definition.callers.includes(kind)) {
        return refuse(
          "denied",
          `${article(kind)} may not call ${definition.name}; it takes ${orList(definition.callers)}`,
        );
      }
      const input = definition.input.safeParse(raw, { reportInput: true });
      if (!input.success) return refuse("invalid", describe(input.error), { issues: input.error.issues.map(briefly) });
      return run(app, input.data, caller);
    },
  };
}

const article = (word: string) => (/^[aeiou]/.test(word) ? `an ${word}` : `a ${word}`);
const orList = (words: readonly string[]) => words.map(article).join(" or ");

const describe = (error: z.core.$ZodError) =>
  error.issues.map((issue) => `${briefly(issue).path || "input"}: ${sentence(issue)}`).join("; ");

const briefly = (issue: z.core.$ZodIssue) => ({ path: issue.path.map(String).join("."), message: sentence(issue) });

/** What is wrong, for someone who has never heard of our schemas. */
function sentence(issue: z.core.$ZodIssue): string {
  const isMissing = issue.input === undefined && (issue.code === "invalid_type" || issue.code === "invalid_value");
  const message = issue.message.replace(/^Invalid (?:input|option): /, "");
  return isMissing ? `this is missing; ${message.replace(/, received undefined$/, "")}` : message;
}

/** The JSON Schema of what an operation takes or gives. */
export const jsonSchema = (type: z.ZodType, io: "input" | "output" = "input") =>
  z.toJSONSchema(type, { io, unrepresentable: "any" }) as Record<string, unknown>;
