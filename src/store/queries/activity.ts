import { sql } from "kysely";
import type { Database, Query } from "../database.ts";
import { parseJsonOr } from "../json.ts";
import { among, listOf } from "../lists.ts";
import { archivedOf } from "./event-archives.ts";

export type ActivityEvent = {
  position: number;
  at: string;
  actor: string;
  kind: string;
  subject: string;
  data: Record<string, unknown>;
};

type Filter = {
  kinds: readonly string[];
  actor?: string | undefined;
  subjects?: readonly string[] | undefined;
  /** Only events before this position. */
  before: number;
  /** Without subjects: how many positions are searched. */
  span: number;
  limit: number;
};

/** Sealed events of these kinds before a position, newest first. */
export async function activityBefore(
  query: Query,
  engine: Database["engine"],
  { kinds, actor, subjects, before, span, limit }: Filter,
): Promise<ActivityEvent[]> {
  const isIn = (values: readonly string[]) => among[engine](listOf[engine](values));
  const conditions = [
    sql`event_chain.position < ${before}`,
    sql`events.kind ${isIn(kinds)}`,
    ...(actor === undefined ? [] : [sql`events.actor = ${actor}`]),
    // By subject there is an index; anything else is a walk down the log, which has to end.
    subjects === undefined ? sql`event_chain.position >= ${before - span}` : sql`events.subject ${isIn(subjects)}`,
  ];
  const { rows: live } = await sql<Omit<ActivityEvent, "data"> & { data: string }>`
    SELECT event_chain.position, events.at, events.actor, events.kind, events.subject, events.data
    FROM event_chain JOIN events ON events.seq = event_chain.seq
    WHERE ${sql.join(conditions, sql` AND `)} ORDER BY event_chain.position DESC LIMIT ${limit}`.execute(query);
  // The log goes on in the archives where the rows end. Read after the rows, which move there.
  const archived =
    live.length === limit
      ? []
      : await archivedOf(query, {
          ...(subjects ? { subjects } : { from: before - span }),
          kinds,
          newest: { before, limit },
          is: (event) => actor === undefined || event.actor === actor,
        });
  const known = new Set(archived.map(({ position }) => position));
  const rows = [...live.filter(({ position }) => !known.has(Number(position))), ...archived]
    .sort((a, b) => Number(b.position) - Number(a.position))
    .slice(0, limit);
  return rows.map(({ position, at, actor, kind, subject, data }) => ({
    ...{ position: Number(position), at, actor, kind, subject },
    data: parseJsonOr(data, {}),
  }));
}

/** The subjects of events about a page: its entry, topics and proposals too. */
export async function subjectsOfPage(query: Query, path: string, entry: string | undefined): Promise<string[]> {
  const [topics, proposals] = await Promise.all([
    query.selectFrom("topics").select("id").where("path", "=", path).execute(),
    query.selectFrom("proposals").select("id").where("kind", "=", "page").where("subject", "=", path).execute(),
  ]);
  return [
    `page:${path}`,
    ...(entry === undefined ? [] : [`entry:${entry}`]),
    ...topics.map(({ id }) => `topic:${id}`),
    ...proposals.map(({ id }) => `proposal:${id}`),
  ];
}

/** The subjects of events about a run and its tasks. */
export async function subjectsOfRun(query: Query, run: string): Promise<string[]> {
  const tasks = await query.selectFrom("run_tasks").select("task_id").where("run_id", "=", run).execute();
  return [`run:${run}`, ...tasks.map(({ task_id }) => `task:${task_id}`)];
}
