import type { Query } from "../database.ts";
import { parseJsonOr } from "../json.ts";
import type { LineCommentRow, ProposalCommentRow, ProposalRow } from "../tables.ts";

/** A proposal without its texts, with its data parsed. */
export type StoredProposal = Omit<ProposalRow, "data" | "text" | "base_text" | "publishing" | "signature"> & {
  data: Record<string, unknown>;
};

/** A proposal with its texts, the intent of an approval that is not finished, and the signature of its approval. */
export type FullProposal = StoredProposal & {
  text: string | null;
  base_text: string | null;
  publishing: Record<string, unknown> | null;
  signature: string | null;
};

/** The columns that a proposal is opened with; those left out are null. */
export type NewProposal = Pick<StoredProposal, "id" | "kind" | "subject" | "data" | "proposed_by" | "created_at"> &
  Partial<Pick<FullProposal, "topic_id" | "revision_number" | "base_source_sha" | "base_text" | "text" | "job_id">>;

const briefColumns = [
  "id",
  "kind",
  "subject",
  "data",
  "proposed_by",
  "status",
  "created_at",
  "decided_at",
  "decided_by",
  "note",
  "topic_id",
  "revision_number",
  "base_source_sha",
  "job_id",
] as const;

type BriefRow = Pick<ProposalRow, (typeof briefColumns)[number]>;

const brief = (row: BriefRow): StoredProposal => ({ ...row, data: parseJsonOr(row.data, {}) });

const full = (row: ProposalRow): FullProposal => ({
  ...row,
  data: parseJsonOr(row.data, {}),
  publishing: row.publishing === null ? null : parseJsonOr(row.publishing, null),
});

export async function findProposal(query: Query, id: string): Promise<FullProposal | undefined> {
  const row = await query.selectFrom("proposals").selectAll().where("id", "=", id).executeTakeFirst();
  return row && full(row);
}

type Filter = { status?: ProposalRow["status"] | undefined; topic?: string | undefined; limit: number };

/** Newest first. */
export async function listProposals(query: Query, { status, topic, limit }: Filter): Promise<StoredProposal[]> {
  const rows = await query
    .selectFrom("proposals")
    .select(briefColumns)
    .$if(status !== undefined, (q) => q.where("status", "=", status ?? "open"))
    .$if(topic !== undefined, (q) => q.where("topic_id", "=", topic ?? ""))
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(limit)
    .execute();
  return rows.map(brief);
}

/** Undefined when an open proposal of the same kind and subject exists. */
export async function insertProposal(tx: Query, fields: NewProposal): Promise<StoredProposal | undefined> {
  const row = await tx
    .insertInto("proposals")
    .values({
      topic_id: null,
      revision_number: null,
      base_source_sha: null,
      base_text: null,
      text: null,
      job_id: null,
      ...fields,
      data: JSON.stringify(fields.data),
      status: "open",
      decided_at: null,
      decided_by: null,
      note: null,
      publishing: null,
      signature: null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning(briefColumns)
    .executeTakeFirst();
  return row && brief(row);
}

type Decision = {
  status: "approved" | "rejected";
  at: string;
  by: string;
  note: string | undefined;
  signature: string | undefined;
};

/** Decides an open proposal; undefined when it is no longer open. */
export async function decideProposal(
  tx: Query,
  id: string,
  { status, at, by, note, signature }: Decision,
): Promise<StoredProposal | undefined> {
  const row = await tx
    .updateTable("proposals")
    .set({ status, decided_at: at, decided_by: by, note: note ?? null, signature: signature ?? null })
    .where("id", "=", id)
    .where("status", "=", "open")
    .returning(briefColumns)
    .executeTakeFirst();
  return row && brief(row);
}

/** Approved proposals, newest first. */
export async function approvedProposals(query: Query, limit: number): Promise<FullProposal[]> {
  const rows = query.selectFrom("proposals").selectAll().where("status", "=", "approved");
  return (await rows.orderBy("decided_at", "desc").limit(limit).execute()).map(full);
}

/** Supersedes the open proposals for a topic. */
export async function supersedeProposals(tx: Query, topic: string, at: string): Promise<void> {
  await tx
    .updateTable("proposals")
    .set({ status: "superseded", decided_at: at })
    .where("topic_id", "=", topic)
    .where("status", "=", "open")
    .execute();
}

/** Records the intent of an approval on an open proposal, or clears it. */
export async function setApproval(tx: Query, id: string, intent: Record<string, unknown> | null): Promise<void> {
  await tx
    .updateTable("proposals")
    .set({ publishing: intent && JSON.stringify(intent) })
    .where("id", "=", id)
    .where("status", "=", "open")
    .execute();
}

/** Moves the open proposals of a topic to the new path of its page; returns their ids. */
export async function movePageProposals(tx: Query, topic: string, to: string): Promise<string[]> {
  const open = await tx
    .selectFrom("proposals")
    .select(["id", "subject", "data"])
    .where("topic_id", "=", topic)
    .where("kind", "=", "page")
    .where("status", "=", "open")
    .execute();
  for (const { id, subject, data } of open) {
    const known = { ...parseJsonOr<Record<string, unknown>>(data, {}), renamed_from: subject };
    await tx
      .updateTable("proposals")
      .set({ subject: to, data: JSON.stringify(known) })
      .where("id", "=", id)
      .execute();
  }
  return open.map(({ id }) => id);
}

/** Open proposals whose approval was begun. */
export async function begunApprovals(query: Query): Promise<FullProposal[]> {
  const rows = query.selectFrom("proposals").selectAll().where("publishing", "is not", null);
  return (await rows.where("status", "=", "open").execute()).map(full);
}

/** 0 when the topic has no proposal. */
export async function lastRevisionNumber(query: Query, topic: string): Promise<number> {
  const row = await query
    .selectFrom("proposals")
    .select((x) => x.fn.max("revision_number").as("revision"))
    .where("topic_id", "=", topic)
    .executeTakeFirst();
  return row?.revision ?? 0;
}

export async function lastRevision(query: Query, topic: string): Promise<FullProposal | undefined> {
  const row = await query
    .selectFrom("proposals")
    .selectAll()
    .where("topic_id", "=", topic)
    .where("kind", "=", "page")
    .orderBy("revision_number", "desc")
    .limit(1)
    .executeTakeFirst();
  return row && full(row);
}

/** The text of a page that some proposal was made from. */
export async function baseTextNamed(query: Query, path: string, blob: string): Promise<string | null | undefined> {
  const row = await query
    .selectFrom("proposals")
    .select("base_text")
    .where("subject", "=", path)
    .where("base_source_sha", "=", blob)
    .limit(1)
    .executeTakeFirst();
  return row?.base_text;
}

export const hasProposalOfJob = async (query: Query, job: string): Promise<boolean> =>
  (await query.selectFrom("proposals").select("id").where("job_id", "=", job).limit(1).executeTakeFirst()) !==
  undefined;

export async function insertComment(tx: Query, row: ProposalCommentRow): Promise<void> {
  await tx.insertInto("proposal_comments").values(row).execute();
}

/** Oldest first. */
export const commentsOn = (query: Query, proposal: string, limit: number): Promise<ProposalCommentRow[]> =>
  query
    .selectFrom("proposal_comments")
    .selectAll()
    .where("proposal_id", "=", proposal)
    .orderBy("at")
    .orderBy("id")
    .limit(limit)
    .execute();

export async function insertLineComment(tx: Query, row: LineCommentRow): Promise<void> {
  await tx.insertInto("line_comments").values(row).execute();
}

/** Marks a comment as resolved, or as open again; false if it is that already or does not exist. */
export async function resolveLineComment(
  tx: Query,
  topic: string,
  seq: number,
  resolved: { by: string; at: string } | null,
): Promise<boolean> {
  const row = await tx
    .updateTable("line_comments")
    .set({ resolved_by: resolved?.by ?? null, resolved_at: resolved?.at ?? null })
    .where("topic_id", "=", topic)
    .where("seq", "=", seq)
    .where("resolved_at", resolved ? "is" : "is not", null)
    .returning("seq")
    .executeTakeFirst();
  return row !== undefined;
}

/** The comments on lines of all revisions for a topic, oldest first. */
export const lineCommentsOf = (query: Query, topic: string, limit: number) =>
  query
    .selectFrom("line_comments")
    .innerJoin("messages", (join) =>
      join.onRef("messages.topic_id", "=", "line_comments.topic_id").onRef("messages.seq", "=", "line_comments.seq"),
    )
    .innerJoin("proposals", "proposals.id", "line_comments.proposal_id")
    .select(["line_comments.seq", "line_comments.proposal_id", "line_comments.side", "line_comments.line"])
    .select(["line_comments.quote", "messages.author", "messages.text", "messages.created_at", "messages.edited_at"])
    .select(["proposals.revision_number", "line_comments.resolved_by", "line_comments.resolved_at"])
    .where("line_comments.topic_id", "=", topic)
    .orderBy("line_comments.seq")
    .limit(limit)
    .execute();
