import type { Git } from "./git.ts";

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

/** Creates many commits of one file each with one git process, without touching the index or the work tree. */
export async function importCommits(git: Git, lines: Line[]): Promise<void> {
  if (lines.every((line) => line.commits.length === 0)) return;
  const stream = ["feature done\n", ...lines.flatMap(spellLine), "done\n"];
  await git.text(["fast-import", "--quiet", "--force", "--date-format=raw"], stream);
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
