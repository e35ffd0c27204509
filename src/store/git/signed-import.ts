import { type Commit, importCommits } from "./fast-import.ts";
import type { Git } from "./git.ts";

/** Signs a commit and returns the signed one; undefined if that is not possible. */
export type SignCommit = (commit: string) => Promise<string | undefined>;

/** Like `importCommits`, with a signature on each approval. An approval that cannot be signed is committed without. */
export async function importSigned(
  git: Git,
  from: string | undefined,
  commits: Commit[],
  sign: SignCommit,
): Promise<string> {
  const next = commits.findIndex(({ message }) => isApproval(message));
  if (next < 0) return importCommits(git, from, commits);
  const unsigned = await importCommits(git, from, commits.slice(0, next + 1));
  const signed = (await sign(unsigned)) ?? unsigned;
  const rest = commits.slice(next + 1);
  return rest.length === 0 ? signed : importSigned(git, signed, rest, sign);
}

const isApproval = (message: string) => /^Approved-by: /m.test(message) && /^Proposal: /m.test(message);
