import type { Git } from "./git.ts";
import { failedGit } from "./run-git.ts";

export type Commit = {
  path: string;
  blob: string;
  /** Undefined when git has the blob already. */
  bytes: Buffer | undefined;
  author: string;
  message: string;
  at: string;
};

type Line = { ref: string; from: string | undefined; commits: Commit[] };

const committer = "Scriptorium <scriptorium@localhost.invalid>";

/**
 * Creates many commits of one file each with one git process, without touching the index or the work tree.
 * False when the ref moved meanwhile: the caller looks at it again. git must make that check, since its
 * process can outlive ours: one that finished after a `kill -9` used to reset the ref to an older tip and
 * so removed versions that another process had recorded. `replace` skips the check for a ref of our own.
 */
export async function importCommits(git: Git, line: Line, { replace = false } = {}): Promise<boolean> {
  if (line.commits.length === 0) return true;
  const stream = ["feature done\n", ...spellLine(line), "done\n"];
  const args = ["fast-import", "--quiet", ...(replace ? ["--force"] : []), "--date-format=raw"];
  const output = await git.run(args, stream);
  if (output.code === 0) return true;
  if ((await git.commitAt(line.ref)) !== line.from) return false;
  throw failedGit(args, output);
}

function spellLine({ ref, from, commits }: Line): (string | Buffer)[] {
  return [
    `reset ${ref}\n`,
    ...(from ? [`from ${from}\n`] : []),
    "\n",
    ...commits.flatMap((commit) => spellCommit(ref, commit)),
  ];
}

function spellCommit(ref: string, { path, blob, bytes, author, message, at }: Commit): (string | Buffer)[] {
  const when = `${Math.floor(Date.parse(at) / 1000)} +0000`;
  const now = `${Math.floor(Date.now() / 1000)} +0000`;
  const text = Buffer.from(message);
  return [
    `commit ${ref}\nauthor ${author} ${when}\ncommitter ${committer} ${now}\ndata ${text.length}\n`,
    text,
    `\nM 100644 ${bytes ? "inline" : blob} ${quoted(path)}\n`,
    ...(bytes ? [`data ${bytes.length}\n`, bytes, "\n"] : []),
    "\n",
  ];
}

const quoted = (path: string) => `"${path.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
