import type { core } from "zod";
import type { Audience } from "./audience.ts";
import type { Rank } from "./caller.ts";
import type { ToolGroup } from "./tool-groups.ts";

export type CallerKind = Rank | "agent";

export type JsonSchema = core.JSONSchema.BaseSchema;

/** An operation without its code, as JSON: the build contains the descriptions, so that lists and help load no schema. */
export type OperationDescription = {
  name: string;
  summary: string;
  guidance?: string;
  effect: "reads" | "writes" | "destroys";
  callers: readonly CallerKind[];
  group: ToolGroup;
  audience?: Audience;
  /** True for an operation that needs a person's proof. */
  decision?: boolean;
  input: JsonSchema;
};

export type Field = { name: string; schema: JsonSchema; required: boolean };

/** The fields of an operation's input. */
export function fieldsOf({ properties = {}, required = [] }: JsonSchema): Field[] {
  return Object.entries(properties).flatMap(([name, schema]) =>
    typeof schema === "boolean" ? [] : [{ name, schema, required: required.includes(name) }],
  );
}
