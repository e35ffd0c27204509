import { execFileSync } from "node:child_process";
import { statfsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "./cluster.ts";
import { type Fleet, leaseMs, type Member } from "./fleet.ts";
import type { Network } from "./network.ts";
import { marksIn } from "./state.ts";

export type Scene = { fleet: Fleet; random(): number };
export type ClusterScene = Scene & { network: Network; cluster: Cluster; database: string };

/** Where it happened, and what the database forgot with it. */
export type Injected = {
  /** Work should go on from this time (performance.now()): that of the fault, or its end if it lasts. */
  from: number;
  forgotten?(): Promise<Set<string>>;
  /** Repairs what only the next fault needs. */
  after?(): Promise<void>;
};

export type Fault<S extends Scene> = {
  name: string;
  inject(scene: S): Promise<Injected>;
  /** How often a round injects it. */
  times?: number;
  /** Leases may end early: the clock was moved, or claims were lost with the primary. */
  endsLeases?: boolean;
};

const now = () => performance.now();
const longerThanLease = leaseMs + 4000;
/** Longer than the timeouts of connections, too: neither side may wait for the other's packets. */
const partitionMs = 45_000;

function oneOf({ fleet, random }: Scene, kind: Member["kind"]): Member {
  const members = fleet.members.filter((member) => member.kind === kind);
  return members[Math.floor(random() * members.length)] as Member;
}

const killed = (kind: Member["kind"]): Fault<Scene> => ({
  name: `kill -9 of a ${kind}`,
  times: 3,
  async inject(scene) {
    oneOf(scene, kind).kill();
    return { from: now() };
  },
});

const stopped = (kind: Member["kind"]): Fault<Scene> => ({
  name: `SIGSTOP of a ${kind} for longer than the lease`,
  async inject(scene) {
    const { child } = oneOf(scene, kind);
    child?.kill("SIGSTOP");
    await sleep(longerThanLease);
    child?.kill("SIGCONT");
    return { from: now() };
  },
});

/** A limit on the address space: the next allocations fail, as on a host without memory and swap. */
const lowMemory = (kind: Member["kind"]): Fault<Scene> => ({
  name: `low memory at a ${kind}`,
  async inject(scene) {
    const { child } = oneOf(scene, kind);
    const limit = (bytes: string) => {
      try {
        execFileSync("prlimit", ["--pid", String(child?.pid), `--as=${bytes}`], { stdio: "ignore" });
      } catch {
        // Without memory it has ended.
      }
    };
    limit("1048576:unlimited");
    await sleep(3000);
    limit("unlimited");
    return { from: now() };
  },
});

const clockOfHosts = (seconds: number, said: string): Fault<Scene> => ({
  name: `clock of a server and a worker ${said}`,
  endsLeases: true,
  async inject(scene) {
    const moved = [oneOf(scene, "server"), oneOf(scene, "worker")];
    for (const member of moved) member.setClock(seconds);
    return {
      from: now(),
      async after() {
        for (const member of moved) member.setClock(0);
      },
    };
  },
});

/** Faults of a process that both engines have. */
export const ofProcesses: Fault<Scene>[] = [
  killed("server"),
  killed("worker"),
  stopped("server"),
  stopped("worker"),
  lowMemory("server"),
  lowMemory("worker"),
];

export const ofHostClocks: Fault<Scene>[] = [clockOfHosts(3600, "+1 h"), clockOfHosts(-3600, "−1 h")];

/** On one host every process has the same clock. */
export const ofOneClock: Fault<Scene>[] = (
  [
    [3600, "+1 h"],
    [-3600, "−1 h"],
  ] as const
).map(([seconds, said]) => ({
  name: `clock ${said}`,
  endsLeases: true,
  async inject({ fleet }) {
    for (const member of fleet.members) member.setClock(seconds);
    return {
      from: now(),
      async after() {
        for (const member of fleet.members) member.setClock(0);
      },
    };
  },
}));

/** A full file system, until there is room again. */
export const fullDisk = <S extends Scene>(what: "disk" | "inodes", where: (scene: S) => string): Fault<S> => ({
  name: `${what} full`,
  async inject(scene) {
    const folder = where(scene);
    const { blocks, bsize, files } = statfsSync(folder);
    const remount = (option: string) => execFileSync("mount", ["-o", `remount,${option}`, folder], { stdio: "pipe" });
    /** The file system grows meanwhile: a limit below what is used is refused. */
    const limit = (tries: number): void => {
      const { bfree, ffree } = statfsSync(folder);
      try {
        remount(what === "disk" ? `size=${(blocks - bfree + 4) * bsize}` : `nr_inodes=${files - ffree}`);
      } catch (error) {
        if (tries === 0) throw error;
        limit(tries - 1);
      }
    };
    limit(20);
    await sleep(4000);
    remount(what === "disk" ? `size=${blocks * bsize}` : `nr_inodes=${files}`);
    return { from: now() };
  },
});

const failedOver = (isSynchronous: boolean): Fault<ClusterScene> => ({
  name: `kill -9 of the primary with ${isSynchronous ? "a synchronous" : "an asynchronous"} standby`,
  endsLeases: !isSynchronous,
  async inject({ cluster, database, network }) {
    await cluster.setSynchronous(isSynchronous);
    // The standby lags: what the primary acknowledges now is lost with it.
    if (!isSynchronous) {
      cluster.cutStandby();
      await sleep(1000);
    }
    const from = now();
    await cluster.killPrimary();
    if (!isSynchronous) network.heal(cluster.standby());
    await cluster.failOver();
    const kept = isSynchronous
      ? undefined
      : await cluster.readOldPrimary((query) => marksOf((sql) => query(database, sql)));
    return {
      from,
      ...(kept
        ? {
            async forgotten() {
              const present = await marksOf((sql) => cluster.query(database, sql));
              return new Set([...kept].filter((mark) => !present.has(mark)));
            },
          }
        : {}),
      after: () => cluster.rebuildStandby(),
    };
  },
});

/** Every mark in versions and events. */
async function marksOf(query: (sql: string) => Promise<object[]>): Promise<Set<string>> {
  const rows = (await query(
    "SELECT content AS text FROM entry_versions UNION ALL SELECT replace(data, '\"', ' ') FROM events",
  )) as { text: string | null }[];
  return new Set(rows.flatMap(({ text }) => marksIn(text ?? "")));
}

const cutOff = (kind: Member["kind"]): Fault<ClusterScene> => ({
  name: `partition of a ${kind} for ${partitionMs / 1000} s, longer than its lease`,
  async inject(scene) {
    const { name } = oneOf(scene, kind);
    scene.network.cut(name);
    await sleep(partitionMs);
    scene.network.heal(name);
    return { from: now() };
  },
});

const clockOfCluster: Fault<ClusterScene>[] = (
  [
    [3600, "+1 h"],
    [-3600, "−1 h"],
  ] as const
).map(([seconds, said]) => ({
  name: `clock of PostgreSQL ${said}`,
  endsLeases: true,
  async inject({ cluster }) {
    cluster.setClock(seconds);
    return {
      from: now(),
      async after() {
        cluster.setClock(0);
      },
    };
  },
}));

export const ofCluster: Fault<ClusterScene>[] = [
  failedOver(true),
  failedOver(false),
  {
    name: "restart of PostgreSQL",
    times: 2,
    async inject({ cluster, random }) {
      const from = now();
      await cluster.restart(random() < 0.5 ? "fast" : "immediate");
      return { from };
    },
  },
  {
    name: "pg_terminate_backend of every connection",
    times: 4,
    async inject({ cluster, database }) {
      const from = now();
      await cluster.query(
        "postgres",
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`,
      );
      return { from };
    },
  },
  cutOff("worker"),
  cutOff("server"),
  fullOfCluster("disk"),
  fullOfCluster("inodes"),
  ...clockOfCluster,
];

/** PostgreSQL ends when it cannot write its log; a service manager starts it again. */
function fullOfCluster(what: "disk" | "inodes"): Fault<ClusterScene> {
  const fault = fullDisk<ClusterScene>(what, ({ cluster }) => cluster.mount());
  return {
    ...fault,
    name: `${what} of PostgreSQL full`,
    async inject(scene) {
      const injected = await fault.inject(scene);
      await scene.cluster.ensureRunning();
      return injected;
    },
  };
}

export const poolerRestart: Fault<ClusterScene> = {
  name: "PgBouncer restart",
  times: 3,
  async inject({ cluster }) {
    const from = now();
    await cluster.restartPooler();
    return { from };
  },
};
