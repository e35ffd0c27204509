import { sql } from "kysely";
import type { NewClaim } from "../claim-secret.ts";
import { clock } from "../clock.ts";
import type { Query } from "../database.ts";
import { givenBy, inColumns, type Lists, prepared } from "../prepared.ts";
import {
  type Change,
  eventsOfSaved,
  isReady,
  type Lease,
  type SentChange,
  savedOf,
  saveList,
  sent,
  sentColumns,
} from "./claims.ts";
import { columnNames, columns, type StoredTask } from "./tasks.ts";

/** The effect of a claim on a ready task, for a claim in SQL. */
export type ClaimEffect = { state: Record<string, string>; attempt: number; epoch: number };

type Batch = {
  changes: Change[];
  /** The claimants, each for any ready task. */
  wants: ({ holder: string } & NewClaim)[];
  run: string | undefined;
  at: string;
  effect: ClaimEffect;
};
type Response = { saved: Map<number, Lease>; claimed: (StoredTask | undefined)[] };

/**
 * Saves changes and assigns ready tasks to claimants in one statement. On PostgreSQL that is a transaction by
 * itself, so no row stays locked during a round trip.
 */
export async function saveAndClaim(query: Query, { changes, wants, run, at, effect }: Batch): Promise<Response> {
  if (wants.length === 0) {
    const rows = await saveList(query, changes.map(sent));
    return { saved: new Map(rows.map((row) => [row.num, row])), claimed: [] };
  }
  const { anyRun, oneRun } = changes.length === 0 ? claiming : savingAndClaiming;
  const rows = await (run === undefined ? anyRun : oneRun)(query, {
    holders: wants.map(({ holder }) => holder),
    leases: wants.map(({ leaseMs }) => leaseMs),
    hashes: wants.map(({ secretHash }) => secretHash),
    limit: wants.length,
    now: at,
    run: run ?? "",
    states: JSON.stringify(effect.state),
    more_attempts: effect.attempt,
    more_epochs: effect.epoch,
    // The spread is last: keys after a spread cost V8 more than the rest of this function.
    ...inColumns(sentColumns, changes.map(sent)),
  });
  const done: Response = { saved: new Map(), claimed: wants.map(() => undefined) };
  for (const row of rows) {
    if (row.place === null) done.saved.set(row.num, row);
    else done.claimed[row.place - 1] = row;
  }
  return done;
}

type Given = Lists<SentChange> & {
  holders: string[];
  leases: number[];
  hashes: string[];
  limit: number;
  now: string;
  run: string;
  states: string;
  more_attempts: number;
  more_epochs: number;
};
type Row = ({ place: null; num: number } & Lease) | ({ place: number } & StoredTask);

/**
 * Selects the next tasks as an array with positions: PostgreSQL assumes that an array is short and looks each id
 * up in the index.
 */
const statement = ({ ofRun, withChanges }: { ofRun: boolean; withChanges: boolean }) =>
  prepared<Given, Row>(
    (_, slot) => sql`
      WITH ${withChanges ? sql`${savedOf(givenBy(sentColumns, slot))},` : sql``} claimed AS (
        UPDATE tasks SET state = ${slot("states")}::text::json ->> tasks.state,
          attempt = tasks.attempt + ${slot("more_attempts")}::int, epoch = tasks.epoch + ${slot("more_epochs")}::int,
          holder = (${slot("holders")}::text[])[turns.place],
          secret_hash = (${slot("hashes")}::text[])[turns.place], version = tasks.version + 1,
          updated_at = ${slot("now")}, claimed_at = ${clock.postgres}, renewed_at = NULL,
          lease_until = ${clock.postgres} + (${slot("leases")}::bigint[])[turns.place]
        FROM unnest(ARRAY(
          SELECT num FROM tasks
          WHERE ${isReady} ${ofRun ? sql`AND run IS NOT NULL AND run = ${slot("run")}` : sql``}
          ORDER BY turn_at, num LIMIT ${slot("limit")} FOR UPDATE SKIP LOCKED
        )) WITH ORDINALITY AS turns (num, place)
        WHERE tasks.num = turns.num
        RETURNING turns.place, ${columns}
      ), logged AS (
        INSERT INTO events (at, actor, kind, subject, data)
        ${withChanges ? sql`${eventsOfSaved} UNION ALL` : sql``}
        SELECT updated_at, holder, 'task-claim', 'task:' || id, json_build_object(
          'by', holder, 'state', state, 'attempt', attempt, 'epoch', epoch, 'holder', holder, 'run', run)::text
        FROM claimed
      )
      SELECT * FROM claimed ${withChanges ? sql`UNION ALL SELECT ${leaseOnly} FROM saved` : sql``}`,
  );

/** Saved rows in the columns of a task, so that both kinds fit into one result. */
const leaseOfSaved: readonly string[] = ["num", "claimed_at", "lease_until"];
const leaseOnly = sql.raw(
  ["NULL", ...columnNames.map((name) => (leaseOfSaved.includes(name) ? name : "NULL"))].join(", "),
);

const inRuns = (withChanges: boolean) => ({
  anyRun: statement({ ofRun: false, withChanges }),
  oneRun: statement({ ofRun: true, withChanges }),
});
const claiming = inRuns(false);
const savingAndClaiming = inRuns(true);
