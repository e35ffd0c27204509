import { type FSWatcher, statfsSync, statSync, watch } from "node:fs";
import { basename } from "node:path";
import { setImmediate as immediate } from "node:timers/promises";

/**
 * Tells which files may have changed since they were last compared, without a stat of each.
 *
 *   look 1        every file: commands that look once do not pay for watchers
 *   look 2        watches the folders, then every file
 *   later looks   the files that the kernel has named, and those that stayed in doubt
 *
 * The kernel queues an event during the write that causes it, so an edit that ended before a look began is in the queue
 * (inotify), and one iteration of the event loop delivers it. No other system promises that, nor does a file system that
 * other hosts write to: there, every look is at every file. Some changes have no event, because the queue can overflow
 * and a hard link made elsewhere is not reported, so a look at every file follows after `trustedMs` at the latest.
 */
export type FolderWatch = {
  /** Begins a look. Wait for it before reading anything that the files are compared with. */
  look(files: WatchedFiles): Promise<Look>;
  close(): void;
};

export type Look = {
  /** The files to compare; "all" when it is not known which have changed. */
  suspects: "all" | string[];
  /** Ends a look that has compared them all; these stay in doubt. A look that fails is not ended, and is repeated. */
  end(inDoubt: Iterable<string>): void;
};

/** Files by their paths relative to the watched folder, with `/`. The object is the same while the files are. */
export type WatchedFiles = { has(path: string): boolean; folders: ReadonlySet<string> };

type Watched = { watcher: FSWatcher; ino: number; dev: number };

const trustedMs = 30_000;
/** Fewer than the kernel queues (16,384): as many events at once may not be all of them. */
const mostEvents = 4_000;
const mostFolders = 2_000;

export function watchFolders(root: string, now = () => performance.now()): FolderWatch {
  const folders = new Map<string, Watched>();
  /** Files in doubt, with the number of the event that named them last. */
  const doubted = new Map<string, number>();
  let files: WatchedFiles | undefined;
  let looks = 0;
  let events = 0;
  /** Events at the beginning of the last look. */
  let counted = 0;
  let isLost = true;
  /** The newest look at every file, and when it ended: others begin while it runs, and must not rely on it before. */
  let newest = 0;
  let lookedAt = Number.NEGATIVE_INFINITY;

  const pathOf = (folder: string) => (folder === "" ? root : `${root}/${folder}`);

  function onEvent(folder: string, name: string | null): void {
    events++;
    const path = folder === "" ? `${name}` : `${folder}/${name}`;
    if (name !== null && files?.has(path)) doubted.set(path, events);
    // The folder itself or one below it was made, moved or removed.
    else if (name === null || name === basename(pathOf(folder)) || files?.folders.has(path)) isLost = true;
  }

  /** False when a folder cannot be watched: then no look can rely on events. */
  function watchAll(): boolean {
    close();
    if (process.platform !== "linux" || !files || files.folders.size > mostFolders) return false;
    for (const folder of files.folders) {
      const path = pathOf(folder);
      const found = statSync(path, { throwIfNoEntry: false });
      // Its parent is watched, and reports when it is made.
      if (!found) continue;
      if (!localFileSystems.has(statfsSync(path).type)) return false;
      try {
        const watcher = watch(path, { persistent: false }, (_event, name) => onEvent(folder, name));
        watcher.on("error", () => {
          isLost = true;
        });
        folders.set(folder, { watcher, ino: found.ino, dev: found.dev });
      } catch {
        return false;
      }
    }
    return folders.has("");
  }

  /** A folder that was moved away together with its parents is not reported by its own watcher. */
  const arePresent = () =>
    [...folders].every(([folder, { ino, dev }]) => {
      const found = statSync(pathOf(folder), { throwIfNoEntry: false });
      return found?.ino === ino && found.dev === dev;
    });

  function close(): void {
    for (const { watcher } of folders.values()) watcher.close();
    folders.clear();
  }

  return {
    close,
    async look(current) {
      const look = ++looks;
      if (look > 1) {
        // The first may still be in the iteration whose events are read already.
        await immediate();
        await immediate();
      }
      const isReliable = folders.size > 0 && files === current && !isLost && now() - lookedAt < trustedMs;
      const isKnown = isReliable && events - counted < mostEvents && arePresent();
      const upTo = events;
      counted = events;
      if (!isKnown) {
        newest = look;
        lookedAt = Number.NEGATIVE_INFINITY;
        files = current;
        isLost = false;
        if (look > 1 && !watchAll()) close();
      }
      return {
        suspects: isKnown ? [...doubted.keys()] : "all",
        end(inDoubt) {
          if (newest === look) lookedAt = now();
          const still = new Set(inDoubt);
          // An event since the look began leaves its file in doubt.
          for (const [path, event] of doubted) if (event <= upTo && !still.has(path)) doubted.delete(path);
          for (const path of still) if (!doubted.has(path)) doubted.set(path, upTo);
        },
      };
    },
  };
}

/** Types of statfs(2) of file systems that only this host writes to. */
const localFileSystems = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // XFS
  0x9123683e, // Btrfs
  0x01021994, // tmpfs
  0x794c7630, // overlayfs
  0x2fc12fc1, // ZFS
  0xf2f52010, // F2FS
  0xca451a4e, // bcachefs
]);
