import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Log, type Tasks, untilWorkGoesOn } from "./failover/clients.ts";
import { type Cluster, missingPrograms, openCluster } from "./failover/cluster.ts";
import * as faults from "./failover/faults.ts";
import { type Fleet, type Host, leaseMs, moveToDatabase, startClients, startFleet } from "./failover/fleet.ts";
import { check, type Effect, type Op, type State, violations } from "./failover/history.ts";
import { canHaveHosts, openNetwork } from "./failover/network.ts";
import { openFileHistory } from "./failover/sqlite.ts";
import { readState } from "./failover/state.ts";
import { type Totals, totalsOf } from "./failover/table.ts";
import { newWorkspace } from "./support/commands.ts";
import type { Context, Proof } from "./support/proof.ts";

/** What C4 allows, and what a busy machine adds. */
const recoveryMs = leaseMs + 30_000;

export const proof: Proof = {
  promise:
    "Under faults no acknowledged write is lost or doubled, no write takes effect after a newer claim, and work goes on without a person within lease + 30 s",
  weight: 9,
  async run(context) {
    const missing = [...missingPrograms(), ...(canHaveHosts() ? [] : ["root with network namespaces and nft"])];
    if (missing.length > 0) throw new Error(`missing: ${missing.join(", ")}; apt-get install them and run as root`);
    const totals = totalsOf(context, recoveryMs);
    const base = await newWorkspace(context);
    for (const { name } of ofPostgres) totals.row("PostgreSQL", name);
    for (const { name } of ofSqlite(base)) totals.row("SQLite", name);
    // At once: most of a row is waiting. Each begins again while there is time.
    await Promise.all([
      rounds(context, (round) => overPostgres(context, base, totals, round)),
      rounds(context, (round) => overSqlite(context, base, totals, round)),
    ]);
  },
};

const restoring = { name: "dump and restore into a new cluster" };
const ofPostgres = [
  ...faults.ofCluster,
  ...faults.ofProcesses,
  ...faults.ofHostClocks,
  restoring,
  faults.poolerRestart,
];
const ofSqlite = (disk: string): faults.Fault<faults.Scene>[] => [
  ...faults.ofProcesses,
  faults.fullDisk("disk", () => disk),
  faults.fullDisk("inodes", () => disk),
  ...faults.ofOneClock,
];

/** Repeats the rows of an engine, unless the first round shows that another one would not end in time. */
async function rounds(context: Context, run: (round: number) => Promise<void>): Promise<void> {
  const began = Date.now();
  for (let round = 1; Date.now() < context.until; round++) {
    await run(round);
    if (round === 1 && Date.now() - began > context.until - Date.now()) return;
  }
}

let rows = 0;

/** Runs one fault, several times, under load; then checks the history of the row. */
async function runRow<S extends faults.Scene>(
  context: Context,
  totals: Totals,
  scene: S,
  {
    engine,
    fault,
    round,
    read,
  }: { engine: string; fault: faults.Fault<S>; round: number; read(prefix: string): Promise<State> },
): Promise<void> {
  if (Date.now() > context.until) return;
  const log: Log = { ops: [], prefix: `r${++rows}`, isOpen: true, random: context.random };
  const ends = () => scene.fleet.members.reduce((sum, member) => sum + member.ownEnds(), 0);
  const endsBefore = ends();
  const { names, ended } = startClients(log, scene.fleet);
  const row = totals.row(engine, fault.name);
  const forgotten = new Set<string>();
  await sleep(1000);
  // The first round is short, so that a bounded run shows every row.
  const times = round === 1 ? 1 : (fault.times ?? 1);
  for (let n = 0; n < times && Date.now() < context.until; n++) {
    const { from, forgotten: lost, after } = await fault.inject(scene);
    row.faults++;
    const waiting = await untilWorkGoesOn(log, [...names.keys()], from, recoveryMs);
    row.recovered(performance.now() - from, waiting);
    for (const mark of (await lost?.()) ?? []) forgotten.add(mark);
    // Somebody has to look at these; the harness starts them again.
    const stuck = new Set(waiting.clients.map((client) => names.get(client)));
    for (const member of stuck) member?.kill();
    if (stuck.size > 0) await untilWorkGoesOn(log, waiting.clients, performance.now(), recoveryMs);
    await after?.();
  }
  log.isOpen = false;
  await ended;
  await sleep(500);
  const state = await read(log.prefix);
  const verdict = check(log.ops, state, { lostByDatabase: forgotten, leasesHold: !fault.endsLeases });
  row.add(verdict, { restarts: ends() - endsBefore, zombies: zombiesIn(log.ops), forgotten: forgotten.size });
  for (const kind of ["lost", "doubled", "late", "unordered"] as const) {
    context.check(
      verdict[kind].length === 0,
      `${engine}, ${fault.name}: ${kind}: ${verdict[kind].slice(0, 3).join("; ")}`,
    );
  }
  if (process.env.PROVE_DEBUG) for (const line of violations(verdict)) console.error(line);
  totals.show();
}

/** Writes that were answered after another worker had got their task. */
function zombiesIn(ops: Op[]): number {
  const claims = ops.filter(({ kind, outcome }) => kind === "claim" && outcome === "ok");
  return ops.filter(
    (op) =>
      op.claim !== undefined &&
      op.kind !== "claim" &&
      claims.some(
        (other) =>
          other.key === op.key &&
          other.claim !== op.claim &&
          (other.ended ?? 0) < (op.ended ?? 0) &&
          other.began > op.began,
      ),
  ).length;
}

async function overPostgres(context: Context, base: string, totals: Totals, round: number): Promise<void> {
  const network = openNetwork();
  context.atEnd(() => network.remove());
  const cluster = await openCluster(network);
  context.atEnd(() => cluster.close());
  const hosts = (["h1", "h2", "w1", "w2"] as const).map((name) => ({ name, within: network.add(name) }));
  /** One process on each host, with a workspace in a folder of its own, as a clone is. */
  const start = async (url: string, book: string) => {
    const original = join(context.folder, book);
    if (!existsSync(original)) {
      const { within } = hosts[0] as (typeof hosts)[number];
      await moveToDatabase(context, { base, root: original, url, within });
    }
    return startFleet(
      context,
      hosts.map(({ name, within }): Host => {
        const root = join(context.folder, `${book}-${name}`);
        if (!existsSync(root)) cpSync(original, root, { recursive: true });
        const kind = name.startsWith("h") ? "server" : "worker";
        return { name, kind, root, within, env: { SCRIPTORIUM_DATABASE_URL: url } };
      }),
    );
  };
  const database = `handbook${round}`;
  await cluster.createDatabase(database);
  let fleet = await start(cluster.url(database), database);
  const engine = "PostgreSQL";
  const scene = () => ({ fleet, network, cluster, database, random: context.random });
  const read = (prefix: string) => readState((sql) => cluster.query(database, sql), prefix, "rows");
  for (const fault of [...faults.ofCluster, ...faults.ofProcesses, ...faults.ofHostClocks])
    await runRow(context, totals, scene(), { engine, fault, round, read });
  cluster.setClock(0);
  await fleet.stop();

  const restored = await restart(context, totals, { cluster, database, start });
  if (restored) fleet = restored;
  await fleet.stop();

  if (Date.now() < context.until) {
    const pooled = `pooled${round}`;
    await cluster.createDatabase(pooled);
    try {
      fleet = await start(cluster.url(pooled, "pooler"), pooled);
      const query = <T extends object>(sql: string) => cluster.query<T>(pooled, sql);
      await runRow(
        context,
        totals,
        { ...scene(), fleet, database: pooled },
        {
          engine,
          fault: faults.poolerRestart,
          round,
          read: (prefix) => readState(query, prefix, "rows"),
        },
      );
      await fleet.stop();
    } catch (error) {
      totals.row(engine, faults.poolerRestart.name).failed(String((error as Error).message));
      context.check(false, `${engine}, ${faults.poolerRestart.name}: ${(error as Error).message}`);
    }
  }
  cluster.close();
  network.remove();
}

/** Dump and restore into a new cluster, whose transaction ids begin again. Writers are stopped: a dump is a snapshot. */
async function restart(
  context: Context,
  totals: Totals,
  {
    cluster,
    database,
    start,
  }: { cluster: Cluster; database: string; start(url: string, book: string): Promise<Fleet> },
): Promise<Fleet | undefined> {
  if (Date.now() > context.until) return undefined;
  const before = await start(cluster.url(database), database);
  const log: Log = { ops: [], prefix: `r${++rows}`, isOpen: true, random: context.random };
  const tasks: Tasks = { open: [] };
  const first = startClients(log, before, tasks);
  await sleep(2000);
  log.isOpen = false;
  await first.ended;
  await before.stop();
  const row = totals.row("PostgreSQL", restoring.name);
  const { url, query } = await cluster.restoreElsewhere(database);
  const from = performance.now();
  const fleet = await start(url, database);
  log.isOpen = true;
  const second = startClients(log, fleet, tasks);
  row.faults++;
  // Starting the processes counts as well, but not against the time in which they must go on.
  const patienceMs = performance.now() - from + recoveryMs;
  const waiting = await untilWorkGoesOn(log, [...second.names.keys()], from, patienceMs);
  row.recovered(performance.now() - from, waiting);
  await sleep(1000);
  log.isOpen = false;
  await second.ended;
  const verdict = check(log.ops, await readState(query, log.prefix, "rows"));
  row.add(verdict, { restarts: 0, zombies: zombiesIn(log.ops), forgotten: 0 });
  for (const line of violations(verdict)) context.check(false, `PostgreSQL, dump and restore: ${line}`);
  context.check(verdict.acknowledged > 0, "PostgreSQL, dump and restore: nothing was written");
  totals.show();
  return fleet;
}

/** One host; the workspace lies on a file system of its own, so that it can be filled. */
async function overSqlite(context: Context, base: string, totals: Totals, round: number): Promise<void> {
  if (Date.now() > context.until) return;
  const disk = join(context.folder, `disk-${round}`);
  mkdirSync(disk);
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=400m,nr_inodes=100000", "scriptorium", disk]);
  const unmount = () => {
    try {
      execFileSync("umount", ["-l", disk], { stdio: "ignore" });
    } catch {
      // It was unmounted before.
    }
  };
  context.atEnd(unmount);
  const root = join(disk, "workspace");
  cpSync(base, root, { recursive: true });
  const fleet = await startFleet(
    context,
    (["server", "w1", "w2"] as const).map((name) => ({
      name,
      kind: name === "server" ? "server" : "worker",
      root,
      within: [],
      env: {},
    })),
  );
  const history = openFileHistory(context, root);
  const read = async (prefix: string): Promise<State> =>
    readState(history.query, prefix, (await history.texts()) as Effect[]);
  const scene = { fleet, random: context.random };
  for (const fault of ofSqlite(disk)) await runRow(context, totals, scene, { engine: "SQLite", fault, round, read });
  await fleet.stop();
  unmount();
}
