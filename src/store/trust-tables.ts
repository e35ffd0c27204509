import type { Generated } from "kysely";

/** The tables of the trust of passages; migration 0050 describes the columns. */
export interface TrustTables {
  trust_queue: { ticket: Generated<number>; kind: string; subject: string };
  trust_subjects: TrustSubjectRow;
  passage_trust: PassageTrustRow;
  passage_decisions: PassageDecisionRow;
  cited_sources: CitedSourceRow;
  contradictions: ContradictionRow;
}

export interface TrustSubjectRow {
  subject: string;
  version: number;
  counts: string;
}

export interface PassageTrustRow {
  subject: string;
  hash: string;
  heading: string;
  text: string;
  gone: number;
  before: string | null;
  state: string;
  causes: string;
  lost: string | null;
  since: string;
  how: "agent" | "person" | "approval" | "edit" | "git";
  author: string;
  role: string | null;
  run: string | null;
  task: string | null;
  epoch: number | null;
  version: number;
  written_at: string;
  approved_by: string | null;
  verified_by: string | null;
  verified_at: string | null;
  refs: string;
  stale_after: string | null;
  compared: number;
}

export interface PassageDecisionRow {
  id: string;
  subject: string;
  hash: string;
  kind: "verify" | "dispute" | "question";
  by_name: string;
  note: string;
  at: string;
  stale_after: string | null;
  topic_id: string | null;
}

export interface CitedSourceRow {
  subject: string;
  hash: string;
  ref: string;
  lines: string;
  seen: string;
  seen_at: string;
  trouble: "changed" | "gone" | null;
  trouble_at: string | null;
}

export interface ContradictionRow {
  subject: string;
  hash: string;
  other_subject: string;
  other_hash: string;
  says: string;
}
