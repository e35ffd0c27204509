import { sql } from "kysely";
import { batches } from "../batches.ts";
import type { Database, Query } from "../database.ts";
import { among, type List, listOf } from "../lists.ts";
import { onEach, prepared } from "../prepared.ts";
import type {
  CitedSourceRow,
  ContradictionRow,
  PassageDecisionRow,
  PassageTrustRow,
  TrustSubjectRow,
} from "../trust-tables.ts";

/** Events that can change the trust of passages. A trigger inserts the rows. */
export type TrustTicket = { ticket: number; kind: string; subject: string };

export const nextTrustTickets = (query: Query, limit: number): Promise<TrustTicket[]> =>
  query.selectFrom("trust_queue").selectAll().orderBy("ticket").limit(limit).execute();

export const ticketsOfSubject = (query: Query, subject: string): Promise<TrustTicket[]> =>
  query.selectFrom("trust_queue").selectAll().where("subject", "=", subject).orderBy("ticket").execute();

/** Tickets of tasks, runs, sources and topics, each of which may concern several pages. */
export const ticketsOfOthers = (query: Query, limit: number): Promise<TrustTicket[]> =>
  query
    .selectFrom("trust_queue")
    .selectAll()
    .where("subject", "not like", "entry:%")
    .where("subject", "not like", "page:%")
    .orderBy("ticket")
    .limit(limit)
    .execute();

export async function deleteTrustTickets(tx: Query, tickets: number[]): Promise<void> {
  for (const batch of batches(tickets, 500)) await tx.deleteFrom("trust_queue").where("ticket", "in", batch).execute();
}

/** The kind of ticket after which nothing counts as a change: the page is computed as if for the first time. */
export const rebuiltKind = "passage-rebuilt";

/** Queues every page that is known, or all entries, to be computed from its history again. */
export async function resetTrust(tx: Query): Promise<void> {
  await tx.deleteFrom("trust_queue").where("subject", "like", "entry:%").execute();
  await tx
    .insertInto("trust_queue")
    .columns(["kind", "subject"])
    .expression((x) =>
      x
        .selectFrom("entries")
        .select([x.val(rebuiltKind).as("kind"), sql<string>`'entry:' || id`.as("subject")])
        .union(
          x
            .selectFrom("trust_subjects")
            .select([x.val(rebuiltKind).as("kind"), "subject"])
            .where("subject", "like", "page:%"),
        ),
    )
    .execute();
  for (const table of ["passage_trust", "trust_subjects"] as const) await tx.deleteFrom(table).execute();
}

export const findTrustSubject = (query: Query, subject: string): Promise<TrustSubjectRow | undefined> =>
  query.selectFrom("trust_subjects").selectAll().where("subject", "=", subject).executeTakeFirst();

/** How many passages are in each state, by page. */
export async function trustCounts(query: Query, subjects: readonly string[]): Promise<Map<string, string>> {
  if (subjects.length === 0) return new Map();
  const rows = await query
    .selectFrom("trust_subjects")
    .select(["subject", "counts"])
    .where("subject", "in", [...subjects])
    .execute();
  return new Map(rows.map(({ subject, counts }) => [subject, counts]));
}

/** The counts of a page, and whether events wait to be looked at. */
export async function trustSummary(
  query: Query,
  subject: string,
): Promise<{ counts: string | null; isBehind: boolean }> {
  const [row] = await selectSummary(query, { subject });
  return { counts: row?.counts ?? null, isBehind: Number(row?.waiting ?? 0) > 0 };
}

const selectSummary = prepared<{ subject: string }, { counts: string | null; waiting: number }>((query, slot) =>
  query.selectNoFrom((x) => [
    x.selectFrom("trust_subjects").select("counts").where("subject", "=", slot("subject")).as("counts"),
    x
      .selectFrom(x.selectFrom("trust_queue").select("ticket").limit(1).as("q"))
      .select((y) => y.fn.countAll<number>().as("n"))
      .as("waiting"),
  ]),
);

export async function saveTrustSubject(tx: Query, row: TrustSubjectRow): Promise<void> {
  const { version, counts } = row;
  await tx
    .insertInto("trust_subjects")
    .values(row)
    .onConflict((conflict) => conflict.column("subject").doUpdateSet({ version, counts }))
    .execute();
}

/** The passages that are in the wiki now. */
export const presentPassages = (
  query: Query,
  limit: number,
): Promise<Pick<PassageTrustRow, "subject" | "hash" | "text" | "state">[]> =>
  query
    .selectFrom("passage_trust")
    .select(["subject", "hash", "text", "state"])
    .where("gone", "=", 0)
    .orderBy("subject")
    .orderBy("hash")
    .limit(limit)
    .execute();

/** The passages of a page; those that are gone too. */
export const passagesOfSubject = (query: Query, subject: string): Promise<PassageTrustRow[]> =>
  query.selectFrom("passage_trust").selectAll().where("subject", "=", subject).execute();

export async function savePassages(tx: Query, rows: PassageTrustRow[]): Promise<void> {
  for (const batch of batches(rows, 100))
    await tx
      .insertInto("passage_trust")
      .values(batch)
      .onConflict((conflict) =>
        conflict.columns(["subject", "hash"]).doUpdateSet((x) => ({
          heading: x.ref("excluded.heading"),
          text: x.ref("excluded.text"),
          gone: x.ref("excluded.gone"),
          before: x.ref("excluded.before"),
          state: x.ref("excluded.state"),
          causes: x.ref("excluded.causes"),
          lost: x.ref("excluded.lost"),
          since: x.ref("excluded.since"),
          how: x.ref("excluded.how"),
          author: x.ref("excluded.author"),
          role: x.ref("excluded.role"),
          run: x.ref("excluded.run"),
          task: x.ref("excluded.task"),
          epoch: x.ref("excluded.epoch"),
          version: x.ref("excluded.version"),
          written_at: x.ref("excluded.written_at"),
          approved_by: x.ref("excluded.approved_by"),
          verified_by: x.ref("excluded.verified_by"),
          verified_at: x.ref("excluded.verified_at"),
          refs: x.ref("excluded.refs"),
          stale_after: x.ref("excluded.stale_after"),
          compared: x.ref("excluded.compared"),
        })),
      )
      .execute();
}

/** A page that moved keeps what is known about its passages. */
export async function moveTrust(tx: Query, from: string, to: string): Promise<void> {
  for (const table of ["passage_trust", "trust_subjects", "cited_sources", "contradictions"] as const)
    await tx.deleteFrom(table).where("subject", "=", to).execute();
  for (const table of ["passage_trust", "trust_subjects", "passage_decisions", "cited_sources"] as const)
    await tx.updateTable(table).set({ subject: to }).where("subject", "=", from).execute();
  await tx.updateTable("contradictions").set({ subject: to }).where("subject", "=", from).execute();
  await tx.updateTable("contradictions").set({ other_subject: to }).where("other_subject", "=", from).execute();
}

export async function removeTrust(tx: Query, subject: string): Promise<void> {
  for (const table of ["passage_trust", "trust_subjects", "contradictions"] as const)
    await tx.deleteFrom(table).where("subject", "=", subject).execute();
}

export type PassageState = Pick<PassageTrustRow, "subject" | "hash" | "state" | "causes" | "stale_after">;

/** The states of passages by their hash, on any page, without unverified ones, and whether events wait to be looked at. */
export async function statesByHash(
  db: Pick<Database, "engine" | "read">,
  hashes: readonly string[],
): Promise<{ states: PassageState[]; isBehind: boolean }> {
  const rows = await selectStates[db.engine](db.read, { hashes: listOf[db.engine](hashes) });
  const states = rows.filter((row) => row.hash !== null) as PassageState[];
  return { states, isBehind: rows.length > states.length };
}

/** One statement: a second one would wait for the network again. The row without a hash says that something waits. */
const selectStates = onEach<{ hashes: List }, { hash: string | null } & Omit<PassageState, "hash">>(
  (engine, slot) => sql`
    SELECT subject, hash, state, causes, stale_after FROM passage_trust
    WHERE hash ${among[engine](slot("hashes") as never)} AND gone = 0 AND state <> 'unverified'
    UNION ALL
    SELECT * FROM (SELECT '', NULL, '', '', NULL FROM trust_queue LIMIT 1) AS waiting`,
);

/** The passages of a page in these states, the newest loss first. */
export const passagesInState = (query: Query, subject: string, states: readonly string[], limit: number) =>
  query
    .selectFrom("passage_trust")
    .selectAll()
    .where("subject", "=", subject)
    .where("gone", "=", 0)
    .where("state", "in", [...states])
    .orderBy("since", "desc")
    .limit(limit)
    .execute();

type TrustFilter = {
  states: readonly string[];
  /** Only passages that lost a verified state. */
  lost?: boolean;
  subject?: string | undefined;
  /** A page or folder of entries. */
  under?: string | undefined;
  before?: { since: string; hash: string } | undefined;
  limit: number;
};

/** Newest change of state first. */
export const listTrustRows = (query: Query, { states, lost, subject, under, before, limit }: TrustFilter) =>
  query
    .selectFrom("passage_trust")
    .selectAll()
    .where("gone", "=", 0)
    .where((x) =>
      x.or([
        ...(states.length > 0 ? [x("state", "in", [...states])] : []),
        ...(lost ? [x("lost", "is not", null)] : []),
      ]),
    )
    .$if(subject !== undefined, (q) => q.where("subject", "=", subject ?? ""))
    .$if(under !== undefined, (q) =>
      q.where((x) =>
        x.or([x("subject", "=", `entry:${under}`), x("subject", "like", `${likely(`entry:${under}/`)}%`)]),
      ),
    )
    .$if(before !== undefined, (q) =>
      q.where((x) =>
        x.or([
          x("since", "<", before?.since ?? ""),
          x.and([x("since", "=", before?.since ?? ""), x("hash", ">", before?.hash ?? "")]),
        ]),
      ),
    )
    .orderBy("since", "desc")
    .orderBy("hash")
    .limit(limit)
    .execute();

const likely = (text: string) => text.replaceAll(/[\\%_]/g, "");

/** The pages with passages that these tasks, runs or roles wrote, or that cite these sources. */
export async function subjectsWritten(
  query: Query,
  by: { task?: string; run?: string; role?: string },
): Promise<string[]> {
  const rows = await query
    .selectFrom("passage_trust")
    .select("subject")
    .distinct()
    .$if(by.task !== undefined, (q) => q.where("task", "=", by.task ?? ""))
    .$if(by.run !== undefined, (q) => q.where("run", "=", by.run ?? ""))
    .$if(by.role !== undefined, (q) => q.where("role", "=", by.role ?? ""))
    .execute();
  return rows.map(({ subject }) => subject);
}

/** The pages with passages whose time is over and that do not show it yet. */
export async function subjectsOverdue(query: Query, now: string): Promise<string[]> {
  const rows = await query
    .selectFrom("passage_trust")
    .select("subject")
    .distinct()
    .where("stale_after", "is not", null)
    .where("stale_after", "<=", now)
    .where("gone", "=", 0)
    .where("state", "like", "verified%")
    .execute();
  return rows.map(({ subject }) => subject);
}

export const decisionsOn = (query: Query, subject: string): Promise<PassageDecisionRow[]> =>
  query
    .selectFrom("passage_decisions")
    .selectAll()
    .where("subject", "=", subject)
    .orderBy("at")
    .orderBy("id")
    .execute();

export async function insertDecision(tx: Query, row: PassageDecisionRow): Promise<void> {
  await tx.insertInto("passage_decisions").values(row).execute();
}

export const citedBy = (query: Query, subject: string): Promise<CitedSourceRow[]> =>
  query.selectFrom("cited_sources").selectAll().where("subject", "=", subject).execute();

/** Files and sources that verified passages cite, each with the passages. */
export const allCited = (query: Query, like: string): Promise<CitedSourceRow[]> =>
  query.selectFrom("cited_sources").selectAll().where("ref", "like", like).execute();

export async function saveCited(tx: Query, row: CitedSourceRow): Promise<void> {
  const { seen, seen_at, trouble, trouble_at } = row;
  await tx
    .insertInto("cited_sources")
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(["subject", "hash", "ref", "lines"]).doUpdateSet({ seen, seen_at, trouble, trouble_at }),
    )
    .execute();
}

/** Passages that were not compared with others yet. */
export const uncomparedPassages = (query: Query, limit: number) =>
  query
    .selectFrom("passage_trust")
    .select(["subject", "hash", "heading", "text"])
    .where("compared", "=", 0)
    .where("gone", "=", 0)
    .limit(limit)
    .execute();

/** Keeps what was found about a passage, and queues the pages whose passages it concerns. */
export async function saveComparison(
  tx: Query,
  { subject, hash }: { subject: string; hash: string },
  rows: ContradictionRow[],
): Promise<void> {
  await tx.deleteFrom("contradictions").where("subject", "=", subject).where("hash", "=", hash).execute();
  const before = await tx
    .deleteFrom("contradictions")
    .where("other_subject", "=", subject)
    .where("other_hash", "=", hash)
    .returning("subject")
    .execute();
  if (rows.length > 0)
    await tx
      .insertInto("contradictions")
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  await tx
    .updateTable("passage_trust")
    .set({ compared: 1 })
    .where("subject", "=", subject)
    .where("hash", "=", hash)
    .execute();
  await queueTrust(
    tx,
    "contradicted",
    [...before, ...rows].map((row) => row.subject),
  );
}

export async function queueTrust(tx: Query, kind: string, subjects: readonly string[]): Promise<void> {
  const rows = [...new Set(subjects)].map((subject) => ({ kind, subject }));
  if (rows.length > 0) await tx.insertInto("trust_queue").values(rows).execute();
}

export type Contradicting = ContradictionRow & { verified_at: string | null };

/** What contradicts the passages of a page, with the time at which the other was verified. */
export const contradictionsOf = (query: Query, subject: string): Promise<Contradicting[]> =>
  query
    .selectFrom("contradictions as c")
    .innerJoin("passage_trust as p", (on) =>
      on.onRef("p.subject", "=", "c.other_subject").onRef("p.hash", "=", "c.other_hash"),
    )
    .selectAll("c")
    .select("p.verified_at")
    .where("c.subject", "=", subject)
    .where("p.gone", "=", 0)
    .where("p.verified_at", "is not", null)
    .where("p.state", "not in", ["stale", "withdrawn"])
    .execute();

/** The other pages with passages that those of this page contradict. */
export async function subjectsContradictedBy(query: Query, subject: string): Promise<string[]> {
  const rows = await query
    .selectFrom("contradictions")
    .select("subject")
    .distinct()
    .where("other_subject", "=", subject)
    .where("subject", "!=", subject)
    .execute();
  return rows.map((row) => row.subject);
}

/** The verdicts that passed work of these tasks and still hold, with the text that was delivered. */
export async function passedWork(query: Query, tasks: readonly string[]) {
  if (tasks.length === 0) return [];
  return query
    .selectFrom("verdicts as v")
    .innerJoin("attempts as a", (on) => on.onRef("a.task_id", "=", "v.task_id").onRef("a.epoch", "=", "v.epoch"))
    .select(["v.task_id", "v.epoch", "v.verifier", "v.at", "a.output", "a.commit_id", "a.phase"])
    .where("v.task_id", "in", [...tasks])
    .where("v.outcome", "=", "PASS")
    .where("v.voided_at", "is", null)
    .where("a.phase", "=", "qc_passed")
    .execute();
}

/** The pages with passages that a topic disputes or asks about. */
export async function topicsAboutPassages(query: Query, topic: string): Promise<string[]> {
  const rows = await query
    .selectFrom("passage_decisions")
    .select("subject")
    .distinct()
    .where("topic_id", "=", topic)
    .execute();
  return rows.map(({ subject }) => subject);
}
