import { sql } from "kysely";
import type { Query } from "../database.ts";

/** What a PostgreSQL server says about itself, for `doctor`. */
export type ServerReport = {
  version: number;
  inRecovery: boolean;
  maxConnections: number;
  /** Connections of all databases, and those of Scriptorium in this one. */
  connections: number;
  ours: number;
  statementTimeout: string;
  /** The standbys that a commit waits for; empty if it waits for none. */
  synchronousStandbys: string;
  synchronousCommit: string;
  /** Undefined where this user may not see them. */
  standbys: { name: string; state: string; lagBytes: number | null }[] | undefined;
};

export async function serverReport(query: Query): Promise<ServerReport> {
  const { rows } = await sql<Omit<ServerReport, "standbys">>`
    SELECT current_setting('server_version_num')::int AS version, pg_is_in_recovery() AS "inRecovery",
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        AS "maxConnections",
      (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
      (SELECT count(*)::int FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'scriptorium') AS ours,
      current_setting('statement_timeout') AS "statementTimeout",
      current_setting('synchronous_standby_names') AS "synchronousStandbys",
      current_setting('synchronous_commit') AS "synchronousCommit"`.execute(query);
  return { ...(rows[0] as Omit<ServerReport, "standbys">), standbys: await standbysOf(query) };
}

/** Their names are visible to all, their positions to members of pg_monitor only. */
async function standbysOf(query: Query): Promise<ServerReport["standbys"]> {
  const { rows } = await sql<{ name: string; state: string | null; lagBytes: number | null }>`
    SELECT application_name AS name, sync_state AS state,
      CASE WHEN pg_is_in_recovery() THEN NULL
        ELSE pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::bigint END AS "lagBytes"
    FROM pg_stat_replication`.execute(query);
  if (rows.some(({ state }) => state === null)) return undefined;
  return rows.map(({ name, state, lagBytes }) => ({ name, state: state ?? "", lagBytes }));
}
