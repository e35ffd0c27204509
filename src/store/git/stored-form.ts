import type { QueuedVersion } from "../queries/git-queue.ts";
import type { Git } from "./git.ts";

/**
 * Renames queued versions to the blobs that `git add` would store for them: with line endings, `$Id$` and filters
 * such as LFS converted. History keeps the bytes as they were written; the branch, and with it `git status` and
 * other people's checkouts, gets the stored form. `prefix` leads from the top of the
 * repository to the workspace; `isTracked` tells whether the branch has a path.
 */
export async function inStoredForm(
  git: Git,
  rows: QueuedVersion[],
  prefix: string,
  isTracked: (path: string) => boolean,
): Promise<QueuedVersion[]> {
  const converted = await convertedPaths(git, rows, prefix, isTracked);
  if (converted.size === 0) return rows;
  const known = new Map<string, string>();

  async function stored(path: string, blob: string): Promise<string> {
    const key = `${blob} ${path}`;
    const bytes = known.has(key) ? undefined : await git.readBlob(blob);
    if (!known.has(key)) known.set(key, bytes ? await git.storedBlob(prefix + path, bytes, { write: true }) : blob);
    return known.get(key) ?? blob;
  }

  const renamed: QueuedVersion[] = [];
  for (const row of rows) {
    const { path, blob, base } = row;
    if (!converted.has(path)) renamed.push(row);
    else
      renamed.push({
        ...row,
        blob: await stored(path, blob),
        base: base && (await stored(path, base)),
      });
  }
  return renamed;
}

type Attributes = Map<string, string>;

/** The paths whose newest version git would store in another form than the file has. */
async function convertedPaths(
  git: Git,
  rows: QueuedVersion[],
  prefix: string,
  isTracked: (path: string) => boolean,
): Promise<Set<string>> {
  const newest = new Map(rows.map((row) => [row.path, row.blob]));
  const [attributes, autocrlf] = await Promise.all([
    git.attributes(
      [...newest.keys()].map((path) => prefix + path),
      ["filter", "text", "eol", "crlf", "ident"],
    ),
    git.maybe(["config", "--get", "core.autocrlf"]),
  ]);
  const isAutomatic = autocrlf === "true" || autocrlf === "input";
  const found = new Set<string>();
  for (const [path, blob] of newest) {
    const of = attributes.get(prefix + path) ?? new Map();
    if (hasFilter(of)) found.add(path);
    else if (mayConvert(of, isAutomatic && isTracked(path), isTracked(path)) && (await isConvertible(git, blob)))
      found.add(path);
  }
  return found;
}

const hasFilter = (of: Attributes) => !unset.has(of.get("filter"));

/**
 * Under `text=auto` a new file keeps its line endings, as git does for a file that was committed with them: a
 * source must come out of a fresh clone with the bytes that were added.
 */
const mayConvert = (of: Attributes, isAutomatic: boolean, isTracked: boolean) =>
  isAutomatic ||
  of.get("ident") === "set" ||
  ["text", "eol", "crlf"].some((name) => !unset.has(of.get(name)) && (of.get(name) !== "auto" || isTracked));

const unset = new Set([undefined, "unspecified", "unset"]);

async function isConvertible(git: Git, blob: string): Promise<boolean> {
  const bytes = await git.readBlob(blob);
  return bytes !== undefined && (bytes.includes("\r\n") || bytes.includes("$Id"));
}
