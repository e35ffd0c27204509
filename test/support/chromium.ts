/**
 * What a browser test needs: a Chromium to open pages in.
 */
import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import type { Browser } from "playwright-core";

const run = promisify(execFile);

const names = ["chromium", "chromium-browser", "google-chrome"];
const advice =
  "install Chromium with `apt-get install -y --no-install-recommends chromium fonts-liberation`, " +
  "or set SCRIPTORIUM_CHROMIUM to the path of a Chromium or Chrome executable";

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** A running browser, or the sentence that says what to install. Whoever gets the browser closes it. */
export async function chromium(): Promise<{ browser: Browser } | { missing: string }> {
  const wanted = process.env.SCRIPTORIUM_CHROMIUM;
  if (wanted && !(await isExecutable(wanted))) {
    return { missing: `SCRIPTORIUM_CHROMIUM is ${wanted}, which cannot be run: ${advice}` };
  }

  const found = wanted || (await findChromium());
  const failure = found ? undefined : await install();
  const executablePath = found ?? (await findChromium());
  if (!executablePath) return { missing: `no Chromium on this machine${failure ?? ""}: ${advice}` };

  const playwright = await import("playwright-core");
  return { browser: await playwright.chromium.launch({ executablePath, headless: true, args: flags }) };
}

async function findChromium(): Promise<string | undefined> {
  const folders = (process.env.PATH ?? "").split(delimiter).filter(Boolean);
  const candidates = names.flatMap((name) => folders.map((folder) => join(folder, name)));
  for (const path of [...candidates, "/usr/bin/chromium"]) if (await isExecutable(path)) return path;
  return undefined;
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

// Test files run in parallel. The kernel gives the lock to one of them and takes it back when that
// process dies; the others wait, then find Chromium there and install nothing.
async function install(): Promise<string | undefined> {
  if (process.getuid?.() !== 0 || !(await isExecutable("/usr/bin/apt-get"))) return undefined;

  const steps =
    "test -x /usr/bin/chromium || { apt-get update && " +
    "apt-get install -y --no-install-recommends chromium fonts-liberation; }";
  const locked = ["-w", "300", "/tmp/scriptorium-chromium.lock", "timeout", "240", "sh", "-c", steps];
  return run("flock", locked, {
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    maxBuffer: 64 * 1024 * 1024,
  }).then(
    () => undefined,
    (error: Error & { code?: number | string }) => ` (apt-get could not install it, exit ${error.code})`,
  );
}
