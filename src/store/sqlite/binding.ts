import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Refused } from "../../kernel/result.ts";

/** The part of `node:sqlite` that the store uses. */
export interface SqliteBinding {
  DatabaseSync: new (
    file: string,
    options?: { timeout: number },
  ) => {
    exec(sql: string): void;
    prepare(sql: string): {
      columns(): { name: string }[];
      setReturnArrays(enabled: boolean): void;
      all(...parameters: readonly unknown[]): unknown[];
      run(...parameters: readonly unknown[]): { changes: number; lastInsertRowid: number };
    };
    function(name: string, value: () => number): void;
    readonly isTransaction: boolean;
    readonly isOpen: boolean;
    close(): void;
  };
}

const load = createRequire(import.meta.url);
const platform = `${process.platform}-${process.arch}`;
let loaded: SqliteBinding | undefined;

/**
 * SQLite is Node's own where it is stable and has no known corruption bug, and otherwise the native
 * module that Scriptorium ships, which has the same interface. Throws a refusal if neither can be loaded.
 */
export function loadBinding(): SqliteBinding {
  loaded ??= builtin() ?? shipped();
  return loaded;
}

/** `node:sqlite` is experimental before Node 24 and prints a warning there. */
export function builtin(): SqliteBinding | undefined {
  if (Number.parseInt(process.versions.node, 10) < 24) return undefined;
  const binding = process.getBuiltinModule("node:sqlite") as unknown as SqliteBinding | undefined;
  return binding && isUsable(binding) ? binding : undefined;
}

/** Asks SQLite itself: a Node that links the system's library reports another version in `process.versions`. */
function isUsable({ DatabaseSync }: SqliteBinding): boolean {
  const memory = new DatabaseSync(":memory:");
  const question = "SELECT sqlite_version() AS version, sqlite_compileoption_used('ENABLE_FTS5') AS fts5";
  const [about] = memory.prepare(question).all() as { version: string; fts5: number }[];
  memory.close();
  return about !== undefined && about.fts5 === 1 && !hasWalResetBug(about.version);
}

export function shipped(): SqliteBinding {
  const [first, ...others] = shippedFiles().filter((file) => existsSync(file));
  if (!first) return refuseToRun(`the package contains no SQLite for ${platform}`);
  try {
    return load(first) as SqliteBinding;
  } catch (error) {
    for (const file of others) {
      try {
        return load(file) as SqliteBinding;
      } catch {
        // The first error is reported: it is about the file that was expected to work.
      }
    }
    const [reason] = (error as Error).message.split("\n");
    return refuseToRun(reason ?? first);
  }
}

/** Releases 3.7.0 to 3.51.2 can corrupt a WAL database when a checkpoint meets a reset. */
export function hasWalResetBug(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  if (major !== 3 || minor > 51) return false;
  const fixedSince: Record<number, number> = { 44: 6, 50: 7, 51: 3 };
  return patch < (fixedSince[minor] ?? Number.POSITIVE_INFINITY);
}

/** Native modules by libc, the one that this system probably has first. */
function shippedFiles(): string[] {
  const files = (glibc: string, musl: string) => (existsSync("/etc/alpine-release") ? [musl, glibc] : [glibc, musl]);
  const built = fileURLToPath(new URL("./native/", import.meta.url));
  if (existsSync(built)) return files(join(built, `${platform}.node`), join(built, `${platform}-musl.node`));
  // Not bundled: the sources and the benches use the installed package.
  const installed = installedPackage();
  const prebuild = (libc: string) => join(installed, "prebuilds", platform, `@photostructure+sqlite.${libc}.node`);
  return installed ? files(prebuild("glibc"), prebuild("musl")) : [];
}

function installedPackage(): string {
  try {
    return dirname(load.resolve("@photostructure/sqlite/package.json"));
  } catch {
    return "";
  }
}

function refuseToRun(why: string): never {
  throw new Refused({
    code: "refused",
    message: `SQLite cannot be loaded: ${why}. Use Node 24.16 or newer, which includes SQLite, or install Scriptorium again.`,
  });
}
