import * as z from "zod";
import type { ListCursor } from "../store/queries/nodes.ts";
import { answerBytes } from "./budget.ts";
import { anyNodeId, properties, propertyName, typeName } from "./node.ts";

/** Input and output schemas that several operations of the graph share. */

export const id = anyNodeId.describe("The node's id");
export const edgeId = z
  .string()
  .regex(/^[^\p{Cc}\p{Surrogate}]{1,600}$/u, "expected the id of an edge, on one line")
  .describe("The edge's id, as memory_get_neighbors shows it");
export const fields = z
  .array(propertyName)
  .max(100)
  .optional()
  .describe('Names of the properties to give; ["*"] for all. None if left out');
export const cursor = z
  .string()
  .regex(/^\d{1,2}:[^\p{Cc}\p{Surrogate}]{1,260}$/u, "expected the cursor of an earlier answer")
  .optional()
  .describe("The cursor of the answer before, to go on from there");
export const placeAt = (cursor: string | undefined): ListCursor | undefined => {
  const [, stream, key] = /^(\d+):(.+)$/.exec(cursor ?? "") ?? [];
  return stream === undefined || key === undefined ? undefined : { stream: Number(stream), key };
};
export const cursorAt = ({ stream, key }: ListCursor) => `${stream}:${key}`;
export const edgeTypes = z.array(typeName).min(1).max(20).optional().describe("Follow only edges of these types");

export const line = z.object({ id: z.string(), type: z.string(), title: z.string() });
export const step = z.object({ from: z.string(), type: z.string(), to: z.string() });
export const chosen = z.object({
  properties,
  cut: z
    .array(z.object({ property: z.string(), characters: z.int(), next: z.int() }))
    .optional()
    .describe("Properties of which only the beginning is here; read on with fields: [property] and offset: next"),
  omitted: z.int().optional().describe("How many properties found no place at all; name them in fields"),
});
export const written = z
  .object({
    role: z.string().nullable(),
    run: z.string().nullable(),
    task: z.string().nullable(),
    epoch: z.int().nullable(),
    attempt: z.int().nullable(),
  })
  .optional()
  .describe("Under what an agent last wrote it");
export const truncated = z.boolean().optional().describe("True when there is more than this answer holds");

/** The bytes left for items; the rest of the response needs some. */
export const room = answerBytes - 200;
