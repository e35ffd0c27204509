import type { Git } from "./git.ts";
import { missingInClone } from "./guarded-git.ts";
import { failedGit } from "./run-git.ts";

const mostWords = 20;

/**
 * The files of a commit in which each of these words is in some line, binary files included: all files of the
 * workspace, or those of one file or folder. Paths are relative to the workspace.
 */
export async function filesWithWords(git: Git, commit: string, words: readonly string[], path = ""): Promise<string[]> {
  const longest = [...new Set(words)].sort((a, b) => b.length - a.length).slice(0, mostWords);
  const options = ["-l", "-z", "--text", "--fixed-strings", "--no-full-name", "--all-match"];
  const patterns = longest.flatMap((word) => ["-e", word]);
  const within = path === "" ? [] : ["--", path];
  const args = ["--literal-pathspecs", "grep", ...options, ...patterns, commit, ...within];
  const output = await git.run(args);
  // A file that git cannot read counts as one without a match; only stderr says so.
  if (output.code > 1 || /^(error|fatal): /m.test(output.stderr))
    throw missingInClone({ ...output, code: 128 }) ?? failedGit(args, output);
  const names = output.stdout.toString("utf8").split("\0");
  return names.flatMap((name) => (name === "" ? [] : [name.slice(commit.length + 1)]));
}
