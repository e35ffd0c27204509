import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { skippedFor } from "./support/programs.ts";
import { atTerminal, keys } from "./support/terminal.ts";
import { gitIn, read, temporaryFolder } from "./support/workspace.ts";

/** A repository with one commit, and a home and PATH in which only a fake Claude Code is installed. */
function place() {
  const root = temporaryFolder();
  const home = temporaryFolder();
  const bin = join(home, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "claude"), "#!/bin/sh\necho 9.8.7\n");
  chmodSync(join(bin, "claude"), 0o755);
  const git = gitIn(root);
  git("init", "-q", "-b", "trunk");
  git("config", "user.name", "Ada");
  git("config", "user.email", "ada@example.org");
  writeFileSync(join(root, "AGENTS.md"), "# Mine\n");
  git("add", "-A");
  git("commit", "-qm", "Begin");
  return { root, git, env: { HOME: home, PATH: `${bin}:/usr/bin:/bin`, ANTHROPIC_API_KEY: "sk-secret-value" } };
}

const reason = process.platform === "linux" ? undefined : "the tests' terminal is made by `script` of util-linux";

describe("at a terminal, init", skippedFor(reason), () => {
  test("P3, P14, P16: the dialogue shows what it found, every change and where commits go, then writes and proves it", async () => {
    const { root, git, env } = place();
    const terminal = atTerminal(["init"], { cwd: root, env });
    await terminal.answer("git repository on trunk, clean");
    await terminal.answer("Claude Code 9.8.7, logged in or with a key");
    await terminal.answer("Template", keys.enter);
    await terminal.answer("Clients to connect", keys.enter);
    await terminal.answer("On which branch?", keys.enter);
    await terminal.answer("Commit the new files on trunk?", keys.enter);
    await terminal.answer("+ scriptorium.yaml");
    await terminal.answer("+++ AGENTS.md");
    await terminal.answer("Agents' writes become commits on the branch that is checked out, now trunk.");
    await terminal.answer("Write this?", keys.enter);
    const { code, screen } = await terminal.end();
    expect({ code, screen: code === 0 ? "" : screen }).toEqual({ code: 0, screen: "" });
    expect(screen).toContain("works  started the server");
    expect(screen).not.toContain("sk-secret-value");
    expect(read(join(root, "AGENTS.md"))).toMatch(/^# Mine\n\n<!-- scriptorium:begin -->\n/);
    expect(existsSync(join(root, ".mcp.json"))).toBe(true);
    expect(git("log", "-1", "--format=%s %an")).toBe("Add Scriptorium Ada");
    expect(git("status", "--porcelain")).toBe("?? .mcp.json");
  });

  test.each([
    ["at the first question", []],
    ["at the last question", ["Clients to connect", "On which branch?", "Commit the new files"]],
  ])("P3: Ctrl-C %s leaves nothing behind", async (_when, questions) => {
    const { root, git, env } = place();
    const before = readdirSync(root);
    const terminal = atTerminal(["init"], { cwd: root, env });
    if (questions.length > 0) await terminal.answer("Template", keys.enter);
    for (const question of questions) await terminal.answer(question, keys.enter);
    await terminal.answer(questions.length > 0 ? "Write this?" : "Template", keys.interrupt);
    const { code, screen } = await terminal.end();
    expect(screen).toContain("cancelled; nothing was written");
    expect(code).toBe(1);
    expect(readdirSync(root)).toEqual(before);
    expect(git("status", "--porcelain")).toBe("");
    expect(git("for-each-ref", "refs/scriptorium")).toBe("");
  });

  test("P17: inside another workspace the dialogue asks first, and no is the default", async () => {
    const { root, env } = place();
    writeFileSync(join(root, "scriptorium.yaml"), "name: outer\n");
    mkdirSync(join(root, "inner"));
    const terminal = atTerminal(["init"], { cwd: join(root, "inner"), env });
    await terminal.answer("Create a second one?", keys.enter);
    expect(await terminal.end()).toMatchObject({ code: 1 });
    expect(readdirSync(join(root, "inner"))).toEqual([]);
  });
});
