import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Database, Query } from "../store/database.ts";
import { blobOf, type ObjectFormat } from "../store/git/blob.ts";
import type { Publications, Stage } from "../store/publications.ts";
import { recordSchema, type SchemaPlace } from "./schema/record.ts";
import { addSection, findSection, parseSchema, type Section } from "./schema.ts";

type SectionProposal = { id: string; data: Record<string, unknown>; proposedBy: string | null };
type Deps = {
  engine: Database["engine"];
  publications: Publications;
  stage: Stage;
  place: SchemaPlace;
  format: ObjectFormat;
  now(): Date;
};

/** Adds an approved section to schema.yaml (K11) and keeps its comments and order. */
export async function applySection(
  tx: Query,
  { engine, publications, stage, place, format, now }: Deps,
  proposal: SectionProposal,
  approver: { name: string; email?: string },
): Promise<Result<true>> {
  const before = (await publications.latest(place.path, tx))?.bytes;
  if (!before) return refuse("conflict", `${place.path} is being changed; approve again`);
  const section = proposal.data as Section;
  const text = before.toString("utf8");
  const schema = parseSchema(text, place.path);
  if (!schema.ok) return schema;
  // A person may have added it by hand.
  const there = findSection(schema.value, section.id);
  if (there && JSON.stringify(there) === JSON.stringify(section)) return ok(true);

  const after = addSection(text, section, place.path);
  if (!after.ok) return after;
  const added = parseSchema(after.value, place.path);
  if (!added.ok) return added;
  const bytes = Buffer.from(after.value);
  await recordSchema(tx, engine, place, {
    bytes,
    blob: blobOf(bytes, format),
    schema: added.value,
    author: { name: approver.name, email: approver.email ?? "" },
    at: now().toISOString(),
    commit: {
      subject: `Add section ${section.id}`,
      trailers: { "Proposed-by": proposal.proposedBy, "Approved-by": approver.name, Proposal: proposal.id },
    },
    file: stage(place.path, bytes, before),
  });
  return ok(true);
}
