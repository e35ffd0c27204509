import { type Selectable, sql } from "kysely";
import type { Query } from "../database.ts";
import { parseJsonOr } from "../json.ts";
import type { EventRow } from "../tables.ts";
import type { LoggedEvent } from "./event-log.ts";

// Literals, not parameters: the engines use the partial index of migration 0029 only for the same list.
const kinds = sql.raw(`'topic-mentioned', 'topic-assigned', 'question-assigned', 'proposal-opened', 'proposal-approved',
  'proposal-rejected', 'question-passed-on', 'question-answered', 'gate-reached', 'gate-approved', 'gate-returned',
  'files-held', 'files-allowed', 'files-refused', 'run-fail', 'run-finish', 'run-stop', 'run-start', 'run-closed',
  'run-reopen'`);

const parsed = (row: Selectable<EventRow>): LoggedEvent => ({
  ...row,
  seq: Number(row.seq),
  data: parseJsonOr(row.data, {}),
});

/** The newest events that notifications are made of, newest first. */
export async function noticeEvents(query: Query, limit: number): Promise<LoggedEvent[]> {
  const { rows } = await sql<Selectable<EventRow>>`
    SELECT seq, at, actor, kind, subject, data FROM events WHERE kind IN (${kinds})
    ORDER BY seq DESC LIMIT ${limit}`.execute(query);
  return rows.map(parsed);
}

type Filter = {
  person?: string | undefined;
  /** The first word of their kind. */
  word?: string | undefined;
  page?: { path: string; entry: string | undefined } | undefined;
  /** First words of kinds that are left out. */
  without: readonly string[];
  before?: number | undefined;
  limit: number;
};

/** The newest events, newest first. */
export async function newestEvents(query: Query, filter: Filter): Promise<LoggedEvent[]> {
  const { person, word, page, without, before, limit } = filter;
  let found = query.selectFrom("events").selectAll().orderBy("seq", "desc").limit(limit);
  if (person !== undefined) found = found.where("actor", "=", person);
  if (word !== undefined) found = found.where("kind", "like", `${word}-%`);
  if (before !== undefined) found = found.where("seq", "<", before);
  for (const left of without) found = found.where("kind", "not like", `${left}-%`);
  if (page !== undefined) {
    const inData = `%"source_path":${JSON.stringify(page.path).replaceAll(/[\\%_]/g, "\\$&")}%`;
    const subjects = [`page:${page.path}`, ...(page.entry === undefined ? [] : [`entry:${page.entry}`])];
    found = found.where((where) =>
      where.or([where("subject", "in", subjects), sql<boolean>`data LIKE ${inData} ESCAPE '\\'`]),
    );
  }
  return (await found.execute()).map(parsed);
}
