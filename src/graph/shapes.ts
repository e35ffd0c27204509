import * as z from "zod";
import type { ListCursor } from "../store/queries/nodes.ts";
import { answerBytes } from "./budget.ts";
import { anyNodeId, properties, propertyName, typeName } from "./node.ts";

/** Input and output schemas that several operations of the graph share. */

export const id = anyNodeId.describe("Id of the node");
export const edgeId = z
  .string()
  .regex(/^[^\p{Cc}\p{Surrogate}]{1,600}$/u, "expected the id of an edge, on one line")
  .describe("Id of the edge, as in memory_get_neighbors");
export const fields = z
  .array(propertyName)
  .max(100)
  .optional()
  .describe('Names of properties to return; ["*"] for all. Default: none');
export const cursor = z
  .string()
  .regex(/^\d{1,2}:[^\p{Cc}\p{Surrogate}]{1,260}$/u, "expected the cursor of an earlier answer")
  .optional()
  .describe("Cursor of the previous answer, for the next page");
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
    .describe("Truncated properties; continue with fields: [property] and offset: next"),
  omitted: z.int().optional().describe("Number of properties that did not fit; name them in fields"),
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
  .describe("Role, run and task of the last write by an agent");
export const truncated = z.boolean().optional().describe("True if results were left out");

/** The bytes left for items; the rest of the response needs some. */
export const room = answerBytes - 200;
