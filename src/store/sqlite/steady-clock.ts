import { bootId } from "../../kernel/process-name.ts";
import type { Connection } from "./connection.ts";

/**
 * The clock of leases on SQLite: milliseconds since boot, which all processes of a machine share and nobody can set,
 * plus an offset in the database. Without it a lease would end an hour early, or be kept an hour after its worker
 * died, when the time of day is set.
 *
 * The offset is chosen when a database is opened: after a restart of the machine, and while nothing is leased, so that
 * times are close to the time of day. Without a boot id (not on Linux) there is none, and the time of day is used.
 */
export const steadyFunction = "steady_ms";

/** As SQL. The offset is read each time: another process may have opened the database after this one. */
export const steadyClock = `CAST(coalesce(
  (SELECT value FROM meta WHERE key = 'clock-offset') + ${steadyFunction}(), unixepoch('subsec') * 1000) AS INTEGER)`;

/** Keys of `meta` that mean nothing in another database. */
export const clockKeys = ["clock-boot", "clock-offset"] as const;

export const steadyMs = (): number => Number(process.hrtime.bigint() / 1_000_000n);

const toleratedMs = 1000;

/** Sets the offset if this is the first process since the machine started, or if no lease depends on it. */
export function anchorClock(connection: Connection): void {
  const boot = bootId();
  if (boot === undefined || !needsAnchor(connection, boot)) return;
  connection.exec("BEGIN IMMEDIATE");
  try {
    if (needsAnchor(connection, boot)) {
      // A clock that was set back before the restart must not prolong the leases of processes that it ended.
      const earliest = Number(connection.prepare(newestSign).all([])[0]?.at ?? 0);
      const offset = Math.max(Date.now(), earliest) - steadyMs();
      for (const [key, value] of [
        ["clock-boot", boot],
        ["clock-offset", String(offset)],
      ])
        connection
          .prepare("INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value")
          .run([key, value]);
    }
    connection.exec("COMMIT");
  } catch (error) {
    if (connection.inTransaction) connection.exec("ROLLBACK");
    throw error;
  }
}

function needsAnchor(connection: Connection, boot: string): boolean {
  const rows = connection.prepare("SELECT key, value FROM meta WHERE key IN ('clock-boot', 'clock-offset')").all([]);
  const known = new Map(rows.map(({ key, value }) => [key, value]));
  if (known.get("clock-boot") !== boot) return true;
  if (Math.abs(Number(known.get("clock-offset")) + steadyMs() - Date.now()) < toleratedMs) return false;
  return connection.prepare(isLeased).all([]).length === 0;
}

const isLeased = `
  SELECT 1 WHERE EXISTS (SELECT 1 FROM tasks WHERE holder IS NOT NULL)
    OR EXISTS (SELECT 1 FROM agent_jobs WHERE status = 'running')`;

/** The newest time by this clock that a row has. */
const newestSign = `
  SELECT max(coalesce((SELECT max(claimed_at) FROM tasks WHERE holder IS NOT NULL), 0),
    coalesce((SELECT max(beat_at) FROM agent_jobs WHERE status = 'running'), 0)) AS at`;
