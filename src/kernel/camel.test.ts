import { expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import { type CamelKeys, fromWire, toWire } from "./camel.ts";
import { snakeKeys } from "./wire.ts";

const node = z.object({ node_id: z.string(), properties: z.record(z.string(), z.unknown()) });
const shape = z.object({
  created_at: z.string(),
  lastAuthor: z.string(),
  first_node: node.optional(),
  all_nodes: z.array(node).default([]),
  held_until: z.object({ lease_until: z.string() }).nullable(),
  by_user_name: z.record(z.string(), z.object({ may_write: z.boolean() })),
  answer: z.union([
    z.object({ status: z.literal("locked"), expires_at: z.string() }),
    z.object({ status: z.literal("held"), held_by: z.string() }),
  ]),
  either: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("a"), a_part: z.string() }),
    z.object({ kind: z.literal("b"), b_part: z.string() }),
  ]),
  anything: z.unknown(),
});

const wire: z.infer<typeof shape> = {
  created_at: "now",
  lastAuthor: "Ada",
  first_node: { node_id: "n-1", properties: { own_key: 1, ownKey: { deeper_key: 2 } } },
  all_nodes: [{ node_id: "n-2", properties: {} }],
  held_until: { lease_until: "later" },
  by_user_name: { snake_user: { may_write: true }, camelUser: { may_write: false } },
  answer: { status: "held", held_by: "Bob" },
  either: { kind: "b", b_part: "b" },
  anything: { left_alone: true },
};

const library: CamelKeys<z.infer<typeof shape>> = {
  createdAt: "now",
  lastAuthor: "Ada",
  firstNode: { nodeId: "n-1", properties: { own_key: 1, ownKey: { deeper_key: 2 } } },
  allNodes: [{ nodeId: "n-2", properties: {} }],
  heldUntil: { leaseUntil: "later" },
  byUserName: { snake_user: { mayWrite: true }, camelUser: { mayWrite: false } },
  answer: { status: "held", heldBy: "Bob" },
  either: { kind: "b", bPart: "b" },
  anything: { left_alone: true },
};

test("declared fields are renamed at every depth, and users' keys in records are not, in both directions", () => {
  expect(fromWire(shape, wire)).toEqual(library);
  expect(toWire(shape, library)).toEqual(wire);
});

test("what the schema does not know stays, for the operation to refuse", () => {
  expect(toWire(z.strictObject({ id: z.string() }), { id: "x", notKnown: 1 })).toEqual({ id: "x", notKnown: 1 });
  expect(toWire(shape, "no object")).toBe("no object");
  expect(toWire(shape, { createdAt: 1, answer: { status: "other" } })).toEqual({
    created_at: 1,
    answer: { status: "other" },
  });
});

test("types follow: fields change, index signatures do not", () => {
  type Renamed = CamelKeys<{ run_id: string; task_ids?: string[]; by_name: Record<string, { is_it: boolean }> }>;
  expectTypeOf<Renamed>().toEqualTypeOf<{
    runId: string;
    taskIds?: string[];
    byName: Record<string, { isIt: boolean }>;
  }>();
});

test("snakeKeys renames one object and nothing inside it", () => {
  const renamed = snakeKeys({ createdAt: "now", id: "x", properties: { userKey: 1 } });
  expect(renamed).toEqual({ created_at: "now", id: "x", properties: { userKey: 1 } });
  expectTypeOf(renamed).toEqualTypeOf<{ created_at: string; id: string; properties: { userKey: number } }>();
});
