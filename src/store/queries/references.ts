import { sql } from "kysely";
import type { Query } from "../database.ts";
import { archivedOf } from "./event-archives.ts";

/** Rows that name another row, an event or a text that must exist; see doctor/workspace/references.ts. */

/** Open proposals for pages, with the hash and the text that they were made from. */
export const openPageProposals = (query: Query) =>
  query
    .selectFrom("proposals")
    .select(["id", "subject", "created_at", "topic_id", "base_source_sha", "base_text", "text"])
    .where("kind", "=", "page")
    .where("status", "=", "open")
    .orderBy("created_at")
    .execute();

export const openTopicPaths = (query: Query) =>
  query.selectFrom("topics").select(["id", "path", "created_at"]).where("status", "=", "open").orderBy("id").execute();

/** Topics whose anchor refers to a text that is not stored. */
export const topicsWithoutText = (query: Query) =>
  query
    .selectFrom("topics as t")
    .leftJoin("page_texts as p", "p.blob", "t.anchor_blob")
    .select(["t.id", "t.path", "t.anchor_blob"])
    .where("t.anchor_blob", "is not", null)
    .where("p.blob", "is", null)
    .orderBy("t.id")
    .execute();

/** The rows of which no archived event is about this subject and of this kind. */
async function notArchived<T>(
  query: Query,
  rows: T[],
  eventOf: (row: T) => { subject: string; kind: string },
): Promise<T[]> {
  const nameOf = ({ subject, kind }: { subject: string; kind: string }) => `${kind} ${subject}`;
  const wanted = rows.map(eventOf);
  const subjects = wanted.map(({ subject }) => subject);
  const kinds = [...new Set(wanted.map(({ kind }) => kind))];
  const known = new Set((await archivedOf(query, { subjects, kinds })).map(nameOf));
  return rows.filter((row) => !known.has(nameOf(eventOf(row))));
}

/** Decided proposals without the event of a decision. */
export async function decisionsWithoutEvent(query: Query) {
  const rows = await query
    .selectFrom("proposals as p")
    .select(["p.id", "p.status", "p.decided_by", "p.decided_at"])
    .where("p.status", "in", ["approved", "rejected"])
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("events as e")
            .select("e.seq")
            .where("e.subject", "=", sql<string>`'proposal:' || p.id`)
            .where("e.kind", "=", sql<string>`'proposal-' || p.status`),
        ),
      ),
    )
    .orderBy("p.decided_at")
    .execute();
  return notArchived(query, rows, ({ id, status }) => ({ subject: `proposal:${id}`, kind: `proposal-${status}` }));
}

/** Handoffs without the event of their step. */
export async function handoffsWithoutEvent(query: Query) {
  const rows = await query
    .selectFrom("handoffs")
    .select(["id", "run", "step", "from_role", "at"])
    .orderBy("at")
    .execute();
  const kinds = ["handoff-made", "handoff-forced"];
  const events = await query.selectFrom("events").select(["subject", "data"]).where("kind", "in", kinds).execute();
  const archived = await archivedOf(query, { kinds, subjects: [...new Set(rows.map(({ run }) => `run:${run}`))] });
  const known = new Set([...archived, ...events].map(({ subject, data }) => `${subject} ${stepIn(data)}`));
  return rows.filter(({ run, step }) => !known.has(`run:${run} ${step}`));
}

const stepIn = (data: string) => /"step":(\d+)/.exec(data)?.[1];

/** Sources without the event of their addition. */
export async function sourcesWithoutEvent(query: Query) {
  const rows = await query
    .selectFrom("sources as s")
    .select(["s.path", "s.added_by", "s.at"])
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("events as e")
            .select("e.seq")
            .where("e.subject", "=", sql<string>`'source:' || s.path`)
            .where("e.kind", "=", "source-added"),
        ),
      ),
    )
    .orderBy("s.at")
    .execute();
  return notArchived(query, rows, ({ path }) => ({ subject: `source:${path}`, kind: "source-added" }));
}
