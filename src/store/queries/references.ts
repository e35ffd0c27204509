import { sql } from "kysely";
import type { Query } from "../database.ts";

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

/** Decided proposals without the event of a decision. */
export const decisionsWithoutEvent = (query: Query) =>
  query
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

/** Handoffs without the event of their step. */
export async function handoffsWithoutEvent(query: Query) {
  const rows = await query
    .selectFrom("handoffs")
    .select(["id", "run", "step", "from_role", "at"])
    .orderBy("at")
    .execute();
  const events = await query
    .selectFrom("events")
    .select(["subject", "data"])
    .where("kind", "in", ["handoff-made", "handoff-forced"])
    .execute();
  const known = new Set(events.map(({ subject, data }) => `${subject} ${stepIn(data)}`));
  return rows.filter(({ run, step }) => !known.has(`run:${run} ${step}`));
}

const stepIn = (data: string) => /"step":(\d+)/.exec(data)?.[1];

/** Sources without the event of their addition. */
export const sourcesWithoutEvent = (query: Query) =>
  query
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
