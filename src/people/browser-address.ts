import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "../store/database.ts";
import { privateFile, privateFolder } from "../store/disk/private.ts";
import { addMeta, findMeta } from "../store/queries/meta.ts";

/**
 * Browsers send a cookie to every port of the host that set it. Pages are therefore served under a host name of the
 * workspace's own, `<random>.localhost`, which no other program knows. Browsers resolve it to this machine without
 * asking a name server.
 */
export type BrowserAddress = { host: string; cookie: string };

const key = "browser_host";

export async function browserAddress(db: Database): Promise<BrowserAddress> {
  let label = await findMeta(db.read, key);
  if (label === undefined) {
    await db.write((tx) => addMeta(tx, key, randomBytes(10).toString("hex")));
    // Another process may have added it first.
    label = (await findMeta(db.read, key)) ?? "";
  }
  // Named by a hash: cookie names are sent to other ports of 127.0.0.1 when the browser cannot resolve the host.
  const suffix = createHash("sha256").update(label).digest("hex").slice(0, 8);
  return { host: `${label}.localhost`, cookie: `scriptorium-${suffix}` };
}

/** The origin that people open: the public one, or the workspace's own name on this port. */
export const originOf = (baseUrl: string | undefined, { host }: BrowserAddress, port: number): string =>
  baseUrl ?? `http://${host}:${port}`;

export const linkAt = (origin: string, code: string): string => `${origin}/?code=${code}`;

const fileOf = (stateFolder: string) => join(stateFolder, "run", "port");

/** Records the port of the running server, for commands that print links. */
export function recordPort(stateFolder: string, port: number): { remove(): void } {
  const file = fileOf(stateFolder);
  const text = `${process.pid} ${port}\n`;
  mkdirSync(join(stateFolder, "run"), privateFolder);
  writeFileSync(file, text, privateFile);
  return {
    remove() {
      if (readOr(file) === text) rmSync(file, { force: true });
    },
  };
}

/** The port of the running server; undefined if none runs. */
export function recordedPort(stateFolder: string): number | undefined {
  const [pid, port] = readOr(fileOf(stateFolder)).trim().split(" ").map(Number);
  return pid && port && isRunning(pid) ? port : undefined;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function readOr(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
