import { blobOf, nullId } from "./blob.ts";
import type { Git } from "./git.ts";

/** A change of one file by one commit. */
export type FileChange = {
  author: string;
  at: string;
  subject: string;
  trailers: Map<string, string>;
  blob: string;
  path: string;
};

/** Every change below these folders, oldest first, along first parents. A deleted file counts as an empty one. */
export async function readLog(git: Git, ref: string, prefix: string, folders: string[]): Promise<FileChange[]> {
  const format = "--format=%x01%an%x00%aI%x00%s%x00%(trailers:only,unfold)%x00";
  const paths = folders.map((folder) => `:(top,literal)${prefix}${folder}`);
  const raw = ["--raw", "--no-abbrev", "--no-renames", "-m", "--first-parent"];
  const text = await git.text(["log", "--reverse", format, ...raw, ref, "--", ...paths]);
  return text.split("\u0001").flatMap((commit) => {
    const [author, at, subject, trailers, changes] = commit.split("\0");
    if (!author || !at || changes === undefined) return [];
    return changes.split("\n").flatMap((line) => {
      const [, blob, path] = /^:\d+ \d+ \w+ (\w+) \w\t(.+)$/.exec(line) ?? [];
      if (!blob || !path?.startsWith(prefix)) return [];
      const found = {
        author,
        at: new Date(at).toISOString(),
        subject: subject ?? "",
        trailers: readTrailers(trailers ?? ""),
      };
      return [{ ...found, blob: blob === nullId ? blobOf("") : blob, path: path.slice(prefix.length) }];
    });
  });
}

const readTrailers = (text: string) =>
  new Map(
    text.split("\n").flatMap((line) => {
      const [, key, value] = /^([\w-]+): (.*)$/.exec(line) ?? [];
      return key && value !== undefined ? [[key, value] as const] : [];
    }),
  );
