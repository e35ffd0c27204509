import type { Crew } from "./crew.ts";
import type { Worktree } from "./worktree.ts";

/** A worktree that is created on first use and removed at the end of its stage. */
export function checkout<T extends Worktree>({ trees }: Crew, make: () => Promise<T>) {
  let made: T | undefined;
  let making: Promise<T> | undefined;
  const open = (): Promise<T> => {
    making ??= make().then((tree) => {
      made = tree;
      return tree;
    });
    return making;
  };
  return {
    open,
    folder: async () => (await open()).cwd,
    opened: () => made,
    async remove(): Promise<void> {
      const tree = await making?.catch(() => undefined);
      making = undefined;
      if (tree) await trees.remove(tree);
    },
  };
}
