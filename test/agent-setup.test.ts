import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { scriptorium, serve } from "./support/commands.ts";
import { folderOfAgent, withAgentsIn } from "./support/first-agent.ts";
import { authorship } from "./support/jobs.ts";
import { needs } from "./support/programs.ts";
import { ask } from "./support/requests.ts";
import { newWorkspace, untrusted } from "./support/workspace.ts";

const fileOf = (root: string) => join(root, "scriptorium.yaml");

async function served(root: string, env: Record<string, string>) {
  const { url, token } = await serve(root, env);
  const call = async (path: string, body?: object, as = token) => {
    const answer = await ask(url, path, { token: as, method: body ? "POST" : "GET", ...(body ? { body } : {}) });
    return { ...answer.json(), code: answer.status } as Record<string, unknown> & { code: number };
  };
  return { call };
}

describe("set-up of the agent", () => {
  test("R17: it lists installed programs and the names of keys, never their values", async () => {
    const { root } = await newWorkspace();
    const { call } = await served(root, withAgentsIn(folderOfAgent()));
    const shown = await call("/api/agents");
    expect(shown).toMatchObject({ present: null, crew: false });
    expect(shown.keys).toContain("ANTHROPIC_API_KEY");
    expect(shown.programs).toContainEqual(
      expect.objectContaining({ name: "claude", version: "2.1.325", login: true, path: expect.stringContaining("/") }),
    );
    expect(JSON.stringify(shown)).not.toContain("sk-of-the-test");
  });

  test("R17: a change is shown first, written with its hash only, and refused when the file changed meanwhile", async () => {
    const { root } = await newWorkspace();
    const original = readFileSync(fileOf(root), "utf8");
    writeFileSync(fileOf(root), `${original}# Ours\nport: 4750 # fixed\n`.replaceAll("\n", "\r\n"));
    const { call } = await served(root, withAgentsIn(folderOfAgent()));
    const before = readFileSync(fileOf(root), "utf8");
    const shown = await call("/api/agents/configure", { agent: "claude", model: "haiku" });
    expect(shown).toMatchObject({ code: 200, written: false, allows: [], waiting: false });
    expect(shown.diff).toContain("+  model: haiku");
    expect(readFileSync(fileOf(root), "utf8")).toBe(before);
    writeFileSync(fileOf(root), `${before}# edited\r\n`);
    const stale = await call("/api/agents/configure", { agent: "claude", model: "haiku", hash: shown.hash });
    expect(stale).toMatchObject({ code: 409, message: expect.stringContaining("changed since") });
    const again = await call("/api/agents/configure", { agent: "claude", model: "haiku" });
    await call("/api/agents/configure", { agent: "claude", model: "haiku", hash: again.hash });
    const after = readFileSync(fileOf(root), "utf8");
    expect(after.startsWith(`${before}# edited\r\nagent:\r\n`)).toBe(true);
    expect(after.replaceAll("\r\n", "")).not.toContain("\n");
    expect(await call("/api/agents")).toMatchObject({ present: { runner: "claude", model: "haiku" } });
  });

  test("R17, S5: a program that needs to be allowed is shown as such, and the same decision allows exactly it", async () => {
    const { root } = await newWorkspace();
    const { call } = await served(root, {
      ...untrusted,
      ...withAgentsIn(folderOfAgent(), { GEMINI_API_KEY: "g-key" }),
    });
    const shown = await call("/api/agents/configure", { agent: "gemini" });
    expect(shown.allows).toEqual([
      expect.objectContaining({ key: "agent.command" }),
      expect.objectContaining({ key: "agent.env" }),
    ]);
    await call("/api/agents/configure", { agent: "gemini", hash: shown.hash });
    expect(await call("/api/trust")).toMatchObject({ waiting: [] });
    expect(readFileSync(fileOf(root), "utf8")).toContain("env: [ GEMINI_API_KEY ]");
    expect(readFileSync(fileOf(root), "utf8")).not.toContain("g-key");
  });

  test("R17, S5: settings that nobody allowed are not allowed by setting up an agent", async () => {
    const block = JSON.stringify({ ...authorship, claude_bin: "./pwn.sh" });
    const { root } = await newWorkspace({ config: `agent: ${block}\n` });
    writeFileSync(join(root, "pwn.sh"), "#!/bin/sh\n", { mode: 0o755 });
    const { call } = await served(root, { ...untrusted, ...withAgentsIn(folderOfAgent()) });
    const shown = await call("/api/agents/configure", { agent: "claude", model: "haiku" });
    expect(shown).toMatchObject({ waiting: true });
    await call("/api/agents/configure", { agent: "claude", model: "haiku", hash: shown.hash });
    expect((await call("/api/trust")).waiting).toHaveLength(1);
    expect(await call("/api/agents/test", {})).toMatchObject({
      works: false,
      error: expect.stringContaining("allowed"),
    });
  });

  test("R17, R4: a collaborator neither sees nor changes it", async () => {
    const { root } = await newWorkspace();
    const { call } = await served(root, withAgentsIn(folderOfAgent()));
    const made = await call("/api/tokens", { kind: "person", name: "Grace", rank: "collaborator" });
    const token = String(made.token);
    expect((await call("/api/agents", undefined, token)).code).toBe(403);
    expect((await call("/api/agents/configure", { agent: "claude" }, token)).code).toBe(403);
    expect((await call("/api/agents/test", {}, token)).code).toBe(403);
  });

  test("R17: scriptorium agent shows the change and writes it for a person", async () => {
    const { root } = await newWorkspace();
    const env = withAgentsIn(folderOfAgent());
    const before = readFileSync(fileOf(root), "utf8");
    const shown = await scriptorium(["agent", "set", "claude", "--show"], { cwd: root, env });
    expect(shown.stdout).toContain("+  runner: claude");
    const refused = await scriptorium(["agent", "set", "claude"], {
      cwd: root,
      env: { ...env, SCRIPTORIUM_TOKEN: "" },
    });
    expect(refused.code).not.toBe(0);
    expect(readFileSync(fileOf(root), "utf8")).toBe(before);
    expect((await scriptorium(["agent", "set", "claude"], { cwd: root, env })).stdout).toContain("is written");
    expect((await scriptorium(["agent", "show"], { cwd: root, env })).stdout).toMatch(/In use\s+claude/);
    const unknown = await scriptorium(["agent", "set", "clade"], { cwd: root, env });
    expect(unknown.stderr).toContain("claude");
  });
});

describe("the test of the agent", needs("bubblewrap"), () => {
  const config = `agent: ${JSON.stringify(authorship)}\n`;

  test("R17: it starts the agent in its sandbox and reports its answer", async () => {
    const { root } = await newWorkspace({ config });
    const { call } = await served(root, withAgentsIn(folderOfAgent()));
    expect(await call("/api/agents/test", {})).toMatchObject({
      works: true,
      said: "ready",
      error: null,
      output_tokens: 1,
    });
  });

  test("R17: a missing login is reported with the command that signs in", async () => {
    const { root } = await newWorkspace({ config });
    const { call } = await served(root, withAgentsIn(folderOfAgent({ broken: true })));
    const tried = await call("/api/agents/test", {});
    expect(tried).toMatchObject({ works: false, error: expect.stringContaining("Not logged in") });
    expect(tried.fix).toContain("claude auth login");
    expect(tried.stderr).toContain("[redacted]");
    expect(JSON.stringify(tried)).not.toContain("sk-of-the-test");
  });

  test("R17: a program that is not installed is reported with the way to install it", async () => {
    const { root } = await newWorkspace();
    const { call } = await served(root, withAgentsIn(folderOfAgent()));
    const shown = await call("/api/agents/configure", { agent: "codex" });
    await call("/api/agents/configure", { agent: "codex", hash: shown.hash });
    const tried = await call("/api/agents/test", {});
    expect(tried).toMatchObject({ works: false, error: expect.stringContaining("codex is not in PATH") });
    expect(tried.fix).toContain("npm install -g @openai/codex");
  });
});
