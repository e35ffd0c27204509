import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** A name that says which process holds a claim: host, pid, and when that process started, for pids are used again. */
export const processName = () => `${hostname()}:${process.pid}:${startedAt(process.pid) ?? 0}`;

/** True only for a holder of this machine whose process is surely gone; a lease of any other runs out by itself. */
export function isGone(holder: string): boolean {
  const [, host, pid, started] = /^(.+):(\d+):(\d+)\//.exec(holder) ?? [];
  if (host !== hostname() || pid === undefined) return false;
  const now = startedAt(Number(pid));
  return now === undefined ? !isRunning(Number(pid)) : String(now) !== started;
}

/** In ticks since the machine started; undefined where there is no /proc, or no such process. */
function startedAt(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? undefined : Number(fields[19]);
  } catch {
    return undefined;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
