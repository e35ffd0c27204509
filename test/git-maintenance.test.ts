import { spawn } from "node:child_process";
import { describe, expect, onTestFinished, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { agent, newWorkspace, testEnvironment } from "./support/workspace.ts";

/** Repeats commands of git in a process of its own until the test ends. */
function repeating(root: string, commands: string): { stop(): Promise<string> } {
  const script = `while :; do ${commands}; done`;
  const child = spawn("sh", ["-c", script], { cwd: root, env: testEnvironment(), detached: true });
  let said = "";
  child.stderr.on("data", (chunk) => (said += chunk));
  const ended = new Promise<string>((done) => child.once("close", () => done(said)));
  const stop = () => {
    try {
      process.kill(-(child.pid ?? 0), "SIGTERM");
    } catch {
      // It has ended.
    }
    return ended;
  };
  onTestFinished(() => void stop());
  return { stop };
}

const maintenance = [
  { what: "git gc --prune=now", commands: "git gc -q --prune=now" },
  { what: "git repack -ad and git prune", commands: "git repack -adq; git prune --expire=now" },
];

describe("V2: maintenance of the repository while agents write", () => {
  test.each(maintenance)("V2: $what, over and over, loses no version", async ({ commands }) => {
    const { root, app, git } = await newWorkspace();
    git("reflog", "expire", "--expire=now", "--all");
    const { stop } = repeating(root, commands);
    const rounds = 40;
    for (let n = 1; n <= rounds; n++) {
      unwrap(await app.knowledge(agent("engineer")).appendLog("decisions", `line ${n}`));
      await app.recorder.record();
    }
    await stop();
    await expect.poll(() => app.recorder.drain(5000), { timeout: 30_000 }).toBeUndefined();
    expect(git("fsck", "--strict", "--no-dangling")).toBe("");
    expect(await app.entries.history("decisions", 1000)).toHaveLength(rounds + 1);
    const lines = (text: string) => text.match(/line \d+/g)?.length ?? 0;
    expect(lines(git("show", "HEAD:wiki/decisions.md"))).toBe(rounds);
    for (const version of [2, 20, rounds + 1])
      expect(lines((await app.entries.contentAt("decisions", version)) ?? "")).toBe(version - 1);
    expect(git("status", "--porcelain")).toBe("");
  });
});
