import { createHash } from "node:crypto";
import { ok, type Result } from "../../kernel/result.ts";
import { storageProblem } from "../../kernel/storage-problem.ts";
import type { ObjectFormat } from "../../store/git/blob.ts";
import type { Git } from "../../store/git/git.ts";
import type { EntryStore } from "../../wiki/entry.ts";
import { applySection } from "../../wiki/new-section.ts";
import type { Schema } from "../../wiki/schema.ts";
import type { Effect } from "./approve.ts";
import { hiddenFields, hiddenRefusal } from "./hidden-text.ts";
import type { Approver, WholeProposal } from "./proposal.ts";

type Deps = Omit<Parameters<typeof applySection>[1], "stage" | "format"> & {
  git: Git;
  entries: EntryStore;
  /** Records an edit of schema.yaml by hand first, so that it is not attributed to the approver. */
  schema(): Promise<Result<Schema>>;
};
type SectionPlan = { proposal: WholeProposal; approver: Approver; format: ObjectFormat };

/** Approving a new section writes it into schema.yaml (K11) and commits its entry, empty, as version 1. */
export const sectionEffect = ({ git, entries, schema, ...deps }: Deps): Effect<SectionPlan> => ({
  async prepare(proposal, approver, { acceptHidden }) {
    const hidden = acceptHidden ? [] : hiddenFields(proposal.data);
    if (hidden.length > 0) return hiddenRefusal(proposal.id, hidden);
    const read = await schema();
    return read.ok ? ok({ proposal, approver, format: await git.objectFormat() }) : read;
  },
  content: ({ proposal }) => sectionContent(proposal.data),
  apply: (tx, { proposal, approver, format }, _at, stage) =>
    applySection(tx, { ...deps, stage, format }, proposal, approver),
  async settle({ proposal, approver }, committed) {
    if (!committed) return;
    await entries.commit(proposal.subject, "", 0, approver).catch((error: unknown) => {
      // The section is approved; its entry has version 0 until somebody writes it.
      if (!storageProblem(error)) throw error;
    });
  },
});

/** The hash of a section's definition. */
export const sectionContent = (data: object) => createHash("sha256").update(JSON.stringify(data)).digest("hex");
