import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openLock } from "../../../store/disk/lock.ts";
import { privateFile, privateFolder } from "../../../store/disk/private.ts";

/** What a setup made: the files and folders that git does not track, relative to the top of the checkout. */
export type Installation = { folder: string; paths: readonly string[]; bytes: number; files: number };

type Manifest = Omit<Installation, "folder"> & { commands: readonly (readonly string[])[]; made_at: string };

const manifestName = "setup.json";
const recheckMs = 200;

/**
 * The results of setups, by name. A result is complete or absent: it is made in a folder of its own and renamed. No
 * sandbox shows this folder; every checkout gets a copy.
 */
export function setupCache(home: string) {
  const folderOf = (name: string) => join(home, "made", name);

  async function find(name: string): Promise<Installation | undefined> {
    const folder = folderOf(name);
    const text = await readFile(join(folder, manifestName), "utf8").catch(() => undefined);
    if (text === undefined) return undefined;
    const { paths, bytes, files } = JSON.parse(text) as Manifest;
    return { folder: join(folder, "files"), paths, bytes, files };
  }

  return {
    find,
    /** Where a result is made before it is published. */
    draft: (name: string) => join(home, "drafts", name),

    /** Waits until no other process makes the same; undefined when the signal aborts. */
    async lock(name: string, signal: AbortSignal): Promise<{ release(): void } | undefined> {
      while (!signal.aborted) {
        const lock = openLock(join(home, "locks", name));
        if (lock) return lock;
        await sleep(recheckMs, undefined, { signal }).catch(() => undefined);
      }
      return undefined;
    },

    /** The caller holds the lock. */
    async publish(name: string, draft: string, manifest: Omit<Manifest, "made_at">): Promise<void> {
      const text = JSON.stringify({ ...manifest, made_at: new Date().toISOString() } satisfies Manifest);
      await writeFile(join(draft, manifestName), text, privateFile);
      await mkdir(join(home, "made"), privateFolder);
      await rm(folderOf(name), { recursive: true, force: true });
      await rename(draft, folderOf(name));
    },

    /** Notes that a run uses a result, which is then kept until that run is over. */
    async markUse(name: string, run: string): Promise<void> {
      const folder = join(home, "uses", name);
      await mkdir(folder, privateFolder);
      await writeFile(join(folder, run), "", privateFile);
    },
  };
}

export type CachedSetup = { name: string; folder: string; bytes: number; runs: string[] };

/** Every result, with the runs that used it. */
export async function cachedSetups(home: string): Promise<CachedSetup[]> {
  const cache = setupCache(home);
  const list = (folder: string) => readdir(folder).catch((): string[] => []);
  const names = await list(join(home, "made"));
  return Promise.all(
    names.map(async (name) => ({
      name,
      folder: join(home, "made", name),
      bytes: (await cache.find(name).catch(() => undefined))?.bytes ?? 0,
      runs: await list(join(home, "uses", name)),
    })),
  );
}

/** What a setup has beside its cached result while it runs: scratch space, a person's logins, logs, a draft. */
const temporaryName = /^(?<setup>[0-9a-f]{40})(?:-logins|-deleted|-\d+\.log)?$/;

/** Deletes what killed processes left of setups that nobody runs now. */
export async function sweepTemporary(home: string, forgetCheckouts: (setup: string) => Promise<void>): Promise<void> {
  const folders = ["scratch", "drafts"].map((name) => join(home, name));
  const listed = await Promise.all(folders.map((folder) => readdir(folder).catch((): string[] => [])));
  const checkouts = (await readdir(join(home, "checkouts")).catch((): string[] => [])).map(
    (name) => /^setup-([0-9a-f]{40})/.exec(name)?.[1],
  );
  const setups = [...listed.flat().map((name) => temporaryName.exec(name)?.groups?.setup), ...checkouts];
  for (const setup of new Set(setups.flatMap((name) => name ?? []))) {
    const lock = openLock(join(home, "locks", setup));
    if (!lock) continue;
    try {
      for (const [i, folder] of folders.entries())
        for (const name of (listed[i] ?? []).filter((one) => temporaryName.exec(one)?.groups?.setup === setup))
          await rm(join(folder, name), { recursive: true, force: true, maxRetries: 3 });
      await forgetCheckouts(setup);
    } finally {
      lock.release();
    }
  }
}

/** False if a process makes it just now. */
export async function deleteSetup(home: string, name: string): Promise<boolean> {
  const lock = openLock(join(home, "locks", name));
  if (!lock) return false;
  try {
    const gone = join(home, "drafts", `${name}-deleted`);
    await mkdir(join(home, "drafts"), privateFolder);
    await rm(gone, { recursive: true, force: true });
    // Renamed first: half a result must not be found.
    await rename(join(home, "made", name), gone);
    for (const path of [gone, join(home, "uses", name)])
      await rm(path, { recursive: true, force: true, maxRetries: 3 });
    return true;
  } finally {
    lock.release();
  }
}

/** The folder of all of this below the state folder. */
export const setupsFolder = (stateFolder: string) => join(stateFolder, "setups");
