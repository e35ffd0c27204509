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

/** Not in that index, and read by subject: of the newest runs, and of the settings. */
const byRun = sql.raw(`'run-wait', 'run-proceed', 'run-stall', 'run-taken-over', 'run-pause', 'run-cancel',
  'run-replan-proposed', 'run-replan-confirmed', 'run-replan-rejected'`);
const ofSettings = sql.raw(`'settings-waiting', 'settings-allowed'`);
const mostRuns = 100;

const parsed = (row: Selectable<EventRow>): LoggedEvent => ({
  ...row,
  seq: Number(row.seq),
  data: parseJsonOr(row.data, {}),
});

/** The newest events that notifications are made of, newest first. */
export async function noticeEvents(query: Query, limit: number): Promise<LoggedEvent[]> {
  const columns = sql.raw("seq, at, actor, kind, subject, data");
  const found = await Promise.all([
    sql<Selectable<EventRow>>`
      SELECT ${columns} FROM events WHERE kind IN (${kinds}) ORDER BY seq DESC LIMIT ${limit}`.execute(query),
    sql<Selectable<EventRow>>`
      SELECT ${columns} FROM events WHERE kind IN (${byRun}) AND subject IN (
        SELECT 'run:' || id FROM (SELECT id FROM runs ORDER BY created_at DESC LIMIT ${mostRuns}) AS newest
      ) ORDER BY seq DESC LIMIT ${limit}`.execute(query),
    sql<Selectable<EventRow>>`
      SELECT ${columns} FROM events WHERE kind IN (${ofSettings})
      AND subject >= 'settings:' AND subject < 'settings;' ORDER BY seq DESC LIMIT ${limit}`.execute(query),
  ]);
  return found
    .flatMap(({ rows }) => rows.map(parsed))
    .sort((a, b) => b.seq - a.seq)
    .slice(0, limit);
}
