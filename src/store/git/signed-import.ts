import { type Commit, importCommits, type Start } from "./fast-import.ts";
import type { Git } from "./git.ts";

/** Signs a commit and returns the signed one; undefined if that is not possible. */
export type SignCommit = (commit: string) => Promise<string | undefined>;

/** Like `importCommits`, with a signature on each approval. An approval that cannot be signed is committed without. */
export async function importSigned(
  git: Git,
  { from, held }: Start,
  commits: Commit[],
  sign: SignCommit,
): Promise<string> {
  const next = commits.findIndex(({ message }) => isApproval(message));
  if (next < 0) return importCommits(git, { from, held }, commits);
  const unsigned = await importCommits(git, { from, held }, commits.slice(0, next + 1));
  const signed = (await sign(unsigned)) ?? unsigned;
  if (signed !== unsigned) await git.setRef(held, signed);
  const rest = commits.slice(next + 1);
  return rest.length === 0 ? signed : importSigned(git, { from: signed, held }, rest, sign);
}

const isApproval = (message: string) => /^Approved-by: /m.test(message) && /^Proposal: /m.test(message);
