import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Network } from "./network.ts";

const debian = "/usr/lib/postgresql";
/** Of the newest PostgreSQL that Debian installed. */
const programs = (): string | undefined => {
  const versions = existsSync(debian)
    ? readdirSync(debian)
        .map(Number)
        .sort((a, b) => b - a)
    : [];
  return versions.length > 0 ? join(debian, String(versions[0]), "bin") : undefined;
};
const faketime = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

/** What is missing on this machine for a cluster. */
export const missingPrograms = (): string[] =>
  [
    [programs() !== undefined, "postgresql"],
    [existsSync("/usr/sbin/pgbouncer"), "pgbouncer"],
    [existsSync(faketime), "faketime"],
  ].flatMap(([found, name]) => (found ? [] : [String(name)]));

export const virtualAddress = "10.77.0.200";

/**
 * PostgreSQL with a standby. The virtual address is at the primary; `failOver` does what a failover manager such as
 * Patroni does: it promotes the standby and moves the address.
 */
export type Cluster = {
  /** The address at the primary, or the pooler's. */
  url(database: string, through?: "pooler"): string;
  query<T extends object>(database: string, sql: string): Promise<T[]>;
  createDatabase(name: string): Promise<void>;
  setSynchronous(on: boolean): Promise<void>;
  /** Ends PostgreSQL on the primary as a crash of its host does. */
  killPrimary(): Promise<void>;
  cutStandby(): void;
  failOver(): Promise<void>;
  /** Starts the old primary without a network, and reads what it has. The caller compares. */
  readOldPrimary<T>(read: (query: (database: string, sql: string) => Promise<object[]>) => Promise<T>): Promise<T>;
  /** Makes the old primary a new standby. */
  rebuildStandby(): Promise<void>;
  restart(mode: "fast" | "immediate"): Promise<void>;
  /** Starts what has ended, as a service manager does. */
  ensureRunning(): Promise<boolean>;
  restartPooler(): Promise<void>;
  /** Moves PostgreSQL's clock by so many seconds; 0 is the machine's. */
  setClock(seconds: number): void;
  /** The file system of the primary's data. */
  mount(): string;
  primary(): string;
  standby(): string;
  /** Copies a database into a new cluster with `pg_dump` and `psql`; returns the URL there. */
  restoreElsewhere(database: string): Promise<{ url: string; query: <T extends object>(sql: string) => Promise<T[]> }>;
  close(): void;
};

type Node = { name: string; within: string[]; data: string; socket: string; clock: string; child?: ChildProcess };

export async function openCluster(network: Network): Promise<Cluster> {
  const bin = programs() ?? "";
  if (!bin) throw new Error("PostgreSQL is not installed: apt-get install postgresql pgbouncer faketime");
  const folder = mkdtempSync(join(tmpdir(), "scriptorium-cluster-"));
  chmodSync(folder, 0o755);
  const as = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"];
  const [uid = 0, gid = 0] = ["-u", "-g"].map((flag) =>
    Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" })),
  );
  const owned = (path: string, mode = 0o700) => {
    mkdirSync(path, { recursive: true });
    chownSync(path, uid, gid);
    chmodSync(path, mode);
    return path;
  };
  const nodeOf = (name: string): Node => {
    const within = network.add(name);
    const disk = owned(join(folder, `${name}-disk`), 0o755);
    // A file system of its own, so that it can be filled.
    execFileSync("mount", [
      "-t",
      "tmpfs",
      "-o",
      `size=600m,nr_inodes=20000,uid=${uid},gid=${gid}`,
      "scriptorium",
      disk,
    ]);
    const clock = join(folder, `${name}-clock`);
    writeFileSync(clock, "+0\n");
    return { name, within, data: join(disk, "data"), socket: owned(join(folder, `${name}-socket`), 0o755), clock };
  };
  const exec = ({ within }: { within: string[] }, program: string, args: string[]) => {
    const [file = "", ...rest] = [...within, ...as, join(bin, program), ...args];
    return execFileSync(file, rest, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], cwd: folder });
  };

  let primary = nodeOf("pg1");
  let standby = nodeOf("pg2");
  const pooler = { within: network.add("pooler"), child: undefined as ChildProcess | undefined };
  const others: ChildProcess[] = [];
  let isSynchronous = false;
  let closed = false;

  function start(node: Node, more: string[] = []) {
    const settings = ["listen_addresses=*", `unix_socket_directories=${node.socket}`, "max_connections=200", ...more];
    const [file = "", ...args] = [
      ...node.within,
      ...as,
      "env",
      `LD_PRELOAD=${faketime}`,
      `FAKETIME_TIMESTAMP_FILE=${node.clock}`,
      "FAKETIME_NO_CACHE=1",
      "DONT_FAKE_MONOTONIC=1",
      join(bin, "postgres"),
      "-D",
      node.data,
      ...settings.flatMap((setting) => ["-c", setting]),
    ];
    node.child = spawn(file, args, {
      cwd: folder,
      stdio: ["ignore", "ignore", process.env.PROVE_DEBUG ? "inherit" : "ignore"],
    });
  }
  const hasEnded = ({ child }: Node) => !child || child.exitCode !== null || child.signalCode !== null;

  async function ask<T extends object>(
    node: Pick<Node, "socket">,
    database: string,
    sql: string,
    port = 5432,
  ): Promise<T[]> {
    const client = new pg.Client({
      host: node.socket,
      port,
      database,
      user: "postgres",
      connectionTimeoutMillis: 5000,
      query_timeout: 60_000,
      types: {
        getTypeParser: (oid, format) => (oid === 20 ? Number : pg.types.getTypeParser(oid, format as "text")),
      } as pg.CustomTypesConfig,
    });
    client.on("error", () => undefined);
    try {
      await client.connect();
      return (await client.query(sql)).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async function until(what: string, isDone: () => Promise<boolean>, seconds = 60): Promise<void> {
    for (const end = Date.now() + seconds * 1000; Date.now() < end; ) {
      if (closed) throw new Error("the proof's time is over");
      if (await isDone().catch(() => false)) return;
      await sleep(50);
    }
    throw new Error(`${what} did not happen within ${seconds} s`);
  }
  const answers = (node: Node) => async () => (await ask(node, "postgres", "SELECT 1")).length === 1;
  const setNames = (node: Node, names: string) =>
    writeFileSync(join(node.data, "replication.conf"), `synchronous_standby_names = '${names}'\n`);
  const reload = (node: Node) => ask(node, "postgres", "SELECT pg_reload_conf()");

  async function applySynchronous() {
    setNames(primary, isSynchronous ? "standby" : "");
    await reload(primary);
  }

  async function copyPrimary() {
    rmSync(standby.data, { recursive: true, force: true });
    exec(standby, "pg_basebackup", [
      ...["-h", virtualAddress, "-U", "postgres", "-D", standby.data, "-X", "stream", "--checkpoint=fast", "--no-sync"],
    ]);
    writeFileSync(join(standby.data, "standby.signal"), "");
    start(standby, [`primary_conninfo=host=${virtualAddress} user=postgres application_name=standby`]);
    await until("streaming to the standby", async () => {
      const rows = await ask(primary, "postgres", "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'");
      return rows.length === 1;
    });
    await applySynchronous();
    if (isSynchronous)
      await until("synchronous replication", async () => {
        const rows = await ask(primary, "postgres", "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'");
        return rows.length === 1;
      });
  }

  function startPooler() {
    const file = join(folder, "pgbouncer.ini");
    const text = `[databases]\n* = host=${virtualAddress} port=5432\n[pgbouncer]\nlisten_addr = *\nlisten_port = 6432\nauth_type = any\npool_mode = transaction\nunix_socket_dir =\nmax_client_conn = 500\ndefault_pool_size = 20\nserver_login_retry = 1\nmax_prepared_statements = 0\nignore_startup_parameters = extra_float_digits,options,statement_timeout,lock_timeout,idle_in_transaction_session_timeout\n`;
    writeFileSync(file, text.replace("\n* =", "\n* = user=postgres"));
    const [program = "", ...args] = [...pooler.within, ...as, "/usr/sbin/pgbouncer", "-q", file];
    pooler.child = spawn(program, args, { cwd: folder, stdio: "ignore" });
  }

  for (const path of [primary.data]) owned(path);
  exec(primary, "initdb", [
    "-D",
    primary.data,
    "-U",
    "postgres",
    "--auth=trust",
    "-E",
    "UTF8",
    "--locale=C",
    "--no-sync",
    "--wal-segsize=1",
  ]);
  const settings = [
    "wal_level = replica",
    "max_wal_size = '64MB'",
    "hot_standby = on",
    "wal_keep_size = '64MB'",
    "include = 'replication.conf'",
  ];
  writeFileSync(join(primary.data, "postgresql.conf"), `${settings.join("\n")}\n`, { flag: "a" });
  writeFileSync(
    join(primary.data, "pg_hba.conf"),
    "local all all trust\nhost all all 0.0.0.0/0 trust\nhost replication all 0.0.0.0/0 trust\n",
  );
  setNames(primary, "");
  start(primary);
  network.moveAddress(virtualAddress, primary.name);
  await until("PostgreSQL's start", answers(primary));
  await copyPrimary();
  startPooler();

  const stopped = (node: Node) =>
    until("the end of PostgreSQL", async () => network.processesOf(node.name).length === 0);

  return {
    url: (database, through) =>
      through
        ? `postgres://postgres@${network.addressOf("pooler")}:6432/${database}`
        : `postgres://postgres@${virtualAddress}:5432/${database}`,
    query: (database, sql) => ask(primary, database, sql),
    async createDatabase(name) {
      await ask(primary, "postgres", `CREATE DATABASE ${name}`);
    },
    async setSynchronous(on) {
      isSynchronous = on;
      await applySynchronous();
      if (on)
        await until("synchronous replication", async () => {
          const rows = await ask(primary, "postgres", "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'");
          return rows.length === 1;
        });
    },
    async killPrimary() {
      for (const pid of network.processesOf(primary.name)) kill(pid);
      await stopped(primary);
    },
    cutStandby: () => network.cut(standby.name),
    async failOver() {
      [primary, standby] = [standby, primary];
      setNames(primary, "");
      await reload(primary);
      await ask(primary, "postgres", "SELECT pg_promote()");
      network.moveAddress(virtualAddress, primary.name);
    },
    async readOldPrimary(read) {
      start(standby, ["listen_addresses=", "synchronous_standby_names="]);
      await until("the start of the old primary", answers(standby));
      const found = await read((database, sql) => ask(standby, database, sql));
      for (const pid of network.processesOf(standby.name)) kill(pid);
      await stopped(standby);
      return found;
    },
    async rebuildStandby() {
      for (const pid of network.processesOf(standby.name)) kill(pid);
      await stopped(standby);
      await copyPrimary();
    },
    async restart(mode) {
      exec(primary, "pg_ctl", ["stop", "-D", primary.data, "-m", mode, "-w"]);
      start(primary);
      await until("PostgreSQL's start", answers(primary));
    },
    async ensureRunning() {
      if (!hasEnded(primary)) return false;
      for (const pid of network.processesOf(primary.name)) kill(pid);
      start(primary);
      return true;
    },
    async restartPooler() {
      pooler.child?.kill("SIGKILL");
      await sleep(300);
      startPooler();
    },
    setClock(seconds) {
      for (const { clock } of [primary, standby]) writeFileSync(clock, `${seconds >= 0 ? "+" : ""}${seconds}\n`);
    },
    mount: () => join(primary.data, ".."),
    primary: () => primary.name,
    standby: () => standby.name,
    async restoreElsewhere(database) {
      const data = join(primary.data, "..", `restored-${database}`);
      owned(data);
      exec(primary, "initdb", [
        "-D",
        data,
        "-U",
        "postgres",
        "--auth=trust",
        "-E",
        "UTF8",
        "--locale=C",
        "--no-sync",
        "--wal-segsize=1",
      ]);
      writeFileSync(join(data, "pg_hba.conf"), "local all all trust\nhost all all 0.0.0.0/0 trust\n");
      const [file = "", ...args] = [
        ...[...primary.within, ...as, join(bin, "postgres"), "-D", data, "-p", "5434", "-c", "listen_addresses=*"],
        ...["-c", `unix_socket_directories=${primary.socket}`, "-c", "max_connections=200"],
      ];
      others.push(spawn(file, args, { cwd: folder, stdio: "ignore" }));
      await until(
        "the second cluster's start",
        async () => (await ask(primary, "postgres", "SELECT 1", 5434)).length === 1,
      );
      await ask(primary, "postgres", `CREATE DATABASE ${database}`, 5434);
      const dump = join(folder, `${database}.sql`);
      writeFileSync(dump, exec(primary, "pg_dump", ["-h", primary.socket, "-U", "postgres", database]));
      exec(primary, "psql", [
        "-q",
        "-v",
        "ON_ERROR_STOP=1",
        "-h",
        primary.socket,
        "-p",
        "5434",
        "-U",
        "postgres",
        "-f",
        dump,
        database,
      ]);
      return {
        url: `postgres://postgres@${virtualAddress}:5434/${database}`,
        query: (sql) => ask(primary, database, sql, 5434),
      };
    },
    close() {
      closed = true;
      for (const child of [pooler.child, ...others]) child?.kill("SIGKILL");
      for (const { name } of [primary, standby]) for (const pid of network.processesOf(name)) kill(pid);
      for (const { data } of [primary, standby]) {
        try {
          execFileSync("umount", ["-l", join(data, "..")], { stdio: "ignore" });
        } catch {}
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** It may have ended by itself. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {}
}
