import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Readable } from "node:stream";
import { ended, type Place } from "../support/place.ts";

export type Step = { text: string; seconds: number; kind: "command" | "edit" | "wait" };

/** A person at a shell: an empty repository, the commands typed in it, and how long each took. */
export type Person = {
  root: string;
  env: Record<string, string>;
  steps: Step[];
  /** Types a command and waits for its end; it must succeed. Returns its standard output. */
  type(command: string, args: string[], input?: string): Promise<string>;
  /** Runs a command to prepare or to check something; not counted. */
  output(command: string, args: string[]): Promise<string>;
  /** Types a command that keeps running until `use` is done with it; Ctrl-C ends it. */
  serve(command: string, args: string[], use: (server: ChildProcess) => Promise<void>): Promise<void>;
  /** Edits a file by hand. */
  edit(text: string, work: () => void): void;
  /** Something that a program does, such as the answer of a server; not a command of the person. */
  wait<T>(text: string, work: () => Promise<T>, kind?: Step["kind"]): Promise<T>;
};

/** `bin` has the commands of the product under test. */
export async function newPerson(place: Place, bin: string, more: Record<string, string> = {}): Promise<Person> {
  const home = place.folder("home");
  writeFileSync(
    join(home, ".gitconfig"),
    "[user]\n\tname = Ada Lovelace\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n",
  );
  const root = join(home, "project");
  mkdirSync(root);
  const path = `${bin}${delimiter}${place.environment.PATH}`;
  const env = { ...place.environment, HOME: home, PATH: path, ...more };
  await succeedIn(place, "git", ["init", "--quiet"], root, env);
  const steps: Step[] = [];

  async function wait<T>(text: string, work: () => Promise<T>, kind: Step["kind"] = "wait"): Promise<T> {
    const began = performance.now();
    const value = await work();
    steps.push({ text, seconds: (performance.now() - began) / 1000, kind });
    return value;
  }
  return {
    root,
    env,
    steps,
    wait,
    type: (command, args, input) =>
      wait([command, ...args].join(" "), () => succeedIn(place, command, args, root, env, input), "command"),
    serve: (command, args, use) =>
      wait(
        [command, ...args].join(" "),
        async () => {
          // A process group of its own: the commands of some products are wrappers that leave their program behind.
          const server = spawn(command, args, { cwd: root, env, detached: true, stdio: ["ignore", "pipe", "ignore"] });
          const stop = () => server.pid && killGroup(server.pid);
          place.onLeave(stop);
          try {
            await use(server);
          } finally {
            stop();
          }
        },
        "command",
      ),
    output: (command, args) => succeedIn(place, command, args, root, env),
    edit(text, work) {
      work();
      steps.push({ text, seconds: 0, kind: "edit" });
    },
  };
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

async function succeedIn(
  place: Place,
  command: string,
  args: string[],
  cwd: string,
  env: Record<string, string>,
  input = "",
): Promise<string> {
  const child = place.start(command, args, { cwd, env });
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(input);
  const { code, stdout, stderr } = await ended(child);
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} failed (${code}): ${(stderr || stdout).slice(-800)}`);
  return stdout;
}

/** The first line that a program prints. */
export async function lineOf(child: ChildProcess): Promise<string> {
  let text = "";
  for await (const chunk of child.stdout as Readable) {
    text += chunk;
    if (text.includes("\n")) return text.split("\n", 1)[0] ?? "";
  }
  throw new Error(`${child.spawnargs.join(" ")} ended without a line`);
}

/** Asks until a page is answered. */
export async function pageAt(url: string, headers: Record<string, string> = {}): Promise<void> {
  for (const until = Date.now() + 60_000; ; ) {
    const answer = await fetch(url, { headers, signal: AbortSignal.timeout(5000) }).catch(() => undefined);
    if (answer?.ok && /<html/i.test(await answer.text())) return;
    if (Date.now() > until) throw new Error(`${url} did not answer within a minute`);
    await new Promise((soon) => setTimeout(soon, 20));
  }
}
