// Builds the web application into dist/web, unless its inputs are unchanged since the last build.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { packagesOf } from "./build-licences.mjs";

const zip = promisify(gzip);
const here = process.cwd();

/**
 * Returns the folders of the packages whose code is in the build.
 * @param {string} [outdir]
 * @returns {Promise<string[]>}
 */
export async function buildWeb(outdir = "dist") {
  const folder = join(here, outdir, "web");
  const note = join(folder, ".built.json");
  const known = existsSync(note) ? JSON.parse(await readFile(note, "utf8")) : undefined;
  if (known && known.hash === (await hashOf(known.borrowed))) return known.packages;

  // Libraries select their production build by this variable; a test runner sets it to "test".
  process.env.NODE_ENV = "production";
  const { build } = await import("vite");
  const config = (await import("../web/vite.config.mjs")).default;
  /** @type {Set<string>} */
  const modules = new Set();
  const collectModules = {
    name: "collect-modules",
    /** @param {{ id: string }} module */
    moduleParsed({ id }) {
      if (!id.startsWith("\0")) modules.add(relative(here, id));
    },
  };
  await build({ ...config, plugins: [config.plugins, collectModules], build: { ...config.build, outDir: folder } });
  await zipAll(join(folder, "assets"));
  await mkdir(folder, { recursive: true });
  const borrowed = [...modules].filter((path) => path.startsWith("src/")).sort();
  const packages = packagesOf(modules);
  await writeFile(note, JSON.stringify({ hash: await hashOf(borrowed), borrowed, packages }));
  return packages;
}

/** @param {string[]} borrowed */
async function hashOf(borrowed) {
  const own = (await readdir("web", { recursive: true, withFileTypes: true }))
    .filter((item) => item.isFile())
    .map((item) => join(relative(here, item.parentPath ?? item.path), item.name));
  const hash = createHash("sha256");
  for (const path of [
    ...own,
    ...borrowed,
    "package-lock.json",
    "scripts/build-web.mjs",
    "scripts/build-licences.mjs",
  ].sort()) {
    hash.update(path).update("\0");
    hash.update(existsSync(path) ? await readFile(path) : "gone");
  }
  return hash.digest("hex");
}

/** @param {string} folder */
async function zipAll(folder) {
  const names = await readdir(folder);
  await Promise.all(
    names
      .filter((name) => /\.(js|css|svg)$/.test(name))
      .map(async (name) => writeFile(join(folder, `${name}.gz`), await zip(await readFile(join(folder, name))))),
  );
}

if (import.meta.url === `file://${process.argv[1]}`) await buildWeb();
