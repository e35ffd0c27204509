import { createHash, randomBytes } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Git } from "./git.ts";

/** The history of the workspace at the top of the main work tree. */
export const historyRef = "refs/scriptorium/history";
const workspaceRefs = "refs/scriptorium/workspaces/";

/** Files in git's folder of a work tree that name the histories of its workspaces; `git worktree remove` deletes them. */
const nameFile = "scriptorium-history";
/** The same name inside the workspace, so that it moves with its folder. */
const ownFile = ".scriptorium/history";

/**
 * The ref of the versions that the database of this workspace knows. Every workspace of a repository has files, a
 * database and version numbers of its own, and so a history of its own: those below the top (a package of a monorepo)
 * and those of linked worktrees. It is not below `refs/worktree/`, whose objects `git gc` in another work tree may
 * delete. The random part keeps a new workspace from continuing the history of another one that had its folder.
 */
export async function historyRefOf(git: Git): Promise<string> {
  const name = await historyName(git);
  return name === undefined ? historyRef : workspaceRefs + name;
}

/** The part of the ref that tells this workspace from others; undefined at the top of the main work tree. */
export const historyName = async (git: Git): Promise<string | undefined> => (await historyOf(git))?.name;

/** The folders that the workspace has had within the work tree, the present one first: its commits name them. */
export async function historyFolders(git: Git): Promise<string[]> {
  return (await historyOf(git))?.folders ?? [(await git.place()).prefix];
}

type History = { name: string; folders: string[] };

async function historyOf(git: Git): Promise<History | undefined> {
  const { gitDir, commonDir, prefix } = await git.place();
  if (prefix === "" && gitDir === commonDir) return undefined;
  const file = registration(gitDir, prefix);
  const own = join(git.root, ownFile);
  const [registered, carried] = await Promise.all([readHistory(file), readHistory(own)]);
  if (registered && registered.name === carried?.name) return registered;
  if (carried && !(await isHeldElsewhere(git, carried.name))) {
    const moved = { ...carried, folders: [prefix, ...carried.folders.filter((folder) => folder !== prefix)] };
    for (const { gitDir, folders } of (await workspacesOf(git)).filter(({ name }) => name === carried.name))
      await rm(registration(gitDir, folders[0] ?? ""), { force: true });
    await saveHistory(git, moved);
    return moved;
  }
  const name = `${slug(prefix === "" ? gitDir : prefix)}-${randomBytes(4).toString("hex")}`;
  const history = registered ?? (await register(file, { name, folders: [prefix] }));
  if (existsSync(dirname(own))) await writeFile(own, format(history));
  return history;
}

/** Records the name and the folders in git's folder and in the workspace. */
async function saveHistory(git: Git, history: History): Promise<void> {
  const { gitDir, prefix } = await git.place();
  await writeFile(registration(gitDir, prefix), format(history));
  await writeFile(join(git.root, ownFile), format(history));
}

/** Deletes the ref and its name, for a workspace that could not be made. */
export async function forgetHistory(git: Git, ref: string): Promise<void> {
  await git.deleteRef(ref);
  await forgetName(git);
}

/** A workspace that is made here later gets a new name. */
export async function forgetName(git: Git): Promise<void> {
  const { gitDir, prefix } = await git.place();
  await rm(registration(gitDir, prefix), { force: true });
}

const registration = (gitDir: string, prefix: string) => {
  const hash = createHash("sha256").update(prefix).digest("hex").slice(0, 16);
  return join(gitDir, prefix === "" ? nameFile : `${nameFile}-${hash}`);
};

const format = ({ name, folders }: History) => `${[name, ...folders].join("\n")}\n`;

/** Letters that every file system and git accept in the name of a ref. */
const slug = (path: string) =>
  basename(path)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "")
    .slice(0, 40) || "workspace";

/** Of two processes that begin at the same time, the second takes the name of the first. */
async function register(file: string, history: History): Promise<History> {
  try {
    await writeFile(file, format(history), { flag: "wx" });
    return history;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return (await readHistory(file)) ?? history;
  }
}

const readLines = (file: string): Promise<string[]> =>
  readFile(file, "utf8").then(
    (text) => text.replace(/\n$/, "").split("\n"),
    () => [],
  );

/** A repository can contain any file: only a plain name becomes part of a ref. */
async function readHistory(file: string): Promise<History | undefined> {
  const [name = "", ...folders] = await readLines(file);
  return /^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) ? { name, folders } : undefined;
}

/** A folder that was copied has the name of the original, which keeps it; one that was moved brings it along. */
async function isHeldElsewhere(git: Git, name: string): Promise<boolean> {
  const { gitDir, prefix } = await git.place();
  for (const other of await workspacesOf(git)) {
    if (other.name !== name || (other.gitDir === gitDir && other.folders[0] === prefix)) continue;
    if ((await readHistory(join(other.top, other.folders[0] ?? "", ownFile)))?.name === name) return true;
  }
  return false;
}

type WorkTree = { gitDir: string; top: string };

/** The workspaces that are registered in a work tree of the repository; their folders may have moved since. */
async function workspacesOf(git: Git): Promise<(History & WorkTree)[]> {
  const found: (History & WorkTree)[] = [];
  for (const tree of await workTrees(git)) {
    for (const file of await readdir(tree.gitDir)) {
      if (file !== nameFile && !file.startsWith(`${nameFile}-`)) continue;
      const history = await readHistory(join(tree.gitDir, file));
      if (history) found.push({ ...history, ...tree });
    }
  }
  return found;
}

/** Git's folders of the main and the linked work trees, without linked ones that were deleted. */
async function workTrees(git: Git): Promise<WorkTree[]> {
  const { commonDir } = await git.place();
  const listed = await git.list(["worktree", "list", "--porcelain", "-z"]);
  const main = listed[0]?.replace(/^worktree /, "") ?? dirname(commonDir);
  const linked: WorkTree[] = [];
  for (const name of await readdir(join(commonDir, "worktrees")).catch(() => [] as string[])) {
    const gitDir = join(commonDir, "worktrees", name);
    const [place = ""] = await readLines(join(gitDir, "gitdir"));
    if (existsSync(place) || existsSync(join(gitDir, "locked"))) linked.push({ gitDir, top: dirname(place) });
  }
  return [{ gitDir: commonDir, top: main }, ...linked];
}

/** The histories of the other workspaces of this repository; those of removed worktrees are not among them. */
export async function otherHistories(git: Git): Promise<Set<string>> {
  const found = new Set((await workspacesOf(git)).map(({ name }) => workspaceRefs + name));
  if (await isInUse(git, undefined)) found.add(historyRef);
  found.delete(await historyRefOf(git));
  return found;
}

/** Whether the workspace with this name of its history is still there; undefined is the one at the top of the main work tree. */
export async function isInUse(git: Git, name: string | undefined): Promise<boolean> {
  if (name !== undefined) return (await workspacesOf(git)).some((workspace) => workspace.name === name);
  const [main] = await workTrees(git);
  return [".scriptorium", "scriptorium.yaml"].some((path) => existsSync(join(main?.top ?? "", path)));
}

/**
 * Before 0.2 all workspaces of a repository shared one history, and a workspace at the top may have been moved below
 * it: the versions that this database knows are then in the history of the top, and its own begins with them.
 * `newest` is the commit of the newest of them, if it was recorded.
 */
export async function continueHistory(git: Git, newest: () => Promise<string | undefined>): Promise<void> {
  // The top of a main work tree, where every start would otherwise wait for git.
  if (statSync(join(git.root, ".git"), { throwIfNoEntry: false })?.isDirectory()) return;
  const place = await git.place().catch(() => undefined);
  const history = place && (await historyOf(git));
  if (!history || (await git.commitAt(workspaceRefs + history.name))) return;
  const [shared, known] = [await git.commitAt(historyRef), await newest()];
  if (!shared) return;
  const { prefix } = place;
  const isIn = prefix !== "" && (await git.lastCommit(historyRef, "--", `:(top,literal)${prefix}`)) !== undefined;
  if (known === undefined ? !isIn : !(await git.isAncestor(known, shared))) return;
  if (!isIn && prefix !== "") await saveHistory(git, { ...history, folders: [...history.folders, ""] });
  await git.moveRef(workspaceRefs + history.name, shared, null);
}
