import { ok, type Result, refuse } from "../result.ts";
import type { Database, Query } from "../store/database.ts";
import { appendEvent } from "../store/events.ts";
import type { ProposalRow } from "../store/tables.ts";

export type Proposal = {
  id: string;
  kind: string;
  subject: string;
  data: Record<string, unknown>;
  proposedBy: string | null;
  status: ProposalRow["status"];
  createdAt: string;
  decidedAt: string | null;
  decidedBy: string | null;
  note: string | null;
};

/** What approving a proposal of one kind does, inside the transaction that marks it approved. */
export type Effect = (tx: Query, proposal: Proposal, approver: Approver) => Promise<Result<unknown>>;
export type Approver = { name: string; email?: string };

type Deps = { db: Database; effects: Record<string, Effect>; now(): Date; newId(prefix: string): string };

/** Changes that wait for a person. Nothing an agent sends can decide one. */
export function proposalStore({ db, effects, now, newId }: Deps) {
  async function decide(
    id: string,
    status: "approved" | "rejected",
    by: Approver,
    note: string | undefined,
    effect: Effect | undefined,
  ): Promise<Result<Proposal>> {
    // A refusal inside must undo the whole transaction, so it leaves it as a throw and is caught right here.
    const undo = new Error("undo");
    let refused: Result<never> | undefined;
    const stop = (result: Result<never>): never => {
      refused = result;
      throw undo;
    };
    try {
      const decided = await db.write(async (tx) => {
        const row = await tx.selectFrom("proposals").selectAll().where("id", "=", id).executeTakeFirst();
        if (!row) return stop(refuse("not_found", `no proposal ${id}; see: scriptorium proposal list`));
        if (row.status !== "open") {
          return stop(refuse("conflict", `proposal ${id} was ${row.status} by ${row.decided_by} at ${row.decided_at}`));
        }
        const at = now().toISOString();
        const marked = await tx
          .updateTable("proposals")
          .set({ status, decided_at: at, decided_by: by.name, note: note ?? null })
          .where("id", "=", id)
          .where("status", "=", "open")
          .returningAll()
          .executeTakeFirst();
        if (!marked) return stop(refuse("conflict", `proposal ${id} was decided by someone else just now`));
        const proposal = fromRow(marked);
        await appendEvent(tx, {
          at,
          actor: by.name,
          kind: `proposal-${status}`,
          subject: `proposal:${id}`,
          data: { kind: row.kind, subject: row.subject, note: note ?? null },
        });
        const done = await effect?.(tx, proposal, by);
        if (done && !done.ok) return stop(done);
        return proposal;
      });
      return ok(decided);
    } catch (error) {
      if (error === undo && refused) return refused;
      throw error;
    }
  }

  return {
    async open(
      kind: string,
      subject: string,
      data: Record<string, unknown>,
      proposedBy: string,
    ): Promise<Result<Proposal>> {
      const row: ProposalRow = {
        id: newId("p"),
        kind,
        subject,
        data: JSON.stringify(data),
        proposed_by: proposedBy,
        status: "open",
        created_at: now().toISOString(),
        decided_at: null,
        decided_by: null,
        note: null,
      };
      return db.write(async (tx): Promise<Result<Proposal>> => {
        const made = await tx
          .insertInto("proposals")
          .values(row)
          .onConflict((conflict) => conflict.doNothing())
          .returning("id")
          .executeTakeFirst();
        if (!made) return refuse("conflict", `a proposal for the ${kind} ${subject} waits for a person already`);
        const event = { at: row.created_at, actor: proposedBy, subject: `proposal:${row.id}` };
        await appendEvent(tx, { ...event, kind: "proposal-opened", data: { kind, subject } });
        return ok(fromRow(row));
      });
    },

    async list(status?: ProposalRow["status"]): Promise<Proposal[]> {
      const rows = await db.read
        .selectFrom("proposals")
        .selectAll()
        .$if(status !== undefined, (q) => q.where("status", "=", status ?? "open"))
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(200)
        .execute();
      return rows.map(fromRow);
    },

    async find(id: string): Promise<Proposal | undefined> {
      const row = await db.read.selectFrom("proposals").selectAll().where("id", "=", id).executeTakeFirst();
      return row && fromRow(row);
    },

    async approve(id: string, by: Approver, note?: string): Promise<Result<Proposal>> {
      const found = await this.find(id);
      return decide(id, "approved", by, note, found && effects[found.kind]);
    },

    reject: (id: string, by: Approver, note?: string) => decide(id, "rejected", by, note, undefined),
  };
}

export type ProposalStore = ReturnType<typeof proposalStore>;

const fromRow = (row: ProposalRow): Proposal => ({
  id: row.id,
  kind: row.kind,
  subject: row.subject,
  data: JSON.parse(row.data),
  proposedBy: row.proposed_by,
  status: row.status,
  createdAt: row.created_at,
  decidedAt: row.decided_at,
  decidedBy: row.decided_by,
  note: row.note,
});
