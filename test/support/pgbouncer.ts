import { spawn } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { freePort } from "./postgres.ts";
import { findPgbouncer } from "./programs.ts";

export type Pgbouncer = { url: string; stop(): Promise<void> };

/**
 * A real PgBouncer on loopback in front of every database of a server, in transaction mode: each transaction may get
 * another server connection. It refuses to run as root, as PostgreSQL does.
 */
export async function startPgbouncer(serverUrl: string, settings: string[] = []): Promise<Pgbouncer> {
  const program = findPgbouncer();
  if (!program) throw new Error("pgbouncer is not installed");
  const folder = mkdtempSync(join(tmpdir(), "scriptorium-pgbouncer-"));
  const { hostname, port: serverPort, username } = new URL(serverUrl);
  const port = await freePort();
  const file = join(folder, "pgbouncer.ini");
  const users = join(folder, "users.txt");
  writeFileSync(users, `"${username}" ""\n`);
  writeFileSync(
    file,
    [
      "[databases]",
      `* = host=${hostname} port=${serverPort} user=${username}`,
      "[pgbouncer]",
      "listen_addr = 127.0.0.1",
      `listen_port = ${port}`,
      "unix_socket_dir =",
      "auth_type = any",
      `auth_file = ${users}`,
      "pool_mode = transaction",
      "default_pool_size = 8",
      "max_client_conn = 2000",
      // A database that is used no more must not keep its connections: tests copy and rename databases.
      "server_idle_timeout = 2",
      "server_login_retry = 1",
      ...settings,
    ].join("\n"),
  );
  const isRoot = process.getuid?.() === 0;
  if (isRoot) for (const path of [folder, file, users]) chownSync(path, 65_534, 65_534);
  chmodSync(folder, 0o755);
  const child = spawn(program, [file], {
    stdio: ["ignore", "ignore", "pipe"],
    ...(isRoot ? { uid: 65_534, gid: 65_534 } : {}),
  });
  const said: string[] = [];
  child.stderr.on("data", (chunk) => said.push(String(chunk)));
  const url = `postgres://${username}@127.0.0.1:${port}`;
  for (let tries = 0; ; tries++) {
    const client = new pg.Client({ connectionString: `${url}/postgres` });
    const isUp = await client.connect().then(
      () => true,
      () => false,
    );
    await client.end().catch(() => undefined);
    if (isUp) break;
    if (tries > 100 || child.exitCode !== null) throw new Error(`PgBouncer did not start:\n${said.join("")}`);
    await sleep(100);
  }
  return {
    url,
    async stop() {
      const ended = new Promise((done) => child.once("close", done));
      if (child.exitCode === null) {
        child.kill("SIGTERM");
        await ended;
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
