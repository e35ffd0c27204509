import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { ok, type Result, refuse } from "../kernel/result.ts";

export const configName = "scriptorium.yaml";

export type Environment = Record<string, string | undefined>;

/** The only place that reads the environment. */
export const environment = (): Environment => ({ ...process.env });

/** The cache folder: files that can be downloaded again and belong to no workspace. */
export const cacheFolder = (env: Environment) =>
  join(env.XDG_CACHE_HOME ?? join(env.HOME ?? homedir(), ".cache"), "scriptorium");

/** The git-ignored folder of the database, the token and locks. */
export const stateFolderOf = (root: string) => join(root, ".scriptorium");

/** The workspace of `from`: the nearest parent folder with a scriptorium.yaml. */
export function findWorkspace(from: string): Result<string> {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    if (existsSync(join(folder, configName))) return ok(folder);
    if (folder === dirname(folder)) break;
  }
  return refuse(
    "not_found",
    `${resolve(from)} is not in a workspace: no ${configName} here or in a parent folder. Create a workspace with: scriptorium init`,
  );
}
