import { bootId } from "../../kernel/process-name.ts";
import type { Connection } from "./connection.ts";
import { steadyMs } from "./steady-clock.ts";

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
