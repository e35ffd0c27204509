import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ok, type Result } from "../kernel/result.ts";
import type { Query } from "../store/database.ts";
import { discard, publish, stage } from "../store/disk/disk.ts";
import { commitMessage, enqueue } from "../store/git/history.ts";
import { addSection, findSection, parseSchema, type Section } from "./schema.ts";
import { blobOf } from "./stores/document.ts";

type Asked = { id: string; data: Record<string, unknown>; proposedBy: string | null };
type Place = { root: string; wiki: string; now(): Date };

/** Puts an approved section into schema.yaml (K11), whose comments and order stay as they are. */
export async function applySection(
  tx: Query,
  { root, wiki, now }: Place,
  proposal: Asked,
  approver: { name: string; email?: string },
): Promise<Result<true>> {
  const path = join(wiki, "schema.yaml");
  const file = join(root, path);
  const before = readFileSync(file);
  const section = proposal.data as Section;
  const text = before.toString("utf8");
  const schema = parseSchema(text, path);
  if (!schema.ok) return schema;
  // A crash may have kept the file and lost the decision: then the section stands there already.
  const there = findSection(schema.value, section.id);
  if (there && JSON.stringify(there) === JSON.stringify(section)) return ok(true);

  const after = addSection(text, section, path);
  if (!after.ok) return after;
  const bytes = Buffer.from(after.value);
  const staged = stage(file, bytes, root);
  const published = publish(staged, file, before, root);
  discard(staged);
  if (!published) return applySection(tx, { root, wiki, now }, proposal, approver);
  await enqueue(tx, {
    path,
    blob: blobOf(bytes),
    base: blobOf(before),
    content: bytes,
    appended: false,
    author: { name: approver.name, email: approver.email ?? "" },
    byPerson: false,
    message: commitMessage(`Add section ${section.id}`, {
      "Proposed-by": proposal.proposedBy,
      "Approved-by": approver.name,
      Proposal: proposal.id,
    }),
    at: now().toISOString(),
  });
  return ok(true);
}
