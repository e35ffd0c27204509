import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { sep } from "node:path";

export type OpenProcess = { pid: number; command: string };

/**
 * The processes that have files of a folder open, such as servers and MCP servers of a workspace. Only Linux
 * tells; elsewhere none are found.
 */
export function processesIn(folder: string): OpenProcess[] {
  const pids = listed("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  return pids
    .filter((pid) => listed(`/proc/${pid}/fd`).some((fd) => linkOf(`/proc/${pid}/fd/${fd}`).startsWith(folder + sep)))
    .map((pid) => ({ pid: Number(pid), command: commandOf(pid) }));
}

/** Processes of others, and those that end meanwhile, cannot be looked at. */
function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").filter(Boolean).slice(0, 6).join(" ");
  } catch {
    return "";
  }
}
