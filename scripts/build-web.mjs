// Builds the web application into dist/web, unless what it is made of has not changed since.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

const zip = promisify(gzip);
const here = process.cwd();

/** @param {string} [outdir] */
export async function buildWeb(outdir = "dist") {
  const folder = join(here, outdir, "web");
  const note = join(folder, ".built.json");
  const known = existsSync(note) ? JSON.parse(await readFile(note, "utf8")) : undefined;
  if (known && known.hash === (await hashOf(known.borrowed))) return;

  // The libraries choose by this which of their builds they give; a test runner may have set another.
  process.env.NODE_ENV = "production";
  const { build } = await import("vite");
  const config = (await import("../web/vite.config.mjs")).default;
  /** @type {Set<string>} */
  const borrowed = new Set();
  const watchBorrowed = {
    name: "what is borrowed from src",
    /** @param {{ id: string }} module */
    moduleParsed({ id }) {
      const path = relative(here, id);
      if (path.startsWith("src/")) borrowed.add(path);
    },
  };
  await build({ ...config, plugins: [config.plugins, watchBorrowed], build: { ...config.build, outDir: folder } });
  await zipAll(join(folder, "assets"));
  await mkdir(folder, { recursive: true });
  const files = [...borrowed].sort();
  await writeFile(note, JSON.stringify({ hash: await hashOf(files), borrowed: files }));
}

/** @param {string[]} borrowed */
async function hashOf(borrowed) {
  const own = (await readdir("web", { recursive: true, withFileTypes: true }))
    .filter((item) => item.isFile())
    .map((item) => join(relative(here, item.parentPath ?? item.path), item.name));
  const hash = createHash("sha256");
  for (const path of [...own, ...borrowed, "package-lock.json", "scripts/build-web.mjs"].sort()) {
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
