import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { type Postgres, startPostgres } from "../../test/support/postgres.ts";

/** Where a bench lives while it runs. Whatever it starts or writes is gone after `leave`. */
export type Place = {
  /** A new empty folder. */
  folder(name: string): string;
  /** The environment for everything that is started: git has only the configuration the bench gives it. */
  environment: Record<string, string>;
  /** A new database on a PostgreSQL that is started when first asked for. */
  postgres(): Promise<string>;
  /** Starts a program that is ended with the bench, if not before. */
  start(file: string, args: string[], options?: { cwd?: string; env?: Record<string, string> }): ChildProcess;
  /** Called on leaving, the last one first. */
  onLeave(work: () => unknown): void;
  leave(): Promise<void>;
};

export function openPlace(): Place {
  const root = mkdtempSync(join(tmpdir(), "scriptorium-bench-"));
  const home = join(root, "home");
  mkdirSync(home);
  const environment = {
    PATH: process.env.PATH ?? "",
    HOME: home,
    LANG: "C.UTF-8",
    SCRIPTORIUM_TRUSTED_FOLDERS: root,
  };
  const endings: (() => unknown)[] = [];
  let server: Promise<Postgres> | undefined;
  let made = 0;

  return {
    environment,
    folder(name) {
      const folder = join(root, `${name}-${++made}`);
      mkdirSync(folder);
      return folder;
    },
    async postgres() {
      if (!server) {
        server = startPostgres();
        endings.push(async () => (await server)?.stop());
      }
      const { url } = await server;
      const name = `bench_${++made}`;
      const client = new pg.Client({ connectionString: `${url}/postgres` });
      await client.connect();
      await client.query(`CREATE DATABASE ${name}`);
      await client.end();
      return `${url}/${name}`;
    },
    start(file, args, { cwd = root, env = {} } = {}) {
      const child = spawn(file, args, { cwd, env: { ...environment, ...env } });
      endings.push(() => child.exitCode === null && child.signalCode === null && child.kill("SIGKILL"));
      return child;
    },
    onLeave(work) {
      endings.push(work);
    },
    async leave() {
      for (const end of endings.reverse()) await end();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

const tmpfs = 0x01021994;

/** In memory an fsync costs nothing, and what is measured of durable writes means nothing. */
export const isInMemory = () => statfsSync(tmpdir()).type === tmpfs;

/** A command as it ships, beside the bundle this runs from. */
export const command = (name: "scriptorium" | "scribe") =>
  fileURLToPath(new URL(`../dist/${name}.js`, import.meta.url));

type Ended = { code: number | null; stdout: string; stderr: string };

export function ended(child: ChildProcess): Promise<Ended> {
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    stderr += chunk;
  });
  return new Promise((done, fail) => {
    child.on("error", fail);
    child.on("close", (code) => done({ code, stdout, stderr }));
  });
}

/** Runs to its end a program that must succeed. */
export async function succeed(child: ChildProcess): Promise<string> {
  const { code, stdout, stderr } = await ended(child);
  if (code !== 0) throw new Error(`${child.spawnargs.slice(0, 4).join(" ")} failed (${code}): ${stderr.trim()}`);
  return stdout;
}
