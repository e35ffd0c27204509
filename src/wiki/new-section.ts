import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ok, type Result } from "../kernel/result.ts";
import type { Query } from "../store/database.ts";
import { discard, replaceFile } from "../store/disk/disk.ts";
import { blobOf } from "../store/git/blob.ts";
import { commitMessage, enqueue } from "../store/git/history.ts";
import { addSection, findSection, parseSchema, type Section } from "./schema.ts";

type SectionProposal = { id: string; data: Record<string, unknown>; proposedBy: string | null };
type Place = { root: string; wiki: string; now(): Date };

/** Adds an approved section to schema.yaml (K11) and keeps its comments and order. */
export async function applySection(
  tx: Query,
  { root, wiki, now }: Place,
  proposal: SectionProposal,
  approver: { name: string; email?: string },
): Promise<Result<true>> {
  const path = join(wiki, "schema.yaml");
  const file = join(root, path);
  const before = readFileSync(file);
  const section = proposal.data as Section;
  const text = before.toString("utf8");
  const schema = parseSchema(text, path);
  if (!schema.ok) return schema;
  // After a crash the file may have the section although the decision was rolled back.
  const there = findSection(schema.value, section.id);
  if (there && JSON.stringify(there) === JSON.stringify(section)) return ok(true);

  const after = addSection(text, section, path);
  if (!after.ok) return after;
  const bytes = Buffer.from(after.value);
  const staged = replaceFile(file, bytes, before, root);
  if (staged === undefined) return applySection(tx, { root, wiki, now }, proposal, approver);
  discard(staged);
  await enqueue(tx, {
    path,
    base: blobOf(before),
    content: bytes,
    author: { name: approver.name, email: approver.email ?? "" },
    message: commitMessage(`Add section ${section.id}`, {
      "Proposed-by": proposal.proposedBy,
      "Approved-by": approver.name,
      Proposal: proposal.id,
    }),
    at: now().toISOString(),
  });
  return ok(true);
}
