import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Database, Query } from "../../store/database.ts";
import { appendEvent } from "../../store/events.ts";
import { noSuch } from "../../store/no-such.ts";
import type { Publications, Stage } from "../../store/publications.ts";
import {
  begunApprovals,
  decideProposal,
  findProposal,
  type StoredProposal,
  setApproval,
} from "../../store/queries/proposals.ts";
import { type Approver, type Proposal, proposalOf, type WholeProposal, wholeProposal } from "./proposal.ts";
import { type SignApproval, statementOf } from "./signature.ts";

export type ApprovalOptions = {
  note?: string | undefined;
  merge?: boolean | undefined;
  onto?: string | undefined;
  /** The person has seen the hidden characters of the text. */
  acceptHidden?: boolean | undefined;
};

/**
 * The effect of approving one kind of proposal:
 *
 *   prepare ──▶ transaction: "approved", event, apply ──▶ staged files are published ──▶ settle
 *
 * A text in a store outside the database is published before the transaction, after the intent was saved. A crash in
 * between leaves an open proposal with its intent: `resume` finishes it if the text was published.
 */
export interface Effect<Plan extends object = object> {
  /** Reads files and git and returns the plan, or why the proposal cannot be approved. Changes nothing. */
  prepare(proposal: WholeProposal, approver: Approver, options: ApprovalOptions): Promise<Result<Plan>>;
  /** Names the content that the plan writes, by its hash. */
  content(plan: Plan): string;
  /** Writes what that transaction cannot cover: a text in a store outside the database. */
  publish?: {
    isNeeded(plan: Plan): boolean;
    write(plan: Plan): Promise<Result<unknown>>;
    /** What `resume` needs. */
    intent(plan: Plan): Record<string, unknown>;
    /** The plan of an approval whose text was published before a crash; undefined if it was not. */
    resume(proposal: WholeProposal, approver: Approver, intent: Record<string, unknown>): Promise<Plan | undefined>;
  };
  /** Runs inside the transaction that marks the proposal approved; awaits only its own queries. */
  apply(tx: Query, plan: Plan, at: string, stage: Stage): Promise<Result<unknown>>;
  /** Runs after the transaction was committed or rolled back. */
  settle?(plan: Plan, committed: boolean): Promise<void>;
}

type Deps = {
  db: Database;
  publications: Publications;
  effects: Record<string, Effect>;
  now(): Date;
  /** Set where approvals must be signed. */
  sign?: SignApproval | undefined;
};

export function proposalDecisions({ db, publications, effects, now, sign }: Deps) {
  function effectOf(kind: string): Effect {
    const effect = effects[kind];
    if (!effect) throw new Error(`no effect is defined for proposals of kind ${kind}`);
    return effect;
  }

  async function findOpen(id: string): Promise<Result<WholeProposal>> {
    const row = await findProposal(db.read, id);
    if (!row) return noSuch(db.read, "proposal", id);
    if (row.status === "superseded") {
      return refuse("conflict", `proposal ${id} was superseded by a later revision`, {
        next: [{ operation: "list_proposals", to: "see the open ones" }],
      });
    }
    if (row.status !== "open") {
      return refuse("conflict", `proposal ${id} was ${row.status} by ${row.decided_by} at ${row.decided_at}`);
    }
    return ok(wholeProposal(row));
  }

  type Decision = {
    status: "approved" | "rejected";
    by: Approver;
    note: string | undefined;
    signature?: string | undefined;
  };

  async function decide(tx: Query, id: string, { status, by, note, signature }: Decision, at: string) {
    const decided = await decideProposal(tx, id, { status, at, by: by.name, note, signature });
    if (!decided) return refuse("conflict", `someone else just decided proposal ${id}`);
    const { kind, subject, topic_id } = decided;
    const event = { at, actor: by.name, kind: `proposal-${status}` as const, subject: `proposal:${id}` };
    const signed = signature === undefined ? {} : { signed: true };
    await appendEvent(tx, { ...event, data: { kind, subject, topic_id, note: note ?? null, ...signed } });
    return ok(decided);
  }

  async function applyEffect(
    { id, kind }: WholeProposal,
    approval: Omit<Decision, "status">,
    plan: object,
  ): Promise<Result<Proposal>> {
    const effect = effectOf(kind);
    let committed = false;
    try {
      const done = await publications.write(async (tx, stage): Promise<Result<StoredProposal>> => {
        const at = now().toISOString();
        const decided = await decide(tx, id, { status: "approved", ...approval }, at);
        if (!decided.ok) return decided;
        const applied = await effect.apply(tx, plan, at, stage);
        return applied.ok ? decided : applied;
      });
      committed = done.ok;
      return done.ok ? ok(proposalOf(done.value)) : done;
    } finally {
      await effect.settle?.(plan, committed);
    }
  }

  /** Finishes the approvals, or that of one proposal, that a crash interrupted after their texts were written. */
  async function resumeApprovals(only?: string): Promise<void> {
    for (const row of await begunApprovals(db.read)) {
      if (row.publishing === null || (only !== undefined && row.id !== only)) continue;
      const proposal = wholeProposal(row);
      const { by, note, signature, ...intent } = row.publishing as { by: Approver; note?: string; signature?: string };
      const plan = await effectOf(row.kind).publish?.resume(proposal, by, { ...intent, note });
      if (plan) await applyEffect(proposal, { by, note, signature }, plan);
    }
  }

  return {
    /** Whether an approval would be refused now. Changes nothing. */
    async checkApproval(id: string, by: Approver, options: ApprovalOptions): Promise<Result<WholeProposal>> {
      const found = await findOpen(id);
      if (!found.ok) return found;
      const plan = await effectOf(found.value.kind).prepare(found.value, by, options);
      return plan.ok ? found : plan;
    },

    findOpen,

    async approve(id: string, by: Approver, options: ApprovalOptions = {}): Promise<Result<Proposal>> {
      const found = await findOpen(id);
      if (!found.ok) return found;
      const { note } = options;
      const effect = effectOf(found.value.kind);
      const plan = await effect.prepare(found.value, by, options);
      if (!plan.ok) return plan;
      const signed = await sign?.(statementOf(found.value, effect.content(plan.value), by), by);
      if (signed && !signed.ok) return signed;
      const approval = { by, note, signature: signed?.value };
      const { publish } = effect;
      if (!publish?.isNeeded(plan.value)) return applyEffect(found.value, approval, plan.value);
      await db.write((tx) => setApproval(tx, id, { ...approval, ...publish.intent(plan.value) }));
      const published = await publish.write(plan.value);
      const done = published.ok ? await applyEffect(found.value, approval, plan.value) : published;
      if (!done.ok) await db.write((tx) => setApproval(tx, id, null));
      return done;
    },

    async reject(id: string, by: Approver, note?: string): Promise<Result<Proposal>> {
      await resumeApprovals(id);
      const found = await findOpen(id);
      if (!found.ok) return found;
      const at = now().toISOString();
      const done = await db.write((tx) => decide(tx, id, { status: "rejected", by, note }, at));
      return done.ok ? ok(proposalOf(done.value)) : done;
    },

    resumeApprovals,
  };
}
