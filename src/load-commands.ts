import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import module, { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";
import type { Commands } from "./commands.ts";
import { cacheFolder, environment } from "./config/environment.ts";

/** The file names of the bundles, which contain a hash of their content. The build defines them. */
declare const commandsFile: string;
declare const scribeFile: string;

export const loadCommands = (command?: string): Commands => loadBundle(commandsFile, command);

export const loadScribe = (command?: string): Pick<typeof import("./cli/scribe.ts"), "runScribe"> =>
  loadBundle(scribeFile, command);

/**
 * Loads a bundle. Compiling it is a third of a cold start, so the compiled code is kept between runs: by Node 22 and
 * newer itself, on Node 20 by `compiledOnce`.
 */
function loadBundle<T>(name: string, command = ""): T {
  const file = fileURLToPath(new URL(name, import.meta.url));
  const { enableCompileCache } = module as { enableCompileCache?: () => void };
  if (!enableCompileCache) return compiledOnce(file, command);
  enableCompileCache();
  return createRequire(file)(file);
}

/**
 * Each command has a cache of its own, with the functions that it uses.
 *
 * V8 compares the code in the cache with the length of the source and with its own version only: the name of the
 * cache file has to identify the content of the bundle. The cache is executed as code, so it is used only if it
 * belongs to this user and nobody else can write it.
 */
function compiledOnce<T>(file: string, command: string): T {
  const name = /^[a-z-]{1,40}$/.test(command) ? command : "other";
  const key = `${basename(file)}-${process.version}-${process.arch}-${name}`;
  const cache = join(cacheFolder(environment()), "code", key);
  const cachedData = readOwn(cache);
  const head = "(function (exports, require, module, __filename, __dirname) {";
  // The bundle is ASCII; a one-byte string is read and compiled in half the time.
  const script = new Script(`${head}${readFileSync(file, "latin1")}\n})`, {
    filename: file,
    ...(cachedData ? { cachedData } : {}),
  });
  // import() does not work in code from the cache.
  const importModule = (path: string) => import(new URL(path, import.meta.url).href);
  const loaded = { exports: {} as T, importModule };
  script.runInThisContext()(loaded.exports, createRequire(file), loaded, file, dirname(file));
  if (!cachedData || script.cachedDataRejected) process.once("exit", () => save(cache, script.createCachedData()));
  return loaded.exports;
}

function readOwn(file: string): Buffer | undefined {
  try {
    const { uid, mode } = statSync(file);
    return uid === (process.getuid?.() ?? uid) && (mode & 0o022) === 0 ? readFileSync(file) : undefined;
  } catch {
    return undefined;
  }
}

const mostCaches = 40;

/** A cache that cannot be written costs time, nothing else. Caches of other builds are removed. */
function save(file: string, data: Buffer): void {
  const folder = dirname(file);
  const draft = `${file}.${process.pid}`;
  let isWritten = false;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    chmodSync(folder, 0o700);
    const there = readdirSync(folder);
    const isOurs = (name: string) => name.startsWith(commandsFile) || name.startsWith(scribeFile);
    const old = there.length >= mostCaches ? there : there.filter((name) => !isOurs(name));
    for (const name of old) rmSync(join(folder, name), { force: true });
    writeFileSync(draft, data, { flag: "wx", mode: 0o600 });
    isWritten = true;
    renameSync(draft, file);
  } catch {
    if (isWritten) rmSync(draft, { force: true });
  }
}
