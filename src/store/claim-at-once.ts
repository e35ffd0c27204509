import { sql } from "kysely";
import { type Change, eventsOfSaved, isReady, type Lease, savedOf, saveList, sent } from "./claims.ts";
import { clock } from "./clock.ts";
import type { Query } from "./database.ts";
import { prepared } from "./prepared.ts";
import { columns, type StoredTask } from "./tasks.ts";

/** What a claim makes of a task that is ready, for a database that claims in its own words. */
export type ClaimEffect = { state: Record<string, string>; attempt: number; epoch: number };

type Asked = {
  changes: Change[];
  /** Those who want a task, whichever has its turn. */
  wants: { holder: string; leaseMs: number }[];
  run: string | undefined;
  at: string;
  effect: ClaimEffect;
};
type Done = { saved: Map<number, Lease>; claimed: (StoredTask | undefined)[] };

/**
 * Saves changes and gives ready tasks to those who want one, in one statement, which on PostgreSQL
 * is a transaction by itself: nothing waits for the way there and back while rows are locked.
 */
export async function saveAndClaim(query: Query, { changes, wants, run, at, effect }: Asked): Promise<Done> {
  if (wants.length === 0) {
    const rows = await saveList(query, changes.map(sent));
    return { saved: new Map(rows.map((row) => [row.num, row])), claimed: [] };
  }
  const { anyRun, oneRun } = changes.length === 0 ? claiming : savingAndClaiming;
  const rows = await (run === undefined ? anyRun : oneRun)(query, {
    changes: JSON.stringify(changes.map(sent)),
    wants: JSON.stringify(wants.map(({ holder, leaseMs }, index) => ({ place: index + 1, holder, lease_ms: leaseMs }))),
    limit: wants.length,
    at,
    run: run ?? "",
    states: JSON.stringify(effect.state),
    attempt: effect.attempt,
    epoch: effect.epoch,
  });
  const claimed = new Map(rows.flatMap((row) => (row.place === null ? [] : [[row.place, row]])));
  return {
    saved: new Map(rows.flatMap((row) => (row.saved === null ? [] : [[row.saved, row.lease]]))),
    claimed: wants.map((_, index) => claimed.get(index + 1)),
  };
}

type Given = { changes: string; wants: string; states: string } & {
  limit: number;
  at: string;
  run: string;
  attempt: number;
  epoch: number;
};
type Row = { saved: number; lease: Lease; place: null } | ({ saved: null; place: number } & StoredTask);

const statement = ({ ofRun, withChanges }: { ofRun: boolean; withChanges: boolean }) =>
  prepared<Given, Row>(
    (_, slot) => sql`
      WITH ${withChanges ? sql`${savedOf(slot("changes"))},` : sql``} wanted AS (
        SELECT * FROM json_to_recordset(${slot("wants")}::text::json) AS wanted (place int, holder text, lease_ms bigint)
      ), picked AS (
        SELECT num, turn_at FROM tasks
        WHERE ${isReady} ${ofRun ? sql`AND run IS NOT NULL AND run = ${slot("run")}` : sql``}
        ORDER BY turn_at, num LIMIT ${slot("limit")} FOR UPDATE SKIP LOCKED
      ), turns AS (
        SELECT num, row_number() OVER (ORDER BY turn_at, num) AS place FROM picked
      ), claimed AS (
        UPDATE tasks SET state = ${slot("states")}::text::json ->> tasks.state,
          attempt = tasks.attempt + ${slot("attempt")}::int, epoch = tasks.epoch + ${slot("epoch")}::int,
          holder = wanted.holder, version = tasks.version + 1, updated_at = ${slot("at")},
          claimed_at = ${clock.postgres}, lease_until = ${clock.postgres} + wanted.lease_ms
        FROM turns JOIN wanted USING (place)
        WHERE tasks.num = turns.num AND tasks.num = ANY (ARRAY(SELECT num FROM picked))
        RETURNING ${columns}, wanted.place
      ), logged AS (
        INSERT INTO events (at, actor, kind, subject, data)
        ${withChanges ? sql`${eventsOfSaved} UNION ALL` : sql``}
        SELECT updated_at, holder, 'task-claim', 'task:' || id, json_build_object(
          'by', holder, 'state', state, 'attempt', attempt, 'epoch', epoch, 'holder', holder, 'run', run)::text
        FROM claimed
      )
      ${
        withChanges
          ? sql`SELECT saved.num AS saved, to_json(saved) AS lease, claimed.* FROM claimed FULL JOIN saved USING (num)`
          : sql`SELECT NULL AS saved, claimed.* FROM claimed`
      }`,
  );

const inRuns = (withChanges: boolean) => ({
  anyRun: statement({ ofRun: false, withChanges }),
  oneRun: statement({ ofRun: true, withChanges }),
});
const claiming = inRuns(false);
const savingAndClaiming = inRuns(true);
