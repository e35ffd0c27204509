import { lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Git } from "./git.ts";

/**
 * Refuses a workspace in a repository that git does not use because it belongs to another user: writes would be
 * acknowledged and never recorded. Git is asked only if an owner differs, because every start waits for it.
 */
export async function checkOwner(git: Git): Promise<void> {
  const me = process.geteuid?.();
  if (me !== undefined && owners(git.root).some((owner) => owner !== me)) await git.isRepository();
}

/** The owners of the folder that has `.git`, and of `.git`. */
function owners(folder: string): number[] {
  const found = lstatSync(join(folder, ".git"), { throwIfNoEntry: false });
  if (found) return [found.uid, lstatSync(folder).uid];
  return dirname(folder) === folder ? [] : owners(dirname(folder));
}
