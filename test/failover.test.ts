import { spawn } from "node:child_process";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { type Log, untilWorkGoesOn } from "../prove/failover/clients.ts";
import { leaseMs, type Starting, startClients, startFleet } from "../prove/failover/fleet.ts";
import { check, violations } from "../prove/failover/history.ts";
import { readState } from "../prove/failover/state.ts";
import { scriptoriumProcess } from "./support/commands.ts";
import { startPostgres } from "./support/postgres.ts";
import { needs } from "./support/programs.ts";
import { temporaryFolder, testEnvironment } from "./support/workspace.ts";

const dist = new URL("../dist/", import.meta.url).pathname;

/** Starts the commands as they ship. */
function starting(): Starting {
  const endings: (() => void)[] = [];
  onTestFinished(() => {
    for (const end of endings.reverse()) end();
  });
  return {
    until: Date.now() + 120_000,
    atEnd: (work) => void endings.push(work),
    start(command, args, { cwd, env = {} }) {
      const child = spawn(process.execPath, [join(dist, `${command}.js`), ...args], {
        cwd,
        env: { ...testEnvironment(), ...env },
      });
      child.stdin?.on("error", () => undefined);
      endings.push(() => child.kill("SIGKILL"));
      return child;
    },
  };
}

test(
  "M2, C1, C2: a server and a worker go on by themselves when PostgreSQL crashes and recovers, and no write is lost, doubled or late",
  needs("postgresql"),
  async () => {
    // A server of its own: the crash would end the connections of other tests.
    const postgres = await startPostgres();
    onTestFinished(() => postgres.stop());
    const url = `${postgres.url}/postgres`;
    const folder = temporaryFolder();
    const original = join(folder, "original");
    await succeed(["init", original, "--template", "crew"], folder);
    await succeed(["store", "move", "database", "--to", url], original);
    const context = starting();
    const fleet = await startFleet(
      context,
      (["server", "worker"] as const).map((kind) => {
        const root = join(folder, kind);
        cpSync(original, root, { recursive: true });
        return { name: kind, kind, root, within: [], env: { SCRIPTORIUM_DATABASE_URL: url } };
      }),
    );
    onTestFinished(() => fleet.stop());
    const log: Log = { ops: [], prefix: "r1", isOpen: true, random: Math.random };
    const { names, ended } = startClients(log, fleet);
    const waiting = [await untilWorkGoesOn(log, [...names.keys()], performance.now(), 60_000)];
    for (let n = 0; n < 2; n++) {
      const from = performance.now();
      await crashOf(url);
      waiting.push(await untilWorkGoesOn(log, [...names.keys()], from, leaseMs + 60_000));
    }
    log.isOpen = false;
    await ended;
    await sleep(200);
    const verdict = check(log.ops, await readState((sql) => rowsOf(url, sql), "r1", "rows"));
    expect(waiting).toEqual(waiting.map(() => ({ clients: [], tasks: [] })));
    expect(violations(verdict)).toEqual([]);
    expect(verdict.acknowledged).toBeGreaterThan(10);
    expect(fleet.members.map((member) => member.ownEnds())).toEqual([0, 0]);
  },
);

/** One killed backend makes PostgreSQL end all others and recover from its log. */
async function crashOf(url: string): Promise<void> {
  const [row] = await rowsOf<{ pid: number }>(
    url,
    "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() LIMIT 1",
  );
  if (!row) throw new Error("nobody is connected");
  process.kill(row.pid, "SIGKILL");
  await sleep(300);
}

async function rowsOf<T extends object>(url: string, sql: string): Promise<T[]> {
  for (let n = 0; ; n++) {
    const client = new pg.Client({ connectionString: url });
    client.on("error", () => undefined);
    try {
      await client.connect();
      return (await client.query(sql)).rows;
    } catch (error) {
      if (n === 50) throw error;
      await sleep(100);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

async function succeed(args: string[], cwd: string): Promise<void> {
  const { code, stderr } = await scriptoriumProcess(args, { cwd });
  if (code !== 0) throw new Error(`${args.join(" ")}: ${stderr}`);
}
