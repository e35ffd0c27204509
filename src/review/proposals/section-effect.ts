import { createHash } from "node:crypto";
import { ok } from "../../kernel/result.ts";
import type { EntryStore } from "../../wiki/entry.ts";
import { applySection } from "../../wiki/new-section.ts";
import type { Effect } from "./approve.ts";
import type { Approver, WholeProposal } from "./proposal.ts";

type Deps = { root: string; wiki: string; entries: EntryStore; now(): Date };
type SectionPlan = { proposal: WholeProposal; approver: Approver };

/** Approving a new section writes it into schema.yaml (K11) and commits its entry, empty, as version 1. */
export const sectionEffect = ({ root, wiki, entries, now }: Deps): Effect<SectionPlan> => ({
  prepare: async (proposal, approver) => ok({ proposal, approver }),
  content: ({ proposal }) => sectionContent(proposal.data),
  apply: (tx, { proposal, approver }) => applySection(tx, { root, wiki, now }, proposal, approver),
  async settle({ proposal, approver }, committed) {
    if (committed) await entries.commit(proposal.subject, "", 0, approver);
  },
});

/** The hash of a section's definition. */
export const sectionContent = (data: object) => createHash("sha256").update(JSON.stringify(data)).digest("hex");
