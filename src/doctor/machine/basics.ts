import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import type { Environment } from "../../config/environment.ts";
import { gitVersion } from "../../store/git/git.ts";
import { type Finding, findingsOf } from "../finding.ts";

const leastNode = [20, 19];

export async function checkNode(): Promise<Finding[]> {
  const { ok, problem } = findingsOf("wiki", "node");
  const { version } = process;
  if (isAtLeast(version, leastNode)) return [ok(`Node ${version.slice(1)}`)];
  return [
    problem(`Node ${version.slice(1)} is too old; ${leastNode.join(".")} or newer is required`, "nvm install 24"),
  ];
}

/** `rev-parse --path-format` came with 2.31. */
const leastGit = [2, 31];

export async function checkGit(folder: string, env: Environment): Promise<Finding[]> {
  const { ok, problem } = findingsOf("wiki", "git");
  const install = process.platform === "darwin" ? "xcode-select --install" : "apt install git";
  const version = await gitVersion(existsSync(folder) ? folder : "/", env);
  if (version === undefined) return [problem("git is not installed", install)];
  if (isAtLeast(version, leastGit)) return [ok(`git ${version}`)];
  return [problem(`git ${version} is too old; ${leastGit.join(".")} or newer is required`, install)];
}

const gibibyte = 1024 ** 3;

export async function checkDisk(folder: string): Promise<Finding[]> {
  const { ok, warning, problem } = findingsOf("wiki", "disk");
  const place = existsSync(folder) ? folder : dirname(folder);
  const found = await statfs(place).catch(() => undefined);
  if (!found) return [];
  const free = found.bavail * found.bsize;
  const message = `${(free / gibibyte).toFixed(1)} GiB free in ${place}`;
  if (free < gibibyte / 10) return [problem(message, "free some space; writes fail when the disk is full")];
  return [free < gibibyte ? warning(message, "scriptorium run clean --all") : ok(message)];
}

function isAtLeast(version: string, least: number[]): boolean {
  const numbers = version
    .replace(/^v/, "")
    .split(".")
    .map((part) => Number.parseInt(part, 10));
  const at = least.findIndex((number, i) => (numbers[i] ?? 0) !== number);
  return at === -1 || (numbers[at] ?? 0) > (least[at] ?? 0);
}
