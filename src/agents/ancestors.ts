import { readFileSync } from "node:fs";
import type { Environment } from "../config/environment.ts";

/** A process with the arguments and environment it was started with; `env` is empty if it cannot be read. */
export type ProcessInfo = { pid: number; parent: number; args: readonly string[]; env: Environment };

/** A process tree is never this deep; a changed `/proc` must not lead to a loop. */
const mostAncestors = 128;

/** The parent of this process, its parent, and so on to the first process. */
export async function ancestors(from = process.ppid): Promise<ProcessInfo[]> {
  const find = process.platform === "linux" ? processInProc : await processInPs();
  const found: ProcessInfo[] = [];
  for (let pid = from; pid > 0 && found.length < mostAncestors; ) {
    const info = find(pid);
    if (!info) break;
    found.push(info);
    pid = info.parent;
  }
  return found;
}

function processInProc(pid: number): ProcessInfo | undefined {
  const stat = contents(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The name stands in parentheses and may contain spaces and parentheses itself.
  const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const args = contents(`/proc/${pid}/cmdline`)?.split("\0").slice(0, -1) ?? [];
  const variables = contents(`/proc/${pid}/environ`)?.split("\0") ?? [];
  return { pid, parent: Number(parent), args, env: Object.fromEntries(variables.flatMap(assignment)) };
}

/** Undefined for a process that ended, and for the environment of another user's process. */
function contents(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

/** On macOS `ps` prints arguments and environment in one line, separated by spaces. */
export async function processInPs(): Promise<(pid: number) => ProcessInfo | undefined> {
  // Loaded here, because scribe starts often and needs it on macOS only.
  const { execFileSync } = await import("node:child_process");
  const text = execFileSync("/bin/ps", ["axeww", "-o", "pid=,ppid=,command="], {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  const processes = new Map(
    text
      .split("\n")
      .flatMap(psLine)
      .map((info) => [info.pid, info]),
  );
  return (pid) => processes.get(pid);
}

export function psLine(line: string): ProcessInfo[] {
  const parsed = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line);
  if (!parsed) return [];
  const [, pid, parent, command = ""] = parsed;
  const words = command.split(" ");
  const env = Object.fromEntries(words.slice(1).flatMap(assignment));
  return [{ pid: Number(pid), parent: Number(parent), args: words, env }];
}

function assignment(text: string): [string, string][] {
  const [, name, value = ""] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
  return name === undefined ? [] : [[name, value]];
}
