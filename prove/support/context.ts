import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { seeded } from "../../bench/support/measure.ts";
import type { Context, Outcome, Proof } from "./proof.ts";

const dist = fileURLToPath(new URL("../dist/", import.meta.url));
const maxDetails = 20;

/** Runs one proof until `end` at the latest. */
export async function attempt(name: string, proof: Proof, seed: number, end: number): Promise<Outcome> {
  const outcome: Outcome = { name, promise: proof.promise, tries: 0, details: [], violations: 0, note: "" };
  const { context, close } = openContext(outcome, seed, end);
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((done) => {
    timer = setTimeout(done, Math.max(0, end - Date.now()));
  });
  // Closing kills the commands of an unfinished try, and its run then fails for that reason alone.
  const run = proof.run(context).catch((error: unknown) => {
    if (Date.now() < end) outcome.error = withoutPaths(context.folder, String(error));
  });
  const stop = () => {
    close();
    process.exit(130);
  };
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, stop);
  await Promise.race([run, timeout]);
  for (const signal of ["SIGINT", "SIGTERM"]) process.off(signal, stop);
  clearTimeout(timer);
  close();
  return { ...outcome };
}

function openContext(outcome: Outcome, seed: number, end: number): { context: Context; close(): void } {
  const folder = mkdtempSync(join(tmpdir(), "scriptorium-prove-"));
  const home = join(folder, "home");
  mkdirSync(home);
  writeFileSync(join(home, ".gitconfig"), "[user]\n\tname = Ada Lovelace\n\temail = ada@example.org\n");
  const environment = {
    PATH: process.env.PATH ?? "",
    HOME: home,
    LANG: "C.UTF-8",
    SCRIPTORIUM_TRUSTED_FOLDERS: folder,
  };
  const running = new Set<ChildProcess>();
  const endings: (() => void)[] = [];
  let closed = false;

  const context: Context = {
    until: end - Math.min(10_000, (end - Date.now()) / 4),
    random: seeded(seed),
    folder,
    check(ok, detail) {
      if (closed) return;
      outcome.tries++;
      if (ok) return;
      outcome.violations++;
      if (outcome.details.length < maxDetails) outcome.details.push(withoutPaths(folder, detail));
    },
    note(text) {
      if (!closed) outcome.note = text;
    },
    table(table) {
      if (!closed) outcome.table = table;
    },
    atEnd(work) {
      endings.push(work);
    },
    start(command, args, { cwd, env = {}, within = [] }) {
      if (closed) throw new Error("the proof's time is over");
      const script = command === "git" ? ["git"] : [process.execPath, join(dist, `${command}.js`)];
      const [file = "", ...rest] = [...within, ...script, ...args];
      const child = spawn(file, rest, { cwd, env: { ...environment, ...env } });
      running.add(child);
      child.once("close", () => running.delete(child));
      // Writing to a command that was killed is part of the proofs.
      child.stdin?.on("error", () => undefined);
      return child;
    },
  };
  return {
    context,
    close() {
      closed = true;
      for (const child of running) child.kill("SIGKILL");
      for (const end of endings.splice(0).reverse()) end();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
    },
  };
}

/** Reports are published: they must not contain paths of this machine. */
const withoutPaths = (folder: string, text: string) =>
  text.replaceAll(folder, "<folder>").replaceAll(dist, "dist/").replaceAll(process.cwd(), ".").slice(0, 600);
