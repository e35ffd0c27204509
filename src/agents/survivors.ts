import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** Every process of a run has this variable set to the run's id, so that it is found in any session. */
export const runMarker = "SCRIPTORIUM_RUN";

/**
 * Ends the processes that a run left behind; resolves with their number when none is left. Agents start each command
 * in a session of its own, which signals to the process group do not reach, so processes are found by the marker in
 * /proc/<pid>/environ. Without /proc (macOS) none is found, and only the group is signalled.
 */
export async function endSurvivors(run: string, graceMs: number): Promise<number> {
  const signalled = new Set<number>();
  const killFrom = performance.now() + graceMs;
  // Two empty scans in a row: during exec a process has no environment to read.
  // At most 1000: a process may fork as fast as it is killed.
  for (let emptyScans = 0, scans = 0; emptyScans < 2 && scans < 1000; scans++) {
    const left = await survivors(run);
    emptyScans = left.length === 0 ? emptyScans + 1 : 0;
    for (const pid of left) {
      if (performance.now() >= killFrom) kill(pid, "SIGKILL");
      else if (!signalled.has(pid)) kill(pid, "SIGTERM");
      signalled.add(pid);
    }
    if (emptyScans < 2) await sleep(20);
  }
  return signalled.size;
}

/** The processes that were started with this run's marker. */
export const survivors = (run: string): Promise<number[]> => marked(run, () => true);

/** Those of them inside a sandbox, without bubblewrap itself. */
export const processesInSandbox = (run: string): Promise<number[]> =>
  marked(run, (stat) => !stat.includes(" (bwrap) "));

async function marked(run: string, counts: (stat: string) => boolean): Promise<number[]> {
  const wanted = `${runMarker}=${run}`;
  const names = await readdir("/proc").catch(() => []);
  const found = await Promise.all(
    names
      .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
      .map(async (name) => {
        const environment = await readFile(`/proc/${name}/environ`, "latin1").catch(() => "");
        if (!environment.split("\0").includes(wanted)) return [];
        const stat = await readFile(`/proc/${name}/stat`, "latin1").catch(() => "");
        return stat === "" || isZombie(stat) || !counts(stat) ? [] : [Number(name)];
      }),
  );
  return found.flat();
}

const isZombie = (stat: string) => /\) [ZX] /.test(stat);

/** A negative pid signals a group. False when there is no such process. */
export function kill(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
