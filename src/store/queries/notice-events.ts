import { type Selectable, sql } from "kysely";
import type { Query } from "../database.ts";
import { parseJsonOr } from "../json.ts";
import type { EventRow } from "../tables.ts";
import type { LoggedEvent } from "./event-log.ts";

// Literals, not parameters: the engines use the partial index of migration 0029 only for the same list.
const kinds = sql.raw(`'topic-mentioned', 'topic-assigned', 'proposal-opened', 'proposal-approved',
  'proposal-rejected', 'question-passed-on', 'question-answered', 'gate-reached', 'gate-approved', 'gate-rejected', 'gate-returned',
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
