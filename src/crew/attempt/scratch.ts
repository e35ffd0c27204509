import { refuse } from "../../kernel/result.ts";
import { GitError } from "../../store/git/run-git.ts";
import { treeSoFar } from "./changed-files.ts";
import type { Crew } from "./crew.ts";
import type { Worktree } from "./worktree.ts";

const longest = 100_000;

/** The files that a verifier wrote into its scratch copy, as a patch; null if it wrote none. */
export async function scratchPatch({ app, trees }: Crew, tree: Worktree): Promise<string | null> {
  // A verifier can leave files that git cannot read; its verdict holds all the same.
  const found = await treeSoFar(app.git, tree).catch((error: unknown) => {
    if (error instanceof GitError) return refuse("invalid", error.message);
    throw error;
  });
  if (!found.ok) return `not kept: ${found.problem.message}`;
  const patch = await trees.diff(tree.base, found.value);
  if (patch === "") return null;
  return patch.length <= longest ? patch : `${patch.slice(0, longest)}\n(cut; ${patch.length} characters)`;
}
