import { existsSync, readdirSync, readFileSync, readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { commandIn } from "./run-git.ts";

/**
 * A git command of the person that reads the branch at its start and moves it at its end. In between, `git commit` runs
 * hooks and an editor for minutes, without a lock and without a file that tells of it: if the branch moves meanwhile,
 * git discards the commit ("cannot lock ref 'HEAD'"). `folders` are the work tree and git's own folders.
 */
export function runningGit(folders: string[], environment: Record<string, string | undefined>): string | undefined {
  // This process was started by a hook of such a command.
  if (environment.GIT_QUARANTINE_PATH !== undefined) return commands["receive-pack"];
  if (environment.GIT_INDEX_FILE !== undefined) return commands.commit;
  const real = new Set(folders.map(realPath));
  const found = gitProcesses().find(({ command, cwd }) => Object.hasOwn(commands, command) && real.has(cwd));
  return found && commands[found.command];
}

const commands: Record<string, string> = { commit: "a git commit", "receive-pack": "a push to this repository" };

/** The processes that delete objects of the repository, in any of its work trees; `git gc` starts them. */
export function runningMaintenance(commonDir: string): Set<string> {
  const real = realPath(commonDir);
  const found = gitProcesses().filter(({ command, cwd }) => deleting.has(command) && commonDirOf(cwd) === real);
  return new Set(found.map(({ pid }) => pid));
}

const deleting = new Set(["repack", "prune"]);

/** The folder of the repository that has the objects, for a folder in one of its work trees or in git's own. */
function commonDirOf(folder: string): string | undefined {
  const inside = ["HEAD", "objects"].every((name) => existsSync(join(folder, name)));
  const found = inside ? folder : gitDirIn(folder);
  if (found === undefined) return dirname(folder) === folder ? undefined : commonDirOf(dirname(folder));
  return realPath(resolve(found, read(join(found, "commondir"))?.trim() ?? "."));
}

/** `.git` is a folder, or a file that names it. */
function gitDirIn(folder: string): string | undefined {
  const file = join(folder, ".git");
  if (!existsSync(file)) return undefined;
  const named = /^gitdir: (.+)$/m.exec(read(file) ?? "")?.[1];
  return named === undefined ? file : resolve(folder, named);
}

type GitProcess = { pid: string; command: string; cwd: string };

/** The running git commands of this machine; none where there is no /proc. */
function gitProcesses(): GitProcess[] {
  return processes().flatMap((pid) => {
    if (!read(`/proc/${pid}/comm`)?.startsWith("git")) return [];
    const [program = "", ...args] = read(`/proc/${pid}/cmdline`)?.split("\0") ?? [];
    const name = basename(program);
    return [{ pid, command: name.startsWith("git-") ? name.slice(4) : commandIn(args), cwd: cwdOf(pid) }];
  });
}

function processes(): string[] {
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

/** Undefined for a process that has ended, or belongs to somebody else. */
function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

function cwdOf(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return "";
  }
}

function realPath(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}
