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
  /** Further files of the same commit. */
  also?: File[];
  author: string;
  message: string;
  at: string;
};

const committer = "Scriptorium <scriptorium@localhost.invalid>";
/** Where new commits begin, and the ref that holds them until `publishCommits` moves another one to them. */
export type Start = { from: string | undefined; held: string };

/**
 * Creates many commits, most of one file each, on top of `from`, with one git process, without touching the index or
 * the work tree. Returns the last commit. No ref but `held` is changed: the caller moves one with the old value as a
 * condition. A git process that outlives its killed parent can therefore not reset a ref to an old state.
 */
export async function importCommits(git: Git, { from, held }: Start, commits: Commit[]): Promise<string> {
  const stream = [
    "feature done\n",
    `reset ${held}\n`,
    ...(from ? [`from ${from}\n`] : []),
    "\n",
    ...commits.flatMap((commit) => formatCommit(held, commit)),
    "get-mark :1\n",
    "done\n",
  ];
  return git.text(fastImport, stream);
}

/** `held` may be left from a process that was killed. */
const fastImport = ["fast-import", "--quiet", "--force", "--date-format=raw"];

/** Creates one commit that adds `files` to those of `from`, and takes `gone` away. */
export async function importFiles(
  git: Git,
  { from, held }: Start,
  { files, gone }: { files: Omit<File, "bytes">[]; gone: string[] },
  message: string,
): Promise<string> {
  const text = Buffer.from(message);
  const now = `${Math.floor(Date.now() / 1000)} +0000`;
  const stream = [
    "feature done\n",
    `commit ${held}\nmark :1\ncommitter ${committer} ${now}\ndata ${text.length}\n`,
    text,
    "\n",
    ...(from ? [`from ${from}\n`] : []),
    ...gone.map((path) => `D ${quoted(path)}\n`),
    ...files.flatMap((file) => formatFile({ ...file, bytes: undefined })),
    "\nget-mark :1\n",
    "done\n",
  ];
  return git.text(fastImport, stream);
}

/** Every commit gets the mark 1: only the last one is asked for. */
function formatCommit(held: string, { author, message, at, movedFrom, also = [], ...file }: Commit): (string | Buffer)[] {
  const when = `${Math.floor(Date.parse(at) / 1000)} +0000`;
  const now = `${Math.floor(Date.now() / 1000)} +0000`;
  const text = Buffer.from(message);
  return [
    `commit ${held}\nmark :1\nauthor ${author} ${when}\ncommitter ${committer} ${now}\ndata ${text.length}\n`,
    text,
    "\n",
    ...(movedFrom === undefined ? [] : [`D ${quoted(movedFrom)}\n`]),
    ...[file, ...also].flatMap(formatFile),
    "\n",
  ];
}

const formatFile = ({ path, blob, bytes, mode }: File): (string | Buffer)[] => [
  `M ${mode} ${bytes ? "inline" : blob} ${quoted(path)}\n`,
  ...(bytes ? [`data ${bytes.length}\n`, bytes, "\n"] : []),
];

const quoted = (path: string) => `"${path.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
