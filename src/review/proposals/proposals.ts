import { ok, type Result, refuse } from "../../kernel/result.ts";
import { advisoryLock } from "../../store/advisory-lock.ts";
import type { Database, Query } from "../../store/database.ts";
import { appendEvent } from "../../store/events.ts";
import { noSuch } from "../../store/no-such.ts";
import type { Publications } from "../../store/publications.ts";
import {
  commentsOn,
  findProposal,
  insertComment,
  insertLineComment,
  insertProposal,
  lastRevisionNumber,
  listProposals,
  resolveLineComment,
  supersedeProposals,
} from "../../store/queries/proposals.ts";
import { addMessage } from "../../store/queries/topics.ts";
import type { LineCommentRow, ProposalCommentRow, ProposalRow } from "../../store/tables.ts";
import { type Effect, proposalDecisions } from "./approve.ts";
import { type Approver, type Proposal, proposalOf, type WholeProposal, wholeProposal } from "./proposal.ts";
import type { SignApproval } from "./signature.ts";

export type Comment = { id: string; author: string; content: string; wantsRevision: boolean; at: string };

/** A checked proposal for a new text of a page. */
export type NewPageProposal = {
  path: string;
  topicId: string;
  baseSha: string;
  baseText: string;
  text: string;
  proposedBy: string | null;
  jobId: string | null;
  data: Record<string, unknown>;
  /** The open revision that it is made from: refused if that one is no longer open. */
  replaces?: string;
  /** A message of its author for the topic. */
  message?: string;
  /** Opens the topic first, in the same transaction. */
  openTopic?(tx: Query): Promise<void>;
};

type Deps = {
  db: Database;
  publications: Publications;
  effects: Record<string, Effect>;
  now(): Date;
  newId(prefix: string): string;
  sign?: SignApproval | undefined;
};

const mostRevisions = 100;
const mostListed = 200;
const mostComments = 500;

/** Changes that wait for a person. Nothing an agent sends can decide one. */
export function proposalStore({ db, publications, effects, now, newId, sign }: Deps) {
  return {
    ...proposalDecisions({ db, publications, effects, now, sign }),

    async open(
      kind: string,
      subject: string,
      data: Record<string, unknown>,
      proposedBy: string,
    ): Promise<Result<Proposal>> {
      const fields = { id: newId("p"), kind, subject, data, proposed_by: proposedBy, created_at: now().toISOString() };
      return db.write(async (tx): Promise<Result<Proposal>> => {
        const opened = await insertProposal(tx, fields);
        if (!opened) return refuse("conflict", `a proposal for ${kind} ${subject} is already open`);
        const event = { at: fields.created_at, actor: proposedBy, subject: `proposal:${opened.id}` };
        await appendEvent(tx, { ...event, kind: "proposal-opened", data: { kind, subject } });
        return ok(proposalOf(opened));
      });
    },

    /** Opens the next revision for a topic and supersedes the open one, if any. */
    async openPage(fields: NewPageProposal): Promise<Result<Proposal>> {
      const { path, topicId, baseSha, baseText, text, proposedBy, jobId, data, replaces, message, openTopic } = fields;
      return db.write(async (tx): Promise<Result<Proposal>> => {
        await openTopic?.(tx);
        await advisoryLock(tx, db.engine, `topic:${topicId}`);
        const revision = (await lastRevisionNumber(tx, topicId)) + 1;
        if (revision > mostRevisions) {
          return refuse("refused", `topic ${topicId} has the maximum of ${mostRevisions} revisions; open a new topic`);
        }
        const replaced = replaces === undefined ? undefined : await findProposal(tx, replaces);
        if (replaced && replaced.status !== "open")
          return refuse("conflict", `proposal ${replaces} is ${replaced.status}; look at the latest revision`);
        const at = now().toISOString();
        await supersedeProposals(tx, topicId, at);
        const opened = await insertProposal(tx, {
          id: newId("p"),
          kind: "page",
          subject: path,
          data,
          proposed_by: proposedBy,
          created_at: at,
          topic_id: topicId,
          revision_number: revision,
          base_source_sha: baseSha,
          base_text: baseText,
          text,
          job_id: jobId,
        });
        if (!opened) throw new Error(`revision ${revision} of topic ${topicId} exists although its lock is held`);
        const event = {
          at,
          actor: proposedBy ?? "agent",
          kind: "proposal-opened" as const,
          subject: `proposal:${opened.id}`,
        };
        const about = {
          kind: "page",
          subject: path,
          topic_id: topicId,
          revision_number: revision,
          base_source_sha: baseSha,
          job_id: jobId,
          ...(replaces === undefined ? {} : { taken_from: replaces, left_out: (data.left_out ?? []) as number[] }),
        };
        await appendEvent(tx, { ...event, data: about });
        if (message && proposedBy !== null) await tellTopic(tx, topicId, { by: proposedBy, text: message, at });
        return ok(proposalOf(opened));
      });
    },

    async comment(id: string, by: Approver, text: string, wantsRevision: boolean): Promise<Result<Comment>> {
      const found = await findProposal(db.read, id);
      if (!found) return noSuch(db.read, "proposal", id);
      if (wantsRevision && (found.kind !== "page" || found.status === "approved")) {
        const why =
          found.kind === "page"
            ? "is already approved; open a topic for further changes"
            : `is for a ${found.kind}, which has no revisions; reject it and say why`;
        return refuse("conflict", `proposal ${id} ${why}`);
      }
      const at = now().toISOString();
      const row = { id: newId("c"), proposal_id: id, author: by.name, text, wants_revision: wantsRevision ? 1 : 0, at };
      await db.write(async (tx) => {
        await insertComment(tx, row);
        const kind = wantsRevision ? "revision-requested" : "proposal-commented";
        const data = { comment_id: row.id, topic_id: found.topic_id };
        await appendEvent(tx, { at, actor: by.name, kind, subject: `proposal:${id}`, data });
        if (wantsRevision && found.topic_id !== null) await tellTopic(tx, found.topic_id, { by: by.name, text, at });
      });
      return ok(commentOf(row));
    },

    /** A message of the topic about one line of the diff. */
    async commentOnLine(
      { id, topicId }: Proposal,
      by: Approver,
      { content, ...place }: Pick<LineCommentRow, "side" | "line" | "quote"> & { content: string },
    ): Promise<Result<{ seq: number; at: string }>> {
      const at = now().toISOString();
      return db.write(async (tx): Promise<Result<{ seq: number; at: string }>> => {
        const topic = topicId ?? "";
        const seq = await tellTopic(tx, topic, { by: by.name, text: content, at });
        if (seq === undefined) return noSuch(tx, "topic", topic);
        await insertLineComment(tx, {
          topic_id: topic,
          seq,
          proposal_id: id,
          ...place,
          resolved_by: null,
          resolved_at: null,
        });
        const data = { seq, topic_id: topic, side: place.side, line: place.line };
        await appendEvent(tx, { at, actor: by.name, kind: "proposal-commented", subject: `proposal:${id}`, data });
        return ok({ seq, at });
      });
    },

    /** Resolves a comment on a line of any revision for the topic, or opens it again; true if that changed it. */
    async resolveLineComment(
      { id, topicId }: Proposal,
      by: Approver,
      seq: number,
      resolved: boolean,
    ): Promise<boolean> {
      const at = now().toISOString();
      const topic = topicId ?? "";
      return db.write(async (tx): Promise<boolean> => {
        const changed = await resolveLineComment(tx, topic, seq, resolved ? { by: by.name, at } : null);
        const kind = resolved ? "proposal-comment-resolved" : "proposal-comment-reopened";
        if (changed)
          await appendEvent(tx, {
            at,
            actor: by.name,
            kind,
            subject: `proposal:${id}`,
            data: { seq, topic_id: topic },
          });
        return changed;
      });
    },

    /** Oldest first. */
    async comments(id: string): Promise<Comment[]> {
      return (await commentsOn(db.read, id, mostComments)).map(commentOf);
    },

    /** Newest first, without their texts. */
    async list(status?: ProposalRow["status"], topic?: string): Promise<Proposal[]> {
      return (await listProposals(db.read, { status, topic, limit: mostListed })).map(proposalOf);
    },

    async find(id: string): Promise<WholeProposal | undefined> {
      const row = await findProposal(db.read, id);
      return row && wholeProposal(row);
    },
  };
}

/** The note is part of the discussion: the next agent and everybody in the topic reads it there. */
async function tellTopic(tx: Query, topic: string, { by, text, at }: { by: string; text: string; at: string }) {
  const seq = await addMessage(tx, { topic_id: topic, author: by, author_kind: "person", text, created_at: at });
  if (seq === undefined) return undefined;
  const data = { seq, by: "person" };
  await appendEvent(tx, { at, actor: by, kind: "topic-replied", subject: `topic:${topic}`, data });
  return seq;
}

export type ProposalStore = ReturnType<typeof proposalStore>;

const commentOf = ({ id, author, text, wants_revision, at }: ProposalCommentRow): Comment => ({
  id,
  author,
  content: text,
  wantsRevision: wants_revision === 1,
  at,
});
