import { ok } from "../../kernel/result.ts";
import type { EntryStore } from "../../wiki/entry.ts";
import { applySection } from "../../wiki/new-section.ts";
import type { Approver, Effect } from "./approve.ts";
import type { WholeProposal } from "./proposal.ts";

type Deps = { root: string; wiki: string; entries: EntryStore; now(): Date };
type SectionPlan = { proposal: WholeProposal; approver: Approver };

/** Approving a new section writes it into schema.yaml (K11) and commits its entry, empty, as version 1. */
export const sectionEffect = ({ root, wiki, entries, now }: Deps): Effect<SectionPlan> => ({
  prepare: async (proposal, approver) => ok({ proposal, approver }),
  apply: (tx, { proposal, approver }) => applySection(tx, { root, wiki, now }, proposal, approver),
  async settle({ proposal, approver }, committed) {
    if (committed) await entries.commit(proposal.subject, "", 0, approver);
  },
});
