import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Git } from "./git.ts";
import { historyName } from "./history-ref.ts";
import { runningMaintenance } from "./running-git.ts";

const pauseMs = 20;
const patienceMs = 2000;

/**
 * The ref that holds new commits until their branch has them. Each workspace has its own, and each of those that make
 * commits there: they exclude themselves by a lock, not one another.
 */
export const holdingRef = async (git: Git, maker: "recorder" | "mirror" | "repair") =>
  `refs/scriptorium/import/${(await historyName(git)) ?? "main"}-${maker}`;

/** Commits in a line after `from`, which `held` points at, each with the files that it has of its own. */
type NewCommits = { held: string; to: string; from: string | undefined; files: string[][] };

/**
 * Moves a ref to new commits if it is still at `from`. `git prune` and `git repack -d`, also as parts of
 * `git gc --prune=now`, delete objects that no ref had when they looked, even if one has them by then. So the ref moves
 * once those that were running have ended and every object is still there. False: make the commits again.
 */
export async function publishCommits(
  git: Git,
  ref: string,
  { held, to, from, files }: NewCommits,
  reason?: string,
): Promise<boolean> {
  const isSafe = (await maintenanceEnds(git)) && (await git.hasObjects(namesOf(to, files)));
  if (isSafe && (await git.moveRef(ref, to, from ?? null, { reason, andDelete: held }))) return true;
  await git.deleteRef(held);
  return false;
}

/** Why git may delete new objects, if it does so for longer than we wait. */
export async function whyUnsafe(git: Git): Promise<string | undefined> {
  return (await maintenanceEnds(git)) ? undefined : "git repack or git prune is in progress";
}

/** True when every process that deletes objects, of those running now, has ended; one that starts later sees the ref. */
async function maintenanceEnds(git: Git): Promise<boolean> {
  const { commonDir } = await git.place();
  let running = runningMaintenance(commonDir);
  for (const until = performance.now() + patienceMs; running.size > 0; ) {
    if (performance.now() > until) return false;
    await sleep(pauseMs);
    const now = runningMaintenance(commonDir);
    running = new Set([...running].filter((pid) => now.has(pid)));
  }
  return true;
}

/** What the commits consist of, as revisions: commits, trees and blobs. */
const namesOf = (to: string, files: string[][]): string[] =>
  files.flatMap((paths, at) => {
    const commit = `${to}~${files.length - 1 - at}`;
    const below = new Set(paths.flatMap((path) => [path, ...parentsOf(path)]));
    return [`${commit}^{tree}`, ...[...below].map((path) => `${commit}:${path}`)];
  });

const parentsOf = (path: string): string[] => {
  const parent = dirname(path);
  return parent === "." ? [] : [parent, ...parentsOf(parent)];
};
