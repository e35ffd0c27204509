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
  const told = new Set<number>();
  const killFrom = Date.now() + graceMs;
  // A process in the middle of its exec has no environment to read, so one look is not enough.
  // One that forks as fast as it is killed must not hold us for ever.
  for (let nothing = 0, looks = 0; nothing < 2 && looks < 1000; looks++) {
    const left = await survivors(run);
    nothing = left.length === 0 ? nothing + 1 : 0;
    for (const pid of left) {
      if (Date.now() >= killFrom) kill(pid, "SIGKILL");
      else if (!told.has(pid)) kill(pid, "SIGTERM");
      told.add(pid);
    }
    if (nothing < 2) await sleep(20);
  }
  return told.size;
}

/** The processes whose environment at their start had this run's mark. */
export const survivors = (run: string): Promise<number[]> => marked(run, () => true);

/** Those of them that run in a sandbox, without the sandbox's own. */
export const sandboxed = (run: string): Promise<number[]> => marked(run, (stat) => !stat.includes(" (bwrap) "));

async function marked(run: string, counts: (stat: string) => boolean): Promise<number[]> {
  const wanted = `${marker}=${run}`;
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

/** Negative for a group. False when there is nobody to signal. */
export function kill(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
