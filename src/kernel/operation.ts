import * as z from "zod";
import { type Caller, kindOf, type Rank } from "./caller.ts";
import { issueText } from "./issue-text.ts";
import { list, nearest } from "./nearest.ts";
import type { Noun } from "./noun.ts";
import { type Result, refuse } from "./result.ts";

export type CallerKind = Rank | "agent";

/** The effect, with the nouns whose change makes an answer stale, or which a change makes stale. */
type Effect =
  | { effect: "reads"; reads: readonly Noun[]; touches?: undefined }
  | { effect: "writes" | "destroys"; touches: readonly Noun[]; reads?: undefined };

/** The parts of schema.yaml that decide what a role can use; undefined while the file has mistakes. */
export type RoleRules = {
  sections: readonly { mode: "snapshot" | "log"; writable_by: readonly string[] }[];
  pipeline: readonly string[];
};

/**
 * Everything the system can do, defined once; the faces only translate into it and out of it.
 * `A` is the part of the application that the operation needs.
 */
export type Definition<A, I extends z.ZodType, O extends z.ZodType> = Effect & {
  /** The name of the MCP tool; the HTTP operation id; in kebab case the scribe command. */
  name: string;
  /** One sentence for people: help texts, OpenAPI. */
  summary: string;
  /** Instructions for an agent that has read nothing else. */
  guidance?: string;
  callers: readonly CallerKind[];
  /** Which of these callers see it as an MCP tool; all of them if left out. It decides about the list, not about access. */
  visibleTo?(caller: Caller, roles: RoleRules | undefined): boolean;
  http?: { method: "get" | "put" | "post" | "delete"; path: `/${string}` };
  input: I;
  output: O;
  run(app: A, input: z.output<I>, caller: Caller): Promise<Result<z.output<O>>>;
};

export type Operation<A = never, I extends z.ZodType = z.ZodType, O extends z.ZodType = z.ZodType> = Effect &
  Omit<Definition<A, I, O>, "run" | keyof Effect> & {
    /** The only entry point: the caller's rank and the input are checked here and nowhere else. */
    perform(app: A, raw: unknown, caller: Caller): Promise<Result<z.output<O>>>;
  };

export const everyone = ["agent", "reader", "collaborator", "admin"] as const;
export const writers = ["agent", "collaborator", "admin"] as const;
export const people = ["reader", "collaborator", "admin"] as const;
export const collaborators = ["collaborator", "admin"] as const;

export function operation<A, I extends z.ZodType, O extends z.ZodType>({
  run,
  ...definition
}: Definition<A, I, O>): Operation<A, I, O> {
  return {
    ...definition,
    async perform(app, raw, caller) {
      const kind = kindOf(caller);
      if (!definition.callers.includes(kind)) {
        const allowed = list(definition.callers.map(article));
        return refuse("denied", `${article(kind)} may not call ${definition.name}; it needs ${allowed}`);
      }
      const input = definition.input.safeParse(raw, { reportInput: true });
      if (!input.success) {
        const known = fieldsOf(definition).map(({ name }) => name);
        const message = describe(input.error, raw, known);
        return refuse("invalid", message, { issues: input.error.issues.map(briefly) });
      }
      return run(app, input.data, caller);
    },
  };
}

const article = (word: string) => (/^[aeiou]/.test(word) ? `an ${word}` : `a ${word}`);

/** Each issue with its field. A field that is missing may have been sent under a misspelt name. */
function describe(error: z.core.$ZodError, raw: unknown, known: string[]): string {
  const unknown = Object.keys(raw !== null && typeof raw === "object" ? raw : {}).filter((key) => !known.includes(key));
  return error.issues
    .map((issue) => {
      const { path, message } = briefly(issue);
      const misspelt = unknown.find((key) => nearest(key, known) === path);
      return `${path || "input"}: ${message}${misspelt && issue.input === undefined ? `; you sent ${misspelt}` : ""}`;
    })
    .join("; ");
}

const briefly = (issue: z.core.$ZodIssue) => ({ path: issue.path.map(String).join("."), message: issueText(issue) });

export type JsonSchema = z.core.JSONSchema.BaseSchema;

const schemas = { input: new WeakMap<z.ZodType, JsonSchema>(), output: new WeakMap<z.ZodType, JsonSchema>() };

/** The JSON Schema of an operation's input or output. Computed once: every request and every connection needs it. */
export function jsonSchema(type: z.ZodType, io: "input" | "output" = "input"): Readonly<JsonSchema> {
  const known = schemas[io].get(type);
  if (known) return known;
  const schema = z.toJSONSchema(type, { io, unrepresentable: "any" });
  schemas[io].set(type, schema);
  return schema;
}

/** The fields of an operation's input, as its JSON Schema describes them. */
export function fieldsOf({ input }: { input: z.ZodType }): { name: string; schema: JsonSchema; required: boolean }[] {
  const { properties = {}, required = [] } = jsonSchema(input);
  return Object.entries(properties).flatMap(([name, schema]) =>
    typeof schema === "boolean" ? [] : [{ name, schema, required: required.includes(name) }],
  );
}
