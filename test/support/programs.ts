/**
 * Programs that tests need and npm does not bring. The global setup installs the missing ones once,
 * where it may (root, apt-get), and tells the workers which are still missing and why. Tests that
 * need one of those skip; skip-report.ts prints how many, and for which reason.
 */
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { inject, TestRunner } from "vitest";
import { findSandbox } from "../../src/agents/sandbox.ts";
import { runsLongTests } from "./long-tests.ts";

export type Program = "chromium" | "bubblewrap" | "postgresql" | "pgbouncer" | "faketime" | "bash" | "zsh" | "fish";
/** Each missing program with the reason why, and what to do about it. */
export type Missing = Partial<Record<Program, string>>;

declare module "vitest" {
  interface ProvidedContext {
    missing: Missing;
  }
  interface TaskMeta {
    /** Why the test, or all tests of the suite, are skipped. */
    skipReason?: string;
  }
}

/** Options of a test or suite that is skipped where `program` is missing. */
export const needs = (program: Program) => skippedFor(inject("missing")[program]);

/** Options of a test or suite that is skipped when there is a reason to. */
export const skippedFor = (skipReason: string | undefined) =>
  skipReason === undefined ? {} : { skip: true, meta: { skipReason } };

/** Options of a test that `npm test` leaves out: see long-tests.ts. */
export const long = skippedFor(runsLongTests ? undefined : "long: npm run test:all runs it");

/** Skips the current test where `program` is missing. */
export function skipWithout(program: Program): void {
  const why = inject("missing")[program];
  if (why !== undefined) skipNow(why);
}

/** Skips the current test for a reason that is printed after the run. */
export function skipNow(why: string): void {
  const test = TestRunner.getCurrentTest();
  if (!test) throw new Error(`${why}; call this from a test, which can be skipped, not from a hook`);
  test.context.skip(why);
}

const debianPackages = {
  chromium: ["chromium", "fonts-liberation"],
  bubblewrap: ["bubblewrap"],
  pgbouncer: ["pgbouncer"],
  faketime: ["libfaketime"],
};
const installSeconds = 300;

/** Installs the missing programs where that is possible, and reports those that are still missing. */
export async function preparePrograms(): Promise<Missing> {
  const missing = await missingPrograms();
  const packages = Object.entries(debianPackages).flatMap(([program, names]) =>
    isAbsent(missing[program as Program]) ? names : [],
  );
  if (packages.length === 0 || process.getuid?.() !== 0 || !onPath("apt-get")) return missing;

  process.stderr.write(`installing ${packages.join(" ")} with apt-get\n`);
  const output = aptInstall(packages);
  if (output !== undefined) process.stderr.write(`apt-get failed:\n${output.slice(-2000)}\n`);
  return missingPrograms();
}

const absent = " is not installed";
const isAbsent = (why: string | undefined) => why?.includes(absent) ?? false;

async function missingPrograms(): Promise<Missing> {
  const missing: Missing = {};
  const chromium = findChromium();
  if ("missing" in chromium) missing.chromium = chromium.missing;
  const bubblewrap = await bubblewrapProblem();
  if (bubblewrap) missing.bubblewrap = bubblewrap;
  if (!findPgbouncer()) missing.pgbouncer = `pgbouncer${absent}; install it with ${byHand("pgbouncer")}`;
  if (!findFaketime()) missing.faketime = `libfaketime${absent}; install it with ${byHand("faketime")}`;
  for (const shell of ["bash", "zsh", "fish"] as const) {
    if (!onPath(shell)) missing[shell] = `${shell}${absent}; install it with \`apt-get install -y ${shell}\``;
  }
  return missing;
}

/** A bubblewrap that is there can still be unusable, e.g. where user namespaces are not allowed. */
async function bubblewrapProblem(): Promise<string | undefined> {
  if (!onPath("bwrap")) return `bubblewrap${absent}; install it with ${byHand("bubblewrap")}`;
  const found = await findSandbox("auto", { PATH: process.env.PATH });
  return found.ok ? undefined : `bubblewrap is installed but cannot start a sandbox: ${found.problem.message}`;
}

/** The executable, or the reason why there is none. */
export function findChromium(): { path: string } | { missing: string } {
  const override = "set SCRIPTORIUM_CHROMIUM to the path of a Chromium or Chrome executable";
  const given = process.env.SCRIPTORIUM_CHROMIUM;
  if (given && !isExecutable(given)) {
    return { missing: `SCRIPTORIUM_CHROMIUM is ${given}, which is not executable; ${override}` };
  }
  const path = given || ["chromium", "chromium-browser", "google-chrome"].map(onPath).find(Boolean);
  if (path) return { path };
  return { missing: `Chromium${absent}; install it with ${byHand("chromium")}, or ${override}` };
}

/** PgBouncer, which Debian installs where only root looks. */
export const findPgbouncer = (): string | undefined =>
  onPath("pgbouncer") ?? ["/usr/sbin/pgbouncer"].find(isExecutable);

/** The library that gives a process another time of day. */
export const findFaketime = (): string | undefined =>
  ["x86_64-linux-gnu", "aarch64-linux-gnu"]
    .map((triplet) => `/usr/lib/${triplet}/faketime/libfaketime.so.1`)
    .find((file) => existsSync(file));

const byHand = (program: keyof typeof debianPackages) =>
  `\`apt-get install -y --no-install-recommends ${debianPackages[program].join(" ")}\``;

const onPath = (name: string) =>
  [...(process.env.PATH ?? "").split(delimiter), "/usr/bin"]
    .filter(Boolean)
    .map((folder) => join(folder, name))
    .find(isExecutable);

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The output if it failed. */
function aptInstall(packages: string[]): string | undefined {
  const until = Date.now() + installSeconds * 1000;
  // Other test runs on this machine may be installing: wait for their lock.
  const options = ["-o", "DPkg::Lock::Timeout=120"];
  for (const args of [["update"], ["install", "-y", "--no-install-recommends", ...packages]]) {
    const { status, error, output } = spawnSync("apt-get", [...options, ...args], {
      encoding: "utf8",
      timeout: Math.max(1000, until - Date.now()),
      maxBuffer: 64 * 1024 * 1024,
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    });
    if (status !== 0) return [error?.message, ...output].filter(Boolean).join("\n");
  }
  return undefined;
}
