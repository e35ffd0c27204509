import { spawn } from "node:child_process";
import { onTestFinished } from "vitest";
import { orphaned } from "./orphan.ts";
import { testEnvironment } from "./workspace.ts";

const command = new URL("../../dist/scriptorium.js", import.meta.url).pathname;

export const keys = {
  enter: "\r",
  space: " ",
  down: "\u001b[B",
  up: "\u001b[A",
  interrupt: "\u0003",
  left: "\u001b[D",
};

/**
 * Runs scriptorium at a real terminal, which `script` of util-linux makes, as a process of no agent. `answer` waits for a text on the screen
 * and types; texts are looked for after the last one that was found.
 */
export function atTerminal(args: string[], { cwd, env = {} }: { cwd: string; env?: Record<string, string> }) {
  // The terminal that script makes has no size.
  const line = `stty cols 100 rows 60; exec ${[process.execPath, command, ...args].map((word) => `'${word}'`).join(" ")}`;
  const [program, words] = orphaned(["script", "-qefc", line, "/dev/null"]);
  const child = spawn(program, words, {
    cwd,
    env: { ...testEnvironment(), TERM: "xterm", ...env },
  });
  onTestFinished(() => void child.kill("SIGTERM"));
  let screen = "";
  let seen = 0;
  let wake = () => {};
  child.stdout.on("data", (chunk) => {
    screen += String(chunk).replace(/\u001b\[[\d;?]*[A-Za-z]/g, "");
    wake();
  });
  const ended = new Promise<number | null>((done) => child.on("close", (code) => done(code)));
  return {
    async answer(text: string, ...typed: string[]): Promise<void> {
      for (;;) {
        const at = screen.indexOf(text, seen);
        if (at >= 0) {
          seen = at + text.length;
          break;
        }
        const closed = await Promise.race([
          ended.then(() => true),
          new Promise<false>((next) => (wake = () => next(false))),
        ]);
        if (closed && screen.indexOf(text, seen) < 0) throw new Error(`"${text}" was not asked:\n${screen}`);
      }
      for (const key of typed) {
        child.stdin.write(key);
        // A person's keys come one by one; two in one chunk would be read as one key.
        await new Promise((done) => setTimeout(done, 60));
      }
    },
    async end(): Promise<{ code: number | null; screen: string }> {
      return { code: await ended, screen };
    },
  };
}
