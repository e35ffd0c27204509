import { execFile } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheFolder } from "./cache.ts";

/**
 * The executable of a Node release, from a cache outside the repository. The npm packages
 * `node-<platform>-<arch>` contain it (about 110 MB each, without scripts). Returns the reason where
 * it cannot be installed.
 */
export async function nodeVersion(version: string): Promise<{ node: string } | { missing: string }> {
  const name = `node-${process.platform}-${process.arch}`;
  const folder = join(cacheFolder("node"), version);
  const node = join(folder, "node_modules", name, "bin/node");
  if (existsSync(node)) return { node };
  const draft = `${folder}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  try {
    const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--loglevel=error"];
    const args = ["install", "--prefix", draft, ...quiet, `${name}@${version}`];
    await promisify(execFile)("npm", args, { timeout: 300_000 });
    rmSync(folder, { recursive: true, force: true });
    renameSync(draft, folder);
    return { node };
  } catch (error) {
    const why = (error as Error).message.split("\n").slice(0, 3).join(" ");
    return { missing: `${name}@${version} cannot be installed: ${why}` };
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}
