import type { CrewApp } from "../../crew/record/crew-app.ts";
import { defaultLimits } from "../../store/postgres/limits.ts";
import { type ServerReport, serverReport } from "../../store/queries/server-report.ts";
import { type Finding, findingsOf } from "../finding.ts";

const oldestVersion = 130_000;
const laggingBytes = 64 * 1024 * 1024;

/** PostgreSQL only: whether the server is set up so that nothing that was acknowledged is lost. */
export async function checkServer({ db, config }: CrewApp): Promise<Finding[]> {
  const { database } = config;
  if (database.engine !== "postgres") return [];
  const [report, health] = [await serverReport(db.read), await db.health()];
  const limits = { ...defaultLimits, ...database.limits };
  const { ok } = findingsOf("wiki", "timeouts");
  const seconds = (ms: number) => `${ms / 1000} s`;
  const times = `connect ${seconds(limits.connectMs)}, statement ${seconds(limits.statementMs)}, retry ${seconds(limits.retryMs)}, start ${seconds(limits.startMs)}`;
  return [
    ...versionOf(report),
    ...replicationOf(report),
    ...poolerOf(health.pooler, database.listenUrl),
    connectionsOf(report, limits.connections, health.pooler),
    ok(times),
    ...schemaOf(health.newer),
  ];
}

function versionOf({ version, inRecovery }: ServerReport): Finding[] {
  const { problem } = findingsOf("wiki", "server");
  if (inRecovery)
    return [
      problem(
        "the server is a standby and accepts no writes",
        "name all hosts: database: postgres://a,b/name?target_session_attrs=read-write",
      ),
    ];
  if (version >= oldestVersion) return [];
  return [
    problem(`PostgreSQL ${Math.floor(version / 10_000)} is too old`, "upgrade the server to PostgreSQL 13 or newer"),
  ];
}

function replicationOf({ synchronousStandbys, synchronousCommit, standbys }: ServerReport): Finding[] {
  const { ok, optional, warning } = findingsOf("wiki", "replication");
  if (["off", "local"].includes(synchronousCommit) && (synchronousCommit === "off" || synchronousStandbys !== ""))
    return [
      warning(
        `synchronous_commit is ${synchronousCommit}: ${synchronousCommit === "off" ? "a crash" : "a failover"} loses commits that were acknowledged`,
        "ALTER SYSTEM SET synchronous_commit = on; SELECT pg_reload_conf()",
      ),
    ];
  if (standbys === undefined)
    return [optional("this user cannot see the standbys", "GRANT pg_monitor TO <user of the database>")];
  if (standbys.length === 0) return [optional("the server has no standby")];
  const named = standbys
    .map(({ name, state, lagBytes }) => `${name} (${state}, ${megabytes(lagBytes)} behind)`)
    .join(", ");
  if (synchronousStandbys === "")
    return [
      warning(
        `replication is asynchronous: ${named}. A failover loses the newest commits, also acknowledged ones`,
        "set synchronous_standby_names, or synchronous_mode: true in Patroni",
      ),
    ];
  const slow = standbys.some(({ lagBytes }) => (lagBytes ?? 0) > laggingBytes);
  return [
    slow ? warning(`a standby lags: ${named}`, "check the standby and its network") : ok(`synchronous: ${named}`),
  ];
}

const megabytes = (bytes: number | null) => (bytes === null ? "unknown" : `${(bytes / 1024 / 1024).toFixed(1)} MB`);

function poolerOf(pooler: boolean, listenUrl: string | undefined): Finding[] {
  const { ok, warning } = findingsOf("wiki", "pooler");
  if (!pooler) return [];
  if (listenUrl !== undefined) return [ok("connections go through a pooler, LISTEN directly to the server")];
  return [
    warning(
      "connections go through a pooler, which does not pass notifications on: changes of other processes are polled twice a second",
      "set postgresql.listen in scriptorium.yaml, or SCRIPTORIUM_DATABASE_LISTEN_URL, to the server's own address",
    ),
  ];
}

function connectionsOf({ maxConnections, connections, ours }: ServerReport, each: number, pooler: boolean): Finding {
  const { ok, warning } = findingsOf("wiki", "connections");
  const used = `${connections} of ${maxConnections} connections in use, ${ours} by Scriptorium`;
  if (pooler) return ok(`${used}; the pooler shares them`);
  const processes = Math.floor(maxConnections / (each + 1));
  const room = `a server or worker needs up to ${each + 1}, so ${processes} fit`;
  const fix = "raise max_connections, lower postgresql.connections, or use PgBouncer";
  // Read by a process that has connections itself.
  if (processes < 2 || connections > maxConnections * 0.8) return warning(`${used}; ${room}`, fix, { evidence: room });
  return ok(`${used}; ${room}`);
}

function schemaOf(newer: string | undefined): Finding[] {
  const { problem } = findingsOf("wiki", "schema-version");
  if (newer === undefined) return [];
  return [
    problem(`a newer version of Scriptorium has migrated the database (${newer})`, "install that version here too"),
  ];
}
