import { nullId } from "./blob.ts";
import type { FileMode, Git } from "./git.ts";

type File = {
  path: string;
  blob: string;
  /** Undefined when git has the blob already. */
  bytes: Buffer | undefined;
  /** 100755 for an executable file. */
  mode: FileMode;
};

export type Commit = File & {
  /** The path that the file had before; the commit removes it. */
  movedFrom?: string | undefined;
  author: string;
  message: string;
  at: string;
};

const committer = "Scriptorium <scriptorium@localhost.invalid>";
/** Exists only inside fast-import, which needs a ref to commit to. */
const scratchRef = "refs/scriptorium/import";

/**
 * Creates many commits of one file each on top of `from`, with one git process, without touching the index or
 * the work tree. Returns the last commit. No ref is changed: the caller moves one with the old value as a
 * condition. A git process that outlives its killed parent can therefore not reset a ref to an old state.
 */
export async function importCommits(git: Git, from: string | undefined, commits: Commit[]): Promise<string> {
  const stream = [
    "feature done\n",
    `reset ${scratchRef}\n`,
    ...(from ? [`from ${from}\n`] : []),
    "\n",
    ...commits.flatMap(formatCommit),
    "get-mark :1\n",
    `reset ${scratchRef}\nfrom ${nullId((await git.place()).format)}\n\n`,
    "done\n",
  ];
  return git.text(["fast-import", "--quiet", "--date-format=raw"], stream);
}

/** Creates one commit that adds `files` to those of `from`, and takes `gone` away. */
export async function importFiles(
  git: Git,
  from: string | undefined,
  { files, gone }: { files: Omit<File, "bytes">[]; gone: string[] },
  message: string,
): Promise<string> {
  const text = Buffer.from(message);
  const now = `${Math.floor(Date.now() / 1000)} +0000`;
  const stream = [
    "feature done\n",
    `commit ${scratchRef}\nmark :1\ncommitter ${committer} ${now}\ndata ${text.length}\n`,
    text,
    "\n",
    ...(from ? [`from ${from}\n`] : []),
    ...gone.map((path) => `D ${quoted(path)}\n`),
    ...files.flatMap((file) => formatFile({ ...file, bytes: undefined })),
    "\nget-mark :1\n",
    `reset ${scratchRef}\nfrom ${nullId((await git.place()).format)}\n\n`,
    "done\n",
  ];
  return git.text(["fast-import", "--quiet", "--date-format=raw"], stream);
}

/** Every commit gets the mark 1: only the last one is asked for. */
function formatCommit({ author, message, at, movedFrom, ...file }: Commit): (string | Buffer)[] {
  const when = `${Math.floor(Date.parse(at) / 1000)} +0000`;
  const now = `${Math.floor(Date.now() / 1000)} +0000`;
  const text = Buffer.from(message);
  return [
    `commit ${scratchRef}\nmark :1\nauthor ${author} ${when}\ncommitter ${committer} ${now}\ndata ${text.length}\n`,
    text,
    "\n",
    ...(movedFrom === undefined ? [] : [`D ${quoted(movedFrom)}\n`]),
    ...formatFile(file),
    "\n",
  ];
}

const formatFile = ({ path, blob, bytes, mode }: File): (string | Buffer)[] => [
  `M ${mode} ${bytes ? "inline" : blob} ${quoted(path)}\n`,
  ...(bytes ? [`data ${bytes.length}\n`, bytes, "\n"] : []),
];

const quoted = (path: string) => `"${path.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
