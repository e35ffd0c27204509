import { execFile } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheFolder } from "./cache.ts";
import { skipNow } from "./programs.ts";

/** Versions that run on Node 20. */
const packages = { pnpm: "pnpm@10.33.4", yarn: "yarn@1.22.22", berry: "@yarnpkg/cli-dist@4.9.4" };

/** The folder with the executable of a package manager, from a cache outside the repository. Skips the test without it. */
export async function packageManager(name: keyof typeof packages): Promise<string> {
  const folder = join(cacheFolder("package-managers"), packages[name].replaceAll(/[/@]/g, "-"));
  const bin = join(folder, "node_modules/.bin");
  if (existsSync(bin)) return bin;
  const draft = `${folder}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  try {
    const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--loglevel=error"];
    await promisify(execFile)("npm", ["install", "--prefix", draft, ...quiet, packages[name]], { timeout: 120_000 });
    rmSync(folder, { recursive: true, force: true });
    renameSync(draft, folder);
  } catch (error) {
    const why = (error as Error).message.split("\n").slice(0, 3).join(" ");
    skipNow(`${packages[name]} cannot be installed: ${why}`);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return bin;
}
