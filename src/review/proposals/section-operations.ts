import * as z from "zod";
import { nameOf } from "../../kernel/caller.ts";
import { suggest } from "../../kernel/nearest.ts";
import { operation, writers } from "../../kernel/operation.ts";
import { ok, refuse } from "../../kernel/result.ts";
import { findSection, rolesOf, section } from "../../wiki/schema.ts";
import type { ReviewApp } from "../review-app.ts";

export const createSection = operation({
  name: "create_section",
  summary: "Propose a new section; a person must approve it.",
  guidance:
    "Use it only when no existing section fits. The section does not exist until it is approved: continue with the existing ones.",
  effect: "writes",
  touches: ["proposal"],
  callers: writers,
  group: "core",
  http: { method: "post", path: "/sections" },
  input: section,
  output: z.object({ status: z.literal("pending"), proposal_id: z.string(), message: z.string() }),
  async run(app: ReviewApp, wanted, caller) {
    const schema = await app.schema();
    if (!schema.ok) return schema;
    if (findSection(schema.value, wanted.id)) return refuse("conflict", `section ${wanted.id} already exists`);
    const roles = rolesOf(schema.value);
    const unknown = wanted.writable_by.find((role) => !roles.includes(role));
    if (unknown !== undefined)
      return refuse("invalid", `writable_by: role ${unknown} is not in schema.yaml; ${suggest(unknown, roles)}`);
    const opened = await app.proposals.open("section", wanted.id, wanted, nameOf(caller));
    if (!opened.ok) return opened;
    const { id } = opened.value;
    return ok({
      status: "pending" as const,
      proposal_id: id,
      message: `section ${wanted.id} is proposed; a person approves proposal ${id}`,
    });
  },
});
