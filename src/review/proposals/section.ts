import { ok } from "../../kernel/result.ts";
import type { EntryStore } from "../../wiki/entry.ts";
import { applySection } from "../../wiki/new-section.ts";
import type { Effect } from "./proposals.ts";

type Deps = { root: string; wiki: string; entries: EntryStore; now(): Date };

/** Approving a new section writes it into schema.yaml (K11), and starts it as every other: an empty entry of version 1. */
export const sectionEffect = ({ root, wiki, entries, now }: Deps): Effect => ({
  async prepare(proposal, approver) {
    return ok({
      apply: (tx) => applySection(tx, { root, wiki, now }, proposal, approver),
      async settle(done) {
        if (done) await entries.commit(proposal.subject, "", 0, approver);
      },
    });
  },
});
