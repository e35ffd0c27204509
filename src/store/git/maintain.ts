import type { Git } from "./git.ts";

/** As many as git's own `gc.auto` and `gc.autoPackLimit` allow. */
const mostLoose = 6700;
const mostPacks = 50;

/** Whether git would pack the repository by itself after a commit of a person; our own commands never let it. */
export async function needsMaintenance(git: Git): Promise<boolean> {
  const { stdout } = await git.run(["count-objects", "-v"]);
  const count = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, "m").exec(String(stdout))?.[1] ?? 0);
  return count("count") > mostLoose || count("packs") > mostPacks;
}

/**
 * `git gc`: packs objects, and deletes those that no ref has reached for two weeks with what killed git processes left.
 * New commits are held by refs until it has ended (publish-commits.ts). Another gc that runs makes it fail.
 */
export async function maintain(git: Git): Promise<void> {
  await git.run(["gc", "--quiet"]).catch((error: unknown) => {
    if (!/gc is already running/.test(String(error))) throw error;
  });
}
