import { readFile, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { GitError, type GitInput, type GitOutput } from "./run-git.ts";

/**
 * Filters, merge drivers and signing programs that the repository's own configuration names: `.git/config`,
 * `config.worktree` and every file that these include, whether or not the condition of the include holds here.
 * The same setting in the person's own configuration is the person's choice, and git runs it.
 */
export type RepositoryProgram = { key: string; value: string };

type RunGit = (args: string[], input?: GitInput) => Promise<GitOutput>;
type ParsedFile = { text: string; settings: RepositoryProgram[]; includes: string[] };

const namesProgram =
  /^(?:filter\..+\.(?:clean|smudge|process)|merge\..+\.driver|gpg\.(?:.+\.)?program|gpg\.ssh\.defaultkeycommand)$/s;
const isInclude = /^include(?:if\..+)?\.path$/s;
/** The sections that matter; git accepts no space after the bracket, so most files need not be parsed. */
const mayName = /\[(?:filter|merge|gpg|include)/i;

/**
 * Reads the programs before every call of git. Files are compared by content and parsed by git, once per
 * content. A process that rewrites them between this and the start of git is not held off: it has the person's
 * rights already, since no sandboxed agent can write there.
 */
export function repositoryPrograms(git: RunGit): (files: string[]) => Promise<RepositoryProgram[]> {
  const known = new Map<string, ParsedFile>();

  async function parsedFile(file: string): Promise<ParsedFile | undefined> {
    const text = await readConfig(file);
    if (text === undefined || !mayName.test(text)) return undefined;
    const before = known.get(file);
    if (before?.text === text) return before;
    const settings = parseList(await parse(["--list"], text));
    const paths = settings.some(({ key }) => isInclude.test(key))
      ? parseList(await parse(["--type=path", "--get-regexp", "^include(if\\..+)?\\.path$"], text))
      : [];
    const includes = paths.map(({ value }) => resolve(dirname(file), value));
    const parsed = { text, settings: settings.filter(({ key }) => namesProgram.test(key)), includes };
    known.set(file, parsed);
    return parsed;
  }

  /** Git itself fails at a file that it cannot parse, and says why. */
  async function parse(query: string[], text: string): Promise<string> {
    const { code, stdout } = await git(["config", "--file", "-", "--no-includes", "--null", ...query], text);
    return code === 0 ? stdout.toString("utf8") : "";
  }

  return async (files) => {
    const waiting = [...files];
    const seen = new Set<string>();
    const found = new Map<string, RepositoryProgram>();
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      if (seen.has(file)) continue;
      seen.add(file);
      const parsed = await parsedFile(file);
      for (const setting of parsed?.settings ?? []) found.set(`${setting.key}\n${setting.value}`, setting);
      waiting.push(...(parsed?.includes ?? []));
    }
    return [...found.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, setting]) => setting);
  };
}

/** The fields of `git config --null`: a key, and its value on the lines that follow. */
const parseList = (printed: string): RepositoryProgram[] =>
  printed
    .split("\0")
    .filter((field) => field !== "")
    .map((field) => {
      const [key = "", ...value] = field.split("\n");
      return { key, value: value.join("\n") };
    });

/** The text of a configuration file; undefined when there is none. */
async function readConfig(file: string): Promise<string | undefined> {
  const found = await stat(file).catch(() => undefined);
  if (!found) return undefined;
  if (found.isFile()) return readFile(file, "utf8");
  const message = `the configuration of this repository includes ${file}, which is not a regular file; remove the include`;
  throw new GitError(message, undefined, "");
}

type Setting = readonly [key: string, value: string];

/**
 * Settings that replace these programs: the person's own, else one that acts as if the program were not
 * configured. A filter that the repository requires stays required, so that git fails instead of storing
 * unfiltered content.
 */
export async function replacePrograms(git: RunGit, programs: RepositoryProgram[]): Promise<Setting[]> {
  if (programs.length === 0) return [];
  const own = await ownSettings(git);
  const keys = new Set(programs.map(({ key }) => key));
  return [...keys].map((key) => [key, own.get(key) ?? neutral(key)] as const);
}

/** Settings that switch every filter off, those of the person included. */
export async function withoutFilters(
  git: RunGit,
  programs: RepositoryProgram[],
  gitDir: string | undefined,
): Promise<Setting[]> {
  const { stdout } = await git([...(gitDir ? ["--git-dir", gitDir] : []), "config", "--list", "--null"]);
  const keys = [...parseList(stdout.toString("utf8")), ...programs].map(({ key }) => key);
  const drivers = new Set(keys.flatMap((key) => /^filter\.(.+)\.[a-z]+$/s.exec(key)?.[1] ?? []));
  return [...drivers].flatMap((driver) => [
    ...["clean", "smudge", "process"].map((name) => [`filter.${driver}.${name}`, ""] as const),
    [`filter.${driver}.required`, "false"] as const,
  ]);
}

/** Settings as variables of git's environment, because `-c` ends a key at its first `=`. */
export const configVariables = (settings: Setting[]): Record<string, string> =>
  Object.fromEntries([
    ["GIT_CONFIG_COUNT", String(settings.length)],
    ...settings.flatMap(([key, value], at) => [
      [`GIT_CONFIG_KEY_${at}`, key],
      [`GIT_CONFIG_VALUE_${at}`, value],
    ]),
  ]);

/** Settings of the person and the machine, as opposed to those of the repository. */
async function ownSettings(git: RunGit): Promise<Map<string, string>> {
  const { stdout } = await git(["config", "--list", "--show-scope", "--null"]);
  const fields = stdout.toString("utf8").split("\0");
  const own = new Map<string, string>();
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [setting] = parseList(fields[at + 1] ?? "");
    if (setting && (fields[at] === "global" || fields[at] === "system")) own.set(setting.key, setting.value);
  }
  return own;
}

function neutral(key: string): string {
  if (key.startsWith("merge.")) return textMerge;
  if (key.startsWith("gpg.ssh.")) return key.endsWith(".program") ? "ssh-keygen" : "";
  if (key.startsWith("gpg.")) return key.startsWith("gpg.x509.") ? "gpgsm" : "gpg";
  return "";
}

/** Git's own three-way merge, which it uses for a driver that is not configured; 1 stands for a conflict. */
const textMerge = "git merge-file --quiet --marker-size=%L %A %O %B || exit 1";
