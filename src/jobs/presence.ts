import { join } from "node:path";
import { openLock } from "../store/disk/lock.ts";

const fileOf = (stateFolder: string) => join(stateFolder, "jobs.lock");

/** Shows other processes of this machine that a server takes jobs over; the kernel ends it with the process. */
export const showPresence = (stateFolder: string) => openLock(fileOf(stateFolder));

export function serverIsUp(stateFolder: string): boolean {
  const lock = openLock(fileOf(stateFolder));
  lock?.release();
  return lock === undefined;
}
