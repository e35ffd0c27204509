import { existsSync, readFileSync, realpathSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { findProgram } from "../../agents/program.ts";
import type { Environment } from "../../config/environment.ts";
import { packageFile } from "../../kernel/package-files.ts";
import { version } from "../../kernel/version.ts";

/** The command of an MCP entry, and why it was chosen. */
export type Launch = { command: string; args: string[]; why: string; isPortable: boolean };

/**
 * The command with which a client starts Scriptorium. An installed one is preferred: it starts fastest and
 * works on every machine that has it. `npx` works without an installation. A clone can only be named by its path.
 */
export function chooseLaunch(env: Environment): Launch {
  if (findInstalled(env)) {
    return { command: "scriptorium", args: [], why: "scriptorium is installed on this machine", isPortable: true };
  }
  if (existsSync(packageFile("src/main.ts"))) {
    const script = fileURLToPath(packageFile("dist/scriptorium.js"));
    const why = "this is a clone of Scriptorium, so the entry names its path";
    return { command: "node", args: [script], why, isPortable: false };
  }
  const why = "scriptorium is not installed; npx downloads it once (npm i -g scriptorium starts faster)";
  return { command: "npx", args: ["-y", `scriptorium@${version}`], why, isPortable: true };
}

/** `scriptorium` on PATH, if it is ours. npx and npm scripts put folders of their own on PATH, which clients do not have. */
function findInstalled(env: Environment): string | undefined {
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => !/node_modules[\\/]\.bin[\\/]?$/.test(folder));
  const found = findProgram("scriptorium", folders.join(delimiter), "/");
  return found && packageAbove(realpathSync(found))?.name === "scriptorium" ? found : undefined;
}

/** The package.json above a file, if it can be read. */
export function packageAbove(path: string): { name?: string; version?: string } | undefined {
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    const file = join(folder, "package.json");
    if (!existsSync(file)) continue;
    try {
      const { name, version } = JSON.parse(readFileSync(file, "utf8"));
      // Packages have nested package.json files that only set the module type.
      if (typeof name === "string") return { name, version };
    } catch {
      return undefined;
    }
  }
  return undefined;
}

/** `${workspaceFolder}` as the client would replace it. */
export const asStarted = (args: readonly string[], root: string) =>
  args.map((arg) => arg.replaceAll(workspaceFolder, root));

export const workspaceFolder = "${workspaceFolder}";
