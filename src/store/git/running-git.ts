import { readdirSync, readFileSync, readlinkSync, realpathSync } from "node:fs";
import { basename } from "node:path";
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
  for (const pid of processes()) {
    const name = read(`/proc/${pid}/comm`)?.startsWith("git") ? commandOf(pid) : undefined;
    if (name !== undefined && real.has(cwdOf(pid))) return commands[name];
  }
  return undefined;
}

const commands: Record<string, string> = { commit: "a git commit", "receive-pack": "a push to this repository" };

/** The command of a git process, if it is one of those above. */
function commandOf(pid: string): string | undefined {
  const [program = "", ...args] = read(`/proc/${pid}/cmdline`)?.split("\0") ?? [];
  const name = basename(program);
  const command = name.startsWith("git-") ? name.slice(4) : commandIn(args);
  return Object.hasOwn(commands, command) ? command : undefined;
}

/** None where there is no /proc: there only the environment of a hook tells. */
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
