import { join } from "node:path";
import { openLock } from "../store/disk/lock.ts";

const fileOf = (stateFolder: string) => join(stateFolder, "jobs.lock");

/** A lock that tells other processes of this machine that a server takes over jobs; released when the process ends. */
export const showPresence = (stateFolder: string) => openLock(fileOf(stateFolder));

export function serverIsUp(stateFolder: string): boolean {
  const lock = openLock(fileOf(stateFolder));
  lock?.release();
  return lock === undefined;
}
