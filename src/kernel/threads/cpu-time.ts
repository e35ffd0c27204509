import { readFileSync, readlinkSync } from "node:fs";

/** The number that Linux gives to the calling thread; undefined on other systems. */
export function ownThread(): string | undefined {
  try {
    return readlinkSync("/proc/thread-self").split("/").at(-1);
  } catch {
    return undefined;
  }
}

/** The CPU time of a thread of this process in milliseconds; undefined where it cannot be read. */
export function cpuTimeOf(thread: string): number | undefined {
  try {
    // The name of the thread, in parentheses, may contain spaces. The times are in hundredths of a second.
    const fields = readFileSync(`/proc/self/task/${thread}/stat`, "latin1").split(") ").at(-1)?.split(" ") ?? [];
    const ms = (Number(fields[11]) + Number(fields[12])) * 10;
    return Number.isNaN(ms) ? undefined : ms;
  } catch {
    return undefined;
  }
}
