import type { FullProposal, StoredProposal } from "../../store/queries/proposals.ts";

export type Approver = { name: string; email?: string };

export type Proposal = {
  id: string;
  kind: string;
  subject: string;
  data: Record<string, unknown>;
  /** Null for an agent: agents are not users. */
  proposedBy: string | null;
  status: StoredProposal["status"];
  createdAt: string;
  decidedAt: string | null;
  decidedBy: string | null;
  note: string | null;
  topicId: string | null;
  revisionNumber: number | null;
  baseSourceSha: string | null;
  jobId: string | null;
};

/** A proposal with its texts, which are empty for kinds other than pages. */
export type WholeProposal = Proposal & { text: string; baseText: string };

export const proposalOf = (row: StoredProposal): Proposal => ({
  id: row.id,
  kind: row.kind,
  subject: row.subject,
  data: row.data,
  proposedBy: row.proposed_by,
  status: row.status,
  createdAt: row.created_at,
  decidedAt: row.decided_at,
  decidedBy: row.decided_by,
  note: row.note,
  topicId: row.topic_id,
  revisionNumber: row.revision_number,
  baseSourceSha: row.base_source_sha,
  jobId: row.job_id,
});

export const wholeProposal = (row: FullProposal): WholeProposal => ({
  ...proposalOf(row),
  text: row.text ?? "",
  baseText: row.base_text ?? "",
});
