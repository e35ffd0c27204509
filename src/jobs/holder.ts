import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** A holder that has shown no sign of life for so long, on a machine we cannot look at, is gone. */
const silenceMs = 90_000;

export const beatMs = 20_000;

/** This process, told apart from a later one that was given the same number. */
export const thisProcess = () => `${hostname()}/${process.pid}/${startOf(process.pid)}`;

/**
 * Whether the process that holds a job is gone. On this machine the kernel knows; of another
 * machine there is only the time of its last sign of life, by the store's clock.
 */
export function isGone(holder: string | null, beatAt: number | null, now: number): boolean {
  if (holder === null) return true;
  const [host = "", pid = "", start = ""] = holder.split("/");
  if (host !== hostname()) return beatAt === null || now - beatAt > silenceMs;
  return !isAlive(Number(pid)) || startOf(Number(pid)) !== start;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** When a process started, in the kernel's ticks; empty where the kernel does not say. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  } catch {
    return "";
  }
}
