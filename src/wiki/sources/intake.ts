import { existsSync, statSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";
import ignore from "ignore";

/** A file to add as a source, and its name there. */
export type Intake = { file: string; name: string };

const mostFiles = 20_000;

/** The files of a path on the command line: the file itself, or all files of a folder that are not ignored. */
export async function filesAt(path: string): Promise<Intake[]> {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [{ file: path, name: basename(path) }];
  const folder = path.replace(/(?<![/\\])[/\\]+$/, "");
  const found: Intake[] = [];
  await collect(folder, basename(folder === "." ? process.cwd() : folder), [], found);
  return found;
}

type Rules = { at: string; ignores(path: string): boolean };

async function collect(folder: string, name: string, above: Rules[], found: Intake[]): Promise<void> {
  const rules = [...above, ...(await rulesIn(folder))];
  const items = await readdir(folder, { withFileTypes: true });
  for (const item of items.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, item.name);
    // Links could lead out of the folder; hidden files are settings, not sources.
    if (item.name.startsWith(".") || item.isSymbolicLink() || isIgnored(rules, path, item.isDirectory())) continue;
    if (item.isDirectory()) await collect(path, `${name}/${item.name}`, rules, found);
    else if (item.isFile() && found.length < mostFiles) found.push({ file: path, name: `${name}/${item.name}` });
  }
}

async function rulesIn(folder: string): Promise<Rules[]> {
  const files = [".gitignore", ".ignore", ".scriptoriumignore"]
    .map((file) => join(folder, file))
    .filter((file) => existsSync(file));
  if (files.length === 0) return [];
  const matcher = ignore();
  for (const file of files) matcher.add(await readFile(file, "utf8"));
  return [{ at: folder, ignores: (path) => matcher.ignores(path) }];
}

/** Whether an ignore file of the folder or of a parent excludes this path. */
export const isIgnored = (rules: Rules[], path: string, isFolder: boolean): boolean =>
  alwaysLeftOut.test(basename(path)) ||
  rules.some(({ at, ignores }) => ignores(relative(at, path).split(sep).join("/") + (isFolder ? "/" : "")));

/** Dependencies, and temporary files of editors. */
const alwaysLeftOut = /^(node_modules|.*~|~\$.*|#.*#|4913|Thumbs\.db)$/;
