import { lstat, opendir, readdir, readFile, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import type { SandboxLimits } from "../../config/sandbox.ts";

const tickMs = 250;
const mebibyte = 1024 * 1024;
/** The kernel reports CPU time in hundredths of a second on every platform that Node supports. */
const ticksPerSecond = 100;

type Watched = { limits: SandboxLimits; folder: string };

/**
 * Enforces the limits that the kernel enforces only for single processes, or not at all: memory, processes, CPU time
 * and disk space of a whole sandbox. `info` is where bubblewrap reports the first process inside, whose /proc lists
 * all others.
 *
 * A cgroup would be exact, but needs delegation that few users have. This sees the sandbox every 250 ms, so a limit can
 * be exceeded for that long.
 */
export function watchSandbox(info: Readable, watched: Watched, exceeded: (reason: string) => void) {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const every = (look: () => Promise<string | undefined>) => async () => {
    // Fails once the sandbox has ended.
    const reason = await look().catch(() => undefined);
    if (isOver) return;
    if (reason !== undefined) exceeded(reason);
    else timer = setTimeout(every(look), tickMs).unref();
  };
  text(info).then(
    (said) => every(meterOf(Number(/"child-pid": (\d+)/.exec(said)?.[1]), watched))(),
    () => undefined,
  );
  return {
    close() {
      isOver = true;
      clearTimeout(timer);
    },
  };
}

/** A function that answers with the limit that is exceeded, if any. */
function meterOf(first: number, { limits, folder }: Watched): () => Promise<string | undefined> {
  const root = `/proc/${first}/root`;
  const cpu = countdown(limits.cpu_minutes * 60 * ticksPerSecond);
  const disk = diskMeter(folder, limits.disk_mb * mebibyte);
  return async () => {
    // Reported before the sandbox has changed its root; until then /proc lists the processes of the machine.
    if ((await stat(`${root}/proc`)).dev === (await stat("/proc")).dev) return undefined;
    const processes = await processesIn(root);
    const sum = (of: (one: Process) => number) => processes.reduce((total, one) => total + of(one), 0);
    if (sum((one) => one.threads) > limits.processes) {
      return `exceeded its limit of ${limits.processes} processes (limits.processes)`;
    }
    const isOverMemory = (used: number) => used > limits.memory_mb * 1024;
    if (isOverMemory(sum((one) => one.memoryKb) + (await temporaryKb(root))) && isOverMemory(await exactKb(root))) {
      return `exceeded its limit of ${limits.memory_mb} MiB of memory (limits.memory_mb)`;
    }
    if (cpu.isOver(sum((one) => one.cpuTicks))) {
      return `exceeded its limit of ${limits.cpu_minutes} minutes of CPU time (limits.cpu_minutes)`;
    }
    if (await disk.isOver(() => writtenBy(root, processes))) {
      return `exceeded its limit of ${limits.disk_mb} MiB on disk (limits.disk_mb)`;
    }
    return undefined;
  };
}

type Process = { pid: string; threads: number; cpuTicks: number; memoryKb: number };

async function processesIn(root: string): Promise<Process[]> {
  const names = (await readdir(`${root}/proc`)).filter((name) => /^\d+$/.test(name));
  const read = await Promise.all(
    names.map(async (pid) => {
      // A process that has ended since counts as none.
      const [line, status] = await Promise.all([
        readFile(`${root}/proc/${pid}/stat`, "latin1").catch(() => ""),
        readFile(`${root}/proc/${pid}/status`, "latin1").catch(() => ""),
      ]);
      const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
      // utime, stime, and the times of children that have ended and were waited for.
      const cpuTicks = fields.slice(11, 15).reduce((total, ticks) => total + Number(ticks), 0);
      const kb = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0);
      return {
        pid,
        threads: Number(fields[17] ?? 0),
        cpuTicks,
        memoryKb: kb("RssAnon") + kb("RssShmem") + kb("VmSwap"),
      };
    }),
  );
  return read;
}

/** Files in the sandbox's temporary folders are in memory too. */
async function temporaryKb(root: string): Promise<number> {
  const used = await Promise.all(
    ["/tmp", "/dev/shm"].map(async (path) => {
      const { blocks, bfree, bsize } = await statfs(`${root}${path}`);
      return ((blocks - bfree) * bsize) / 1024;
    }),
  );
  return used.reduce((total, kb) => total + kb, 0);
}

/** Counts shared memory once. Slow for many processes, so it only confirms a sum that is over the limit. */
async function exactKb(root: string): Promise<number> {
  const names = (await readdir(`${root}/proc`)).filter((name) => /^\d+$/.test(name));
  const of = async (pid: string) => {
    const rollup = await readFile(`${root}/proc/${pid}/smaps_rollup`, "latin1").catch(() => "");
    const kb = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(rollup)?.[1] ?? 0);
    return kb("Pss_Anon") + kb("Pss_Shmem") + kb("SwapPss");
  };
  const all = await Promise.all(names.map(of));
  return all.reduce((total, kb) => total + kb, await temporaryKb(root));
}

async function writtenBy(root: string, processes: readonly Process[]): Promise<number> {
  const all = await Promise.all(
    processes.map(async ({ pid }) => {
      const io = await readFile(`${root}/proc/${pid}/io`, "latin1").catch(() => "");
      return Number(/^write_bytes: (\d+)/m.exec(io)?.[1] ?? 0);
    }),
  );
  return all.reduce((total, bytes) => total + bytes, 0);
}

/** Sums over living processes fall when one ends that nobody waited for; what it used counts all the same. */
function countdown(max: number) {
  let ended = 0;
  let last = 0;
  return {
    isOver(now: number): boolean {
      ended += Math.max(0, last - now);
      last = now;
      return ended + now > max;
    },
  };
}

/**
 * The folder is on a disk of the machine, which has no quota for it. As long as the free space has not shrunk by the
 * limit, nothing needs to be measured.
 */
function diskMeter(folder: string, max: number) {
  const startedAt = Date.now();
  const written = countdown(max);
  let free: number | undefined;
  return {
    async isOver(writtenNow: () => Promise<number>): Promise<boolean> {
      const { bfree, bsize } = await statfs(folder);
      free ??= bfree * bsize;
      const isWritten = written.isOver(await writtenNow());
      if (free - bfree * bsize < max) return false;
      return isWritten || (await changedSince(folder, startedAt, max)) > max;
    },
  };
}

/** The size of files that were changed since; stops counting above `enough`. */
async function changedSince(folder: string, since: number, enough: number): Promise<number> {
  let bytes = 0;
  const walk = async (at: string): Promise<void> => {
    for await (const item of await opendir(at)) {
      if (bytes > enough) return;
      const path = join(at, item.name);
      if (item.isDirectory()) await walk(path).catch(() => undefined);
      else if (item.isFile()) {
        const found = await lstat(path).catch(() => undefined);
        if (found && found.ctimeMs >= since) bytes += found.blocks * 512;
      }
    }
  };
  await walk(folder);
  return bytes;
}
