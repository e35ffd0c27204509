import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { scriptoriumProcess, start } from "./support/commands.ts";
import { ask } from "./support/requests.ts";
import { read, temporaryFolder } from "./support/workspace.ts";

const answers = (url: string) =>
  ask(url, "/").then(
    () => true,
    () => false,
  );
const linkIn = (said: string) => /Watch it in your browser: (\S+)/.exec(said)?.[1] ?? "";

test("P15: demo in a pipe shows a whole run with a failed verification and a retry, ends by itself and leaves nothing behind", async () => {
  const folder = temporaryFolder();
  const ran = await scriptoriumProcess(["demo"], { cwd: folder, env: { TMPDIR: folder } });
  expect([ran.code, ran.stderr]).toEqual([0, ""]);
  expect(ran.stdout).toContain("The agents in this demo are scripted");
  expect(ran.stdout).toMatch(/task 1\.3, attempt 1 FAIL, score 55[\s\S]*task 1\.3, attempt 2 PASS/);
  expect(ran.stdout).toContain("5 of 5 tasks accepted");
  expect(readdirSync(folder)).toEqual([]);
  expect(await answers(linkIn(ran.stdout))).toBe(false);
});

test("P15: demo --keep keeps the workspace and says where it is; --json ends with a summary", async () => {
  const folder = temporaryFolder();
  const ran = await scriptoriumProcess(["demo", "--keep", "--json"], { cwd: folder, env: { TMPDIR: folder } });
  expect([ran.code, ran.stderr]).toEqual([0, ""]);
  const summary = JSON.parse(ran.stdout.trim().split("\n").at(-1) ?? "");
  expect(summary).toMatchObject({ kind: "summary", state: "completed", kept: true });
  expect(read(summary.report)).toContain("5 of 5 tasks accepted");
});

describe("P15: demo that keeps its server running", () => {
  const watch = async (until: RegExp) => {
    const folder = temporaryFolder();
    const child = start("scriptorium.js", ["demo", "--open"], folder, { TMPDIR: folder, BROWSER: "true" });
    let said = "";
    child.stdout?.on("data", (chunk) => (said += chunk));
    const ended = new Promise<number | null>((done) => child.once("close", (code) => done(code)));
    await expect.poll(() => said).toMatch(until);
    expect(await answers(linkIn(said))).toBe(true);
    return { child, ended, folder, link: linkIn(said) };
  };

  test.each([
    ["SIGTERM", /attempt 1 started/, 143],
    ["SIGHUP", /Watch it .*\n/, 129],
    ["SIGINT", /The server is still running/, 0],
  ] as const)("stops at %s with its server, and deletes its folder", async (signal, when, code) => {
    const { child, ended, folder, link } = await watch(when);
    child.kill(signal);
    expect(await ended).toBe(code);
    expect(await answers(link)).toBe(false);
    expect(readdirSync(folder)).toEqual([]);
  });
});
