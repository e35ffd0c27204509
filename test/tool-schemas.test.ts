import { expect, test } from "vitest";
import { toolOf } from "../src/agents/mcp-tool.ts";
import { deskTools } from "../src/crew/agent/desk.ts";
import { draftTools } from "../src/crew/plan/draft-tools.ts";
import { describeOperation, type Operation } from "../src/kernel/operation.ts";
import { allOperations } from "../src/operation-list.ts";
import { placesIn, refusals, type Tool } from "./support/provider-rules.ts";

const desk = deskTools({ write: true } as Parameters<typeof deskTools>[0]) as Operation[];

const planner = draftTools as Operation[];

/** Every tool that an agent can be given: the operations that agents may call, the tools of a desk and of the planner. */
const given = [...allOperations.filter(({ callers }) => callers.includes("agent")), ...desk, ...planner].map(
  describeOperation,
);
const tools = given.map((operation): Tool => {
  const { name, description = "", inputSchema } = toolOf(operation);
  return { name, description, schema: inputSchema };
});

test("W3: no provider refuses the schema of a tool", () => {
  expect(tools.length).toBeGreaterThan(40);
  expect(tools.flatMap(refusals)).toEqual([]);
});

test("W3: every parameter of a tool keeps its description, its type and whether it is required", () => {
  const told = (schema: unknown) =>
    placesIn(schema as Tool["schema"]).map(({ at, schema: { description = "", type, required = [] } }) => ({
      at,
      type,
      required,
      description: String(description).replace(/(^|\. )Default: .*$/, ""),
    }));
  for (const [i, { schema }] of tools.entries())
    expect(told(schema)).toEqual(told({ type: "object", ...given[i]?.input }));
});
