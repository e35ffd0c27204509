import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** Every process of a run has this in its environment, so that it is found wherever it went. */
export const marker = "SCRIPTORIUM_RUN";

/**
 * Ends what a run left behind and resolves when nothing is left. Agents start each command in a
 * session of its own, so the process group does not reach them; their environment tells whose they
 * are. Without /proc there is only the group, and its leader's end is all that can be waited for.
 */
export async function endSurvivors(run: string, graceMs: number): Promise<number> {
  const first = await survivors(run);
  if (first.length === 0) return 0;
  const seen = new Set(first);
  for (const pid of first) kill(pid, "SIGTERM");
  const until = Date.now() + graceMs;
  let left = first;
  while (left.length > 0 && Date.now() < until) {
    await sleep(Math.min(50, graceMs));
    left = await survivors(run);
    for (const pid of left) {
      if (seen.has(pid)) continue;
      seen.add(pid);
      kill(pid, "SIGTERM");
    }
  }
  // One that forks as fast as it is killed must not hold us for ever.
  for (let round = 0; left.length > 0 && round < 100; round++) {
    for (const pid of left) {
      seen.add(pid);
      kill(pid, "SIGKILL");
    }
    await sleep(10);
    left = await survivors(run);
  }
  return seen.size;
}

/** The processes whose environment at their start had this run's mark. */
export async function survivors(run: string): Promise<number[]> {
  const wanted = `${marker}=${run}`;
  const names = await readdir("/proc").catch(() => []);
  const found = await Promise.all(
    names
      .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
      .map(async (name) => {
        const environment = await readFile(`/proc/${name}/environ`, "latin1").catch(() => "");
        return environment.split("\0").includes(wanted) && !(await isZombie(name)) ? [Number(name)] : [];
      }),
  );
  return found.flat();
}

async function isZombie(pid: string): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
  return stat === "" || /\) [ZX] /.test(stat);
}

/** Negative for a group. False when there is nobody to signal. */
export function kill(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
