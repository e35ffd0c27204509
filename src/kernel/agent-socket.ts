import { lstatSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Result } from "./result.ts";

/**
 * The socket on which a server performs operations for `scribe`:
 *
 *   scribe                      server
 *     ──────── connects ──────────▶
 *     ◀─────── greeting ───────────   its version and what it was opened with
 *     ──────── AgentCall ─────────▶   not sent unless the greeting fits
 *     ◀─────── Answer ─────────────   and the server closes the connection
 *
 * Each message is a line of JSON. Until it has sent the call, scribe can still open the store itself.
 */
export type Greeting = {
  version: string;
  /** From `identityOf`: the configuration file and the database that the server was opened with. */
  identity: string;
};

/** A result, or the error that was thrown instead. */
export type Answer = { result: Result<unknown>; warning?: string } | { thrown: { message: string; code?: string } };

/** The folder of the socket, which only its owner may enter. */
export const socketFolder = (stateFolder: string) => join(stateFolder, "run");

const socketName = "scribe.sock";
/** Holds the path of the socket if it is elsewhere. */
const recordName = "scribe.path";

/** Linux allows 107 bytes, macOS 103. */
const longestPath = 100;

export const isTooLong = (path: string) => Buffer.byteLength(path) > longestPath;
export const socketIn = (folder: string) => join(folder, socketName);
export const recordIn = (folder: string) => join(folder, recordName);

/** The socket of this workspace, which may be stale. Only our own user can have made it. */
export function findSocket(stateFolder: string): string | undefined {
  const folder = socketFolder(stateFolder);
  const near = socketIn(folder);
  const path = isTooLong(near) ? readRecord(folder) : near;
  return path !== undefined && isOurs(path) ? path : undefined;
}

function readRecord(folder: string): string | undefined {
  try {
    return readFileSync(recordIn(folder), "utf8").trim();
  } catch {
    return undefined;
  }
}

/** A repository could contain a record that names a socket of somebody else (T11). */
function isOurs(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isSocket() === true && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
}

/** Changes when the server must not answer for this process: another configuration, or another database. */
export function identityOf(configFile: string, databaseUrl: string | undefined): string {
  const { ino, size, mtimeMs } = statSync(configFile);
  return `${ino} ${size} ${mtimeMs} ${databaseUrl ?? ""}`;
}
