import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** Identifies this process across machines. The start time tells it from a later process with the same pid. */
export const processName = () => `${hostname()}:${process.pid}:${startTime(process.pid) ?? 0}`;

/**
 * The state of the process that a name, or a name followed by `/…`, identifies. Only the kernel of the
 * same machine knows; for another machine it is unknown.
 */
export function processState(name: string): "running" | "gone" | "unknown" {
  const [, host, digits, started] = /^(.+):(\d+):(\d+)(?:\/|$)/.exec(name) ?? [];
  if (host !== hostname() || digits === undefined) return "unknown";
  const pid = Number(digits);
  if (!exists(pid)) return "gone";
  const now = startTime(pid);
  // Where the kernel tells no start times, an existing pid has to do.
  return now === undefined || String(now) === started ? "running" : "gone";
}

/** Clock ticks since boot; undefined without /proc, NaN for a zombie, which equals no recorded start time. */
function startTime(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? Number.NaN : Number(fields[19]);
  } catch {
    return undefined;
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
