import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Database, Query } from "../../store/database.ts";
import { appendEvent } from "../../store/events.ts";
import { kept } from "../../store/kept.ts";
import { lockEntry } from "../../store/queries/entries.ts";
import type { ProposalRow } from "../../store/tables.ts";

export type Proposal = {
  id: string;
  kind: string;
  subject: string;
  data: Record<string, unknown>;
  /** Null: the agent, which is no user. */
  proposedBy: string | null;
  status: ProposalRow["status"];
  createdAt: string;
  decidedAt: string | null;
  decidedBy: string | null;
  note: string | null;
  topicId: string | null;
  revisionNumber: number | null;
  baseSourceSha: string | null;
  jobId: string | null;
};

/** A proposal with the texts it is about; for other kinds than pages these are empty. */
export type WholeProposal = Proposal & { text: string; baseText: string };

export type Comment = { id: string; author: string; text: string; wantsRevision: boolean; at: string };

export type Approver = { name: string; email?: string };

/** What else the person said when they approved. */
export type Asked = { note?: string | undefined; merge?: boolean | undefined; onto?: string | undefined };

/** What approving a proposal of one kind does. */
export interface Effect {
  /** Looks at files and git, and says what there is to do or why it cannot be done. Changes nothing. */
  prepare(proposal: WholeProposal, approver: Approver, asked: Asked): Promise<Result<Deed>>;
}

/** An approval that is ready to be carried out. */
export type Deed = {
  /** Kept with the proposal before anything is touched, for a start after a crash. */
  intent?: Record<string, unknown>;
  /** Inside the transaction that marks it approved; awaits nothing but its queries. */
  apply(tx: Query, at: string): Promise<Result<unknown>>;
  /** Once it is on disk, or has failed. */
  settle?(done: boolean): Promise<void>;
};

/** A page proposal as it is asked for, checked. */
export type NewPageProposal = {
  path: string;
  topicId: string;
  baseSha: string;
  baseText: string;
  text: string;
  proposedBy: string | null;
  jobId: string | null;
  data: Record<string, unknown>;
};

type Deps = { db: Database; effects: Record<string, Effect>; now(): Date; newId(prefix: string): string };

const mostRevisions = 100;

/** Changes that wait for a person. Nothing an agent sends can decide one. */
export function proposalStore({ db, effects, now, newId }: Deps) {
  async function decide(
    id: string,
    status: "approved" | "rejected",
    by: Approver,
    note: string | undefined,
    deed: Deed | undefined,
  ): Promise<Result<Proposal>> {
    return db.write(async (tx): Promise<Result<Proposal>> => {
      const at = now().toISOString();
      const marked = await tx
        .updateTable("proposals")
        .set({ status, decided_at: at, decided_by: by.name, note: note ?? null })
        .where("id", "=", id)
        .where("status", "=", "open")
        .returningAll()
        .executeTakeFirst();
      if (!marked) return refuse("conflict", `proposal ${id} was decided by someone else just now`);
      await appendEvent(tx, {
        at,
        actor: by.name,
        kind: `proposal-${status}`,
        subject: `proposal:${id}`,
        data: { kind: marked.kind, subject: marked.subject, topic: marked.topic_id, note: note ?? null },
      });
      const done = await deed?.apply(tx, at);
      if (done && !done.ok) return done;
      return ok(fromRow(marked));
    });
  }

  async function stillOpen(id: string): Promise<Result<WholeProposal>> {
    const row = await db.read.selectFrom("proposals").selectAll().where("id", "=", id).executeTakeFirst();
    if (!row) return refuse("not_found", `no proposal ${id}; see: scriptorium proposal list`);
    if (row.status === "superseded") {
      return refuse("conflict", `proposal ${id} was superseded by a later revision; see: scriptorium proposal list`);
    }
    if (row.status !== "open") {
      return refuse("conflict", `proposal ${id} was ${row.status} by ${row.decided_by} at ${row.decided_at}`);
    }
    return ok(wholeFrom(row));
  }

  /** Carries out what was prepared; whatever happens, what it holds is let go of. */
  async function carryOut(id: string, by: Approver, note: string | undefined, deed: Deed): Promise<Result<Proposal>> {
    let done = false;
    try {
      const decided = await decide(id, "approved", by, note, deed);
      done = decided.ok;
      return decided;
    } finally {
      await deed.settle?.(done);
    }
  }

  return {
    async open(
      kind: string,
      subject: string,
      data: Record<string, unknown>,
      proposedBy: string,
    ): Promise<Result<Proposal>> {
      const row = { ...blank, id: newId("p"), kind, subject, data: JSON.stringify(data), proposed_by: proposedBy };
      const made: ProposalRow = { ...row, created_at: now().toISOString() };
      return db.write(async (tx): Promise<Result<Proposal>> => {
        const inserted = await tx
          .insertInto("proposals")
          .values(made)
          .onConflict((conflict) => conflict.doNothing())
          .returning("id")
          .executeTakeFirst();
        if (!inserted) return refuse("conflict", `a proposal for the ${kind} ${subject} waits for a person already`);
        const event = { at: made.created_at, actor: proposedBy, subject: `proposal:${made.id}` };
        await appendEvent(tx, { ...event, kind: "proposal-opened", data: { kind, subject } });
        return ok(fromRow(made));
      });
    },

    /** The next revision for its topic; an earlier one that still waits is superseded by it. */
    async openPage(asked: NewPageProposal): Promise<Result<Proposal>> {
      const { path, topicId, baseSha, baseText, text, proposedBy, jobId } = asked;
      return db.write(async (tx): Promise<Result<Proposal>> => {
        await lockEntry(tx, db.engine, `topic:${topicId}`);
        const last = await tx
          .selectFrom("proposals")
          .select((x) => x.fn.max("revision_number").as("revision"))
          .where("topic_id", "=", topicId)
          .executeTakeFirst();
        const revision = (last?.revision ?? 0) + 1;
        if (revision > mostRevisions) {
          return refuse("refused", `topic ${topicId} has ${mostRevisions} revisions already; open a new topic`);
        }
        const at = now().toISOString();
        const made: ProposalRow = {
          ...blank,
          id: newId("p"),
          kind: "page",
          subject: path,
          data: JSON.stringify(asked.data),
          proposed_by: proposedBy,
          created_at: at,
          topic_id: topicId,
          revision_number: revision,
          base_source_sha: baseSha,
          base_text: baseText,
          text,
          job_id: jobId,
        };
        await tx
          .updateTable("proposals")
          .set({ status: "superseded", decided_at: at, approval: null })
          .where("topic_id", "=", topicId)
          .where("status", "=", "open")
          .execute();
        await tx.insertInto("proposals").values(made).execute();
        const data = { kind: "page", subject: path, topic: topicId, revision, base: baseSha, job: jobId };
        const event = { at, actor: proposedBy ?? "agent", kind: "proposal-opened", subject: `proposal:${made.id}` };
        await appendEvent(tx, { ...event, data });
        return ok(fromRow(made));
      });
    },

    async comment(id: string, by: Approver, text: string, wantsRevision: boolean): Promise<Result<Comment>> {
      const found = await this.find(id);
      if (!found) return refuse("not_found", `no proposal ${id}; see: scriptorium proposal list`);
      if (wantsRevision && (found.kind !== "page" || found.status === "approved")) {
        const why = found.kind === "page" ? "was approved already; open a topic" : `is for a ${found.kind}; reject it`;
        return refuse("conflict", `proposal ${id} ${why} and say what you want`);
      }
      const at = now().toISOString();
      const row = { id: newId("c"), proposal_id: id, author: by.name, text, wants_revision: wantsRevision ? 1 : 0, at };
      await db.write(async (tx) => {
        await tx.insertInto("proposal_comments").values(row).execute();
        const kind = wantsRevision ? "revision-requested" : "proposal-commented";
        const data = { comment: row.id, topic: found.topicId };
        await appendEvent(tx, { at, actor: by.name, kind, subject: `proposal:${id}`, data });
      });
      return ok(commentFrom(row));
    },

    /** Oldest first. */
    async comments(id: string): Promise<Comment[]> {
      const query = db.read.selectFrom("proposal_comments").selectAll().where("proposal_id", "=", id);
      return (await query.orderBy("at").orderBy("id").limit(500).execute()).map(commentFrom);
    },

    /** Newest first, without their texts. */
    async list(status?: ProposalRow["status"], topicId?: string): Promise<Proposal[]> {
      const rows = await db.read
        .selectFrom("proposals")
        .select(briefColumns)
        .$if(status !== undefined, (q) => q.where("status", "=", status ?? "open"))
        .$if(topicId !== undefined, (q) => q.where("topic_id", "=", topicId ?? ""))
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(200)
        .execute();
      return rows.map(fromRow);
    },

    async find(id: string): Promise<WholeProposal | undefined> {
      const row = await db.read.selectFrom("proposals").selectAll().where("id", "=", id).executeTakeFirst();
      return row && wholeFrom(row);
    },

    async approve(id: string, by: Approver, asked: Asked = {}): Promise<Result<Proposal>> {
      const found = await stillOpen(id);
      if (!found.ok) return found;
      const deed = await effects[found.value.kind]?.prepare(found.value, by, asked);
      if (!deed) throw new Error(`nothing is known to do for a proposal of kind ${found.value.kind}`);
      if (!deed.ok) return deed;
      const { intent } = deed.value;
      if (intent) {
        const approval = JSON.stringify({ by, note: asked.note, ...intent });
        await db.write((tx) => tx.updateTable("proposals").set({ approval }).where("id", "=", id).execute());
      }
      const done = await carryOut(id, by, asked.note, deed.value);
      // Otherwise a person who later writes these very words themselves would find them approved.
      if (!done.ok && intent) {
        const none = { approval: null };
        await db.write((tx) =>
          tx.updateTable("proposals").set(none).where("id", "=", id).where("status", "=", "open").execute(),
        );
      }
      return done;
    },

    async reject(id: string, by: Approver, note?: string): Promise<Result<Proposal>> {
      const found = await stillOpen(id);
      return found.ok ? decide(id, "rejected", by, note, undefined) : found;
    },

    /** Approvals that a crash may have cut off: what the person had decided. */
    async unfinished(): Promise<{ proposal: WholeProposal; approval: Record<string, unknown> }[]> {
      const query = db.read.selectFrom("proposals").selectAll();
      const rows = await query.where("approval", "is not", null).where("status", "=", "open").execute();
      return rows.flatMap((row) => {
        const approval = kept<Record<string, unknown> | undefined>(row.approval ?? "{}", undefined);
        return approval ? [{ proposal: wholeFrom(row), approval }] : [];
      });
    },

    carryOut,
  };
}

export type ProposalStore = ReturnType<typeof proposalStore>;

const blank = {
  status: "open",
  decided_at: null,
  decided_by: null,
  note: null,
  topic_id: null,
  revision_number: null,
  base_source_sha: null,
  base_text: null,
  text: null,
  job_id: null,
  approval: null,
} as const;

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

const fromRow = (row: Omit<ProposalRow, "text" | "base_text" | "approval">): Proposal => ({
  id: row.id,
  kind: row.kind,
  subject: row.subject,
  data: kept(row.data, {}),
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

const wholeFrom = (row: ProposalRow): WholeProposal => ({
  ...fromRow(row),
  text: row.text ?? "",
  baseText: row.base_text ?? "",
});

const commentFrom = (row: {
  id: string;
  author: string;
  text: string;
  wants_revision: number;
  at: string;
}): Comment => ({
  id: row.id,
  author: row.author,
  text: row.text,
  wantsRevision: row.wants_revision === 1,
  at: row.at,
});
