import { constants } from "node:fs";
import { ok, type Result, refuse } from "../../../kernel/result.ts";
import { listInside, openInside } from "../../../store/disk/pinned.ts";
import { globMatcher, type IgnoreRules, ignoreRules } from "./ignore-rules.ts";

const mebibyte = 1024 * 1024;
/** The largest file that is read, edited or written as a whole. */
export const largestFile = 8 * mebibyte;

/** Follows no link: a program at the same desk could create one while the file is read or written (T13). */
export async function readBytes(folder: string, path: string, largest = largestFile): Promise<Result<Buffer>> {
  const file = await openInside(folder, path, constants.O_RDONLY);
  if (!file.ok) return file;
  try {
    const { size } = await file.value.stat();
    if (size > largest) return refuse("refused", `${path} has ${size} bytes; the maximum is ${largest}`);
    return ok(await file.value.readFile());
  } finally {
    await file.value.close();
  }
}

export async function readWithin(folder: string, path: string): Promise<Result<string>> {
  const bytes = await readBytes(folder, path);
  return bytes.ok ? ok(bytes.value.toString("utf8")) : bytes;
}

/** The text of a file that is to be changed; other encodings would be damaged by writing them as UTF-8. */
export async function readForEdit(folder: string, path: string): Promise<Result<string>> {
  const bytes = await readBytes(folder, path);
  if (!bytes.ok) return bytes;
  const text = bytes.value.toString("utf8");
  if (Buffer.from(text).equals(bytes.value)) return ok(text);
  return refuse("refused", `${path} is not UTF-8 text; change it with run_command`);
}

export async function writeWithin(folder: string, path: string, text: string): Promise<Result<true>> {
  const file = await openInside(folder, path, constants.O_WRONLY | constants.O_CREAT, { make: true });
  if (!file.ok) return file;
  try {
    await file.value.truncate();
    await file.value.writeFile(text);
    return ok(true);
  } finally {
    await file.value.close();
  }
}

/** As git and ripgrep do: a NUL byte near the beginning. */
export const isBinary = (bytes: Buffer) => bytes.subarray(0, 8000).includes(0);

const neverListed = new Set([".git", ".scriptorium"]);
const ignoreFiles = [".gitignore", ".ignore"];

type Rules = { at: string; rules: IgnoreRules };

/** `exclude` has further patterns, such as those of .git/info/exclude. */
export type Wanted = { under?: string | undefined; glob?: string | undefined; exclude?: string | undefined };

/**
 * The files of a folder in the order of their paths, without those that ignore files leave out. Nested ignore files
 * apply below their folder, and the deepest rule that matches decides, as in git.
 */
export async function* filesOf(folder: string, { under, glob, exclude = "" }: Wanted = {}): AsyncGenerator<string> {
  const isWanted = globMatcher(glob);
  yield* walk("", [{ at: "", rules: ignoreRules(`node_modules\n${exclude}`) }]);

  async function* walk(at: string, above: Rules[]): AsyncGenerator<string> {
    const items = await listInside(folder, at);
    if (!items.ok) return;
    const found = ignoreFiles.filter((name) => items.value.some((item) => item.name === name && item.isFile()));
    const texts = await Promise.all(found.map((name) => readWithin(folder, joined(at, name))));
    const own = texts.map((text) => (text.ok ? text.value : "")).join("\n");
    const rules = own === "" ? above : [...above, { at, rules: ignoreRules(own) }];
    for (const item of items.value.sort((a, b) => (sortName(a) < sortName(b) ? -1 : 1))) {
      const path = joined(at, item.name);
      if (neverListed.has(item.name)) continue;
      if (item.isDirectory()) {
        if (leadsTo(path, under) && !isIgnored(rules, path, true)) yield* walk(path, rules);
      } else if (item.isFile() && isUnder(path, under) && !isIgnored(rules, path, false) && isWanted(path)) yield path;
    }
  }
}

const joined = (at: string, name: string) => (at === "" ? name : `${at}/${name}`);

/** So that whole paths are in order: "a/b" comes after "a-b". */
const sortName = (item: { name: string; isDirectory(): boolean }) => (item.isDirectory() ? `${item.name}/` : item.name);

const isUnder = (path: string, under: string | undefined) =>
  under === undefined || path === under || path.startsWith(`${under}/`);
const leadsTo = (path: string, under: string | undefined) =>
  isUnder(path, under) || under?.startsWith(`${path}/`) === true;

function isIgnored(all: readonly Rules[], path: string, isFolder: boolean): boolean {
  for (const { at, rules } of all.toReversed()) {
    const ignored = rules.test(at === "" ? path : path.slice(at.length + 1), isFolder);
    if (ignored !== undefined) return ignored;
  }
  return false;
}
