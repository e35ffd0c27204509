import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PrivateRepository } from "../../agents/sandbox/access.ts";
import { privateFolder } from "../../store/disk/private.ts";
import type { Git, Identity } from "../../store/git/git.ts";

type Options = {
  git: Git;
  checkout: { folder: string; gitDir: string };
  commit: string;
  /** The folder of the new repository. */
  at: string;
  author: Identity;
};

const branch = "work";
/** Enough history for `git log` and `git blame`; more would be copied for every attempt. */
const depths = [50, 1];
/** Settings that decide how git compares files; none of them names a program. */
const comparing = ["autocrlf", "eol", "safecrlf", "ignorecase", "symlinks", "filemode", "precomposeunicode"];

/**
 * A repository for the agent of one checkout: git works in the sandbox, and nothing that it does there reaches the
 * person's repository, because this one shares nothing with it. It contains a copy of the last commits that lead to
 * the checkout, so that objects of other branches, stashes and other attempts cannot be read either. Commits in it are
 * the agent's own affair: the files of the checkout are what is delivered.
 *
 * Undefined where the objects cannot be copied, e.g. in a partial clone; git then finds no repository in the sandbox.
 */
export async function privateRepository(options: Options): Promise<PrivateRepository | undefined> {
  const { git, checkout, commit, at: gitDir, author } = options;
  const { commonDir, prefix, format } = await git.place();
  for (const folder of ["objects/pack", "objects/info", "refs/heads", "refs/tags", "info"])
    await mkdir(join(gitDir, folder), { ...privateFolder, recursive: true });
  const shallow = await copyHistory(git, commit, join(gitDir, "objects/pack/pack"), commonDir);
  if (!shallow) return undefined;
  await Promise.all([
    writeFile(join(gitDir, "HEAD"), `ref: refs/heads/${branch}\n`),
    writeFile(join(gitDir, "refs/heads", branch), `${commit}\n`),
    writeFile(join(gitDir, "config"), await configText(git, author, format === "sha256")),
    writeFile(join(gitDir, "info/exclude"), await excludeText(commonDir)),
    ...(shallow.length > 0 ? [writeFile(join(gitDir, "shallow"), lines(shallow))] : []),
    copyIndex(checkout.gitDir, gitDir),
  ]);
  if (prefix !== "") await leaveOutOthers(git, { folder: checkout.folder, gitDir }, prefix);
  return { gitDir, top: checkout.folder };
}

export const excludeText = (commonDir: string) => readFile(join(commonDir, "info/exclude"), "utf8").catch(() => "");

/** Returns the commits whose parents are left out. */
async function copyHistory(git: Git, commit: string, pack: string, commonDir: string): Promise<string[] | undefined> {
  const cutOff = new Set((await readFile(join(commonDir, "shallow"), "utf8").catch(() => "")).split("\n"));
  for (const depth of depths) {
    const listed = await git.text(["log", "--format=%H %P", `--max-count=${depth}`, commit]);
    const commits = listed.split("\n").map((line) => line.trim().split(" "));
    const ids = new Set(commits.map(([id]) => id));
    const shallow = commits.flatMap(([id = "", ...parents]) =>
      cutOff.has(id) || parents.some((parent) => !ids.has(parent)) ? [id] : [],
    );
    const wanted = lines([...shallow.map((id) => `--shallow ${id}`), commit]);
    const packed = await git.run(["pack-objects", "--revs", "--quiet", "--delta-base-offset", pack], wanted);
    if (packed.code === 0) return shallow;
  }
  return undefined;
}

async function configText(git: Git, { name, email }: Identity, isSha256: boolean): Promise<string> {
  const values = await Promise.all(comparing.map((key) => git.maybe(["config", "--get", `core.${key}`])));
  const kept = comparing.flatMap((key, i) => (values[i] === undefined ? [] : [`\t${key} = ${quoted(values[i])}`]));
  return lines([
    ...["[core]", `\trepositoryformatversion = ${isSha256 ? 1 : 0}`, "\tbare = false", "\tlogallrefupdates = true"],
    ...kept,
    ...(isSha256 ? ["[extensions]", "\tobjectformat = sha256"] : []),
    ...["[user]", `\tname = ${quoted(name)}`, `\temail = ${quoted(email || "agent@localhost.invalid")}`],
    ...["[commit]", "\tgpgsign = false", "[gc]", "\tauto = 0", "[maintenance]", "\tauto = false"],
  ]);
}

/** With the index come the files that git need not compare, such as those of LFS. */
async function copyIndex(from: string, to: string): Promise<void> {
  const names = (await readdir(from)).filter((name) => name === "index" || name.startsWith("sharedindex."));
  await Promise.all(names.map((name) => copyFile(join(from, name), join(to, name))));
}

/** The sandbox contains the workspace's folder only: the other files of the repository are not deleted, but left out. */
async function leaveOutOthers(git: Git, here: { folder: string; gitDir: string }, prefix: string): Promise<void> {
  const inCheckout = git.inCheckout(here);
  const others = (await inCheckout(["ls-files", "-z"])).split("\0").filter((path) => path && !path.startsWith(prefix));
  await inCheckout(["update-index", "--skip-worktree", "-z", "--stdin"], others.map((path) => `${path}\0`).join(""));
}

const lines = (all: readonly string[]) => all.map((line) => `${line}\n`).join("");
const quoted = (value: string) => `"${value.replace(/[\\"]/g, "\\$&").replace(/\n/g, "\\n")}"`;
