import { createHash } from "node:crypto";
import * as z from "zod";

const oneLine = z
  .string()
  .trim()
  .min(1, "must not be empty")
  .max(100)
  .regex(/^[^\p{C}\p{Zl}\p{Zp}]+$/u, "expected a single line without hidden characters");

/** A reader described in `scriptorium.yaml` or in a page's frontmatter. */
export const personaDefinition = z.strictObject({
  name: oneLine.describe("Name of the reader, such as `new colleague`"),
  description: z
    .string()
    .trim()
    .min(1)
    .max(4000)
    .describe("Who the reader is, what they know, and what they need from a page"),
  guidance: z
    .string()
    .trim()
    .min(1)
    .max(4000)
    .optional()
    .describe("How to write for the reader: length, tone, what to leave out"),
});
export type PersonaDefinition = z.infer<typeof personaDefinition>;

export const personaList = z
  .array(personaDefinition)
  .max(100)
  .refine((list) => new Set(list.map((p) => p.name)).size === list.length, "two personas have the same name");

export type Persona = PersonaDefinition & {
  /** Hash of the definition; a change makes existing perspectives stale. */
  sha: string;
  from: "workspace" | "page";
};

export function personaFrom(definition: PersonaDefinition, from: Persona["from"]): Persona {
  const { name, description, guidance } = definition;
  const sha = createHash("sha256")
    .update(JSON.stringify([name, description, guidance ?? ""]))
    .digest("hex");
  return { ...definition, sha, from };
}
