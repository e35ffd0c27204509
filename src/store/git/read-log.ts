import { blobOf, formatOf, nullId } from "./blob.ts";
import type { Git } from "./git.ts";
import { timeTrailer } from "./history.ts";

/** A change of one file by one commit. */
export type FileChange = {
  commit: string;
  author: string;
  at: string;
  subject: string;
  trailers: Map<string, string>;
  blob: string;
  path: string;
};

/**
 * Every change below these folders of the workspace, oldest first, along first parents. A deleted file counts as an
 * empty one. `places` are the folders that the workspace has had within the work tree.
 */
export async function readLog(git: Git, ref: string, places: string[], folders: string[]): Promise<FileChange[]> {
  const format = "--format=%x01%H%x00%an%x00%aI%x00%s%x00%(trailers:only,unfold)%x00";
  const within = places.flatMap((place) => folders.map((folder) => ({ place, start: `${place}${folder}` })));
  const paths = within.map(({ start }) => `:(top,literal)${start}`);
  const raw = ["--raw", "--no-abbrev", "--no-renames", "-m", "--first-parent"];
  const text = await git.text(["log", "--reverse", format, ...raw, ref, "--", ...paths]);
  return text.split("\u0001").flatMap((commit) => {
    const [id, author, at, subject, trailers, changes] = commit.split("\0");
    if (!id || !author || !at || changes === undefined) return [];
    return changes.split("\n").flatMap((line) => {
      const [, blob, path] = /^:\d+ \d+ \w+ (\w+) \w\t(.+)$/.exec(line) ?? [];
      const place = within.find(({ start }) => path === start || path?.startsWith(`${start}/`))?.place;
      if (!blob || !path || place === undefined) return [];
      const read = readTrailers(trailers ?? "");
      const found = {
        commit: id,
        author,
        at: exactTime(at, read.get(timeTrailer)),
        subject: subject ?? "",
        trailers: read,
      };
      const name = blob === nullId(formatOf(blob)) ? blobOf("", formatOf(blob)) : blob;
      return [{ ...found, blob: name, path: path.slice(place.length) }];
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

/** The time with milliseconds, if the trailer names the same second as the commit: a person can write any trailer. */
function exactTime(committed: string, written: string | undefined): string {
  const [coarse, fine] = [Date.parse(committed), Date.parse(written ?? "")];
  return new Date(Math.floor(fine / 1000) * 1000 === coarse ? fine : coarse).toISOString();
}
