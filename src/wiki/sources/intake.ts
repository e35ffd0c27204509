import { existsSync, statSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";
import ignore from "ignore";

/** A file to be taken in as a source, and the name it would have. */
export type Intake = { file: string; name: string };

const mostFiles = 20_000;

/** What a path on the command line means: a file, or everything in a folder that its ignore files let through. */
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
    // Links may lead anywhere, and what is hidden is nobody's reading matter.
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

/** Whether an ignore file of the folder, or of one above it, leaves this path out. */
export const isIgnored = (rules: Rules[], path: string, isFolder: boolean): boolean =>
  alwaysLeftOut.test(basename(path)) ||
  rules.some(({ at, ignores }) => ignores(relative(at, path).split(sep).join("/") + (isFolder ? "/" : "")));

/** Other people's packages, and what editors put beside a file while it is open. */
const alwaysLeftOut = /^(node_modules|.*~|~\$.*|#.*#|4913|Thumbs\.db)$/;
