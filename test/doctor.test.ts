import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Diagnosis } from "../src/doctor/finding.ts";
import { scriptorium } from "./support/commands.ts";
import { needs } from "./support/programs.ts";
import { newWorkspace, temporaryFolder, testEnvironment } from "./support/workspace.ts";

type Env = Record<string, string>;

async function examined(cwd: string, env: Env = {}) {
  const ran = await scriptorium(["doctor", "--json"], { cwd, env });
  const { findings, healthy } = ran.json<Diagnosis>();
  const of = (purpose: string, check: string) => findings.find((one) => one.for === purpose && one.check === check);
  return { code: ran.code, findings, healthy, of };
}

/** A folder of programs, to be the whole PATH beside the system's. */
function programs(all: Record<string, string>): string {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(all)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  return `${folder}:/usr/bin:/bin`;
}

const home = () => ({ HOME: temporaryFolder() });
const agent = (more: object = {}) =>
  `agent: ${JSON.stringify({ author_name: "A", author_email: "a@example.org", ...more })}\n`;

async function listening(server: ReturnType<typeof createTcpServer>): Promise<number> {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => void server.close());
  return (server.address() as { port: number }).port;
}

describe("P19: doctor", () => {
  test("lists by purpose what is there and what is optional, and a workspace without extras is healthy", async () => {
    const { root } = await newWorkspace();
    const { code, of, findings } = await examined(root, { ...home(), PATH: "/usr/bin:/bin" });
    expect(code).toBe(0);
    for (const check of ["node", "git", "disk", "schema", "repository", "history", "database", "clock"])
      expect(of("wiki", check), check).toMatchObject({ state: "ok" });
    expect(of("wiki", "database")?.message).toMatch(/SQLite \d/);
    expect(of("jobs", "agent")).toMatchObject({ state: "optional", fix: expect.stringContaining("author_name") });
    expect(of("crew", "agent")).toMatchObject({
      state: "optional",
      message: "claude is not in PATH",
      fix: "npm install -g @anthropic-ai/claude-code",
    });
    expect(of("search", "embeddings")).toMatchObject({ state: "optional", fix: "scriptorium model install" });
    expect(new Set(findings.map((one) => one.for)).size).toBe(5);
    const text = await scriptorium(["doctor"], { cwd: root, env: home() });
    expect(text.stdout).toMatch(/^Wiki\n {2}ok[\s\S]*\n\nCrew\n/);
  });

  test("names a configured agent that is not installed, and one without a login, with the next command", async () => {
    const { root } = await newWorkspace({ config: agent() });
    const without = await examined(root, { ...home(), PATH: "/usr/bin:/bin" });
    expect(without.of("jobs", "agent")).toMatchObject({
      state: "missing",
      fix: expect.stringContaining("npm install"),
    });
    expect(without.code).toBe(0);

    const PATH = programs({ claude: "echo 2.1.197" });
    const signedOut = await examined(root, { ...home(), PATH });
    expect(signedOut.of("jobs", "agent")).toMatchObject({ state: "ok", message: "claude 2.1.197 (runner claude)" });
    expect(signedOut.of("jobs", "login")).toMatchObject({
      state: "missing",
      fix: expect.stringMatching(/claude auth login.*ANTHROPIC_API_KEY/),
    });

    const byKey = await examined(root, { ...home(), PATH, ANTHROPIC_API_KEY: "sk-canary-77" });
    expect(byKey.of("jobs", "login")).toMatchObject({ state: "ok", message: "ANTHROPIC_API_KEY is set" });
    expect(JSON.stringify(byKey.findings)).not.toContain("canary");

    const { HOME } = home();
    mkdirSync(join(HOME, ".claude"));
    writeFileSync(join(HOME, ".claude/.credentials.json"), '{"secret":"canary"}');
    const byFile = await examined(root, { HOME, PATH });
    expect(byFile.of("jobs", "login")).toMatchObject({ state: "ok", message: expect.stringContaining("signed in") });
    expect(JSON.stringify(byFile.findings)).not.toContain("canary");
  });

  test("does not run a program that a path in the repository's configuration names", async () => {
    const { root, file } = await newWorkspace();
    const left = join(root, "ran");
    mkdirSync(dirname(file("tools/agent")), { recursive: true });
    writeFileSync(file("tools/agent"), `#!/bin/sh\ntouch ${left}\n`, { mode: 0o755 });
    writeFileSync(file("scriptorium.yaml"), `name: Test\n${agent({ claude_bin: "./tools/agent" })}`);
    const { of } = await examined(root, home());
    expect(of("jobs", "agent")).toMatchObject({ state: "ok", message: "./tools/agent (runner claude)" });
    expect(spawnSync("test", ["-e", left]).status).toBe(1);
  });

  test("says that an ACP agent does not get a key that the environment has", async () => {
    const PATH = programs({ gemini: "echo 0.61.0" });
    const gemini = { runner: "acp", command: ["gemini", "--acp"] };
    const env = { ...home(), PATH, GEMINI_API_KEY: "x" };
    const { root } = await newWorkspace({ config: agent(gemini) });
    expect((await examined(root, env)).of("jobs", "login")).toMatchObject({
      state: "warning",
      fix: expect.stringContaining("env: [GEMINI_API_KEY]"),
    });
    const passing = await newWorkspace({ config: agent({ ...gemini, env: ["GEMINI_API_KEY"] }) });
    expect((await examined(passing.root, env)).of("jobs", "login")).toMatchObject({ state: "ok" });
  });

  test("names the variable of a missing key, and says whether the model's server answers", async () => {
    const server = createServer((_request, response) => response.writeHead(401).end("{}"));
    const port = await listening(server);
    const crew = (url: string) =>
      `crew: ${JSON.stringify({
        agents: { all: { runner: "model", model: "house/one" } },
        providers: { house: { kind: "anthropic", base_url: url, key_env: "HOUSE_KEY" } },
      })}\n`;
    const { root } = await newWorkspace({ config: crew(`http://127.0.0.1:${port}/v1`) });
    expect((await examined(root, home())).of("crew", "model")).toMatchObject({
      state: "missing",
      message: expect.stringContaining("HOUSE_KEY is not set"),
    });
    const env = { ...home(), HOUSE_KEY: "k" };
    expect((await examined(root, env)).of("crew", "model")).toMatchObject({ state: "ok" });
    const silent = createTcpServer();
    const gone = await newWorkspace({ config: crew(`http://127.0.0.1:${await listening(silent)}/v1`) });
    expect((await examined(gone.root, env)).of("crew", "model")).toMatchObject({
      state: "missing",
      message: expect.stringContaining("does not answer"),
    });
  });

  test("tells a port that another program holds from one that a Scriptorium server listens on", async () => {
    const other = createServer((_request, response) => response.end("hello"));
    const taken = await newWorkspace({ config: `port: ${await listening(other)}\n` });
    expect((await examined(taken.root, home())).of("serve", "port")).toMatchObject({
      state: "warning",
      fix: "scriptorium serve --port 0",
    });
    const ours = createServer((_request, response) => response.end('{"status":"ok"}'));
    const served = await newWorkspace({ config: `port: ${await listening(ours)}\n` });
    expect((await examined(served.root, home())).of("serve", "port")).toMatchObject({ state: "ok" });
  });

  test("says that there is no sandbox where bubblewrap is missing, and that a crew without one is unconfined", async () => {
    const path = programs({});
    const only = path.split(":")[0] ?? "";
    for (const name of ["git", "env"]) spawnSync("ln", ["-s", `/usr/bin/${name}`, join(only, name)]);
    const { root } = await newWorkspace({ config: agent() });
    expect((await examined(root, { ...home(), PATH: only })).of("crew", "sandbox")).toMatchObject({
      state: "missing",
      fix: expect.stringContaining("apt install bubblewrap"),
    });
    const none = await newWorkspace({ config: "crew: {sandbox: none}\n" });
    expect((await examined(none.root, home())).of("crew", "sandbox")).toMatchObject({ state: "warning" });
    const jobs = await newWorkspace({ config: agent({ sandbox: "none" }) });
    expect((await examined(jobs.root, { ...home(), PATH: only })).of("jobs", "sandbox")).toMatchObject({
      state: "warning",
      message: expect.stringContaining("agent.sandbox is none"),
    });
  });

  test("checks the machine also without a workspace and with a broken one, and exits with 1", async () => {
    const folder = temporaryFolder();
    const nowhere = await examined(folder, home());
    expect(nowhere).toMatchObject({ code: 1, healthy: false });
    expect(nowhere.of("wiki", "workspace")).toMatchObject({ state: "problem", fix: "scriptorium init" });
    expect(nowhere.of("wiki", "git")).toMatchObject({ state: "ok" });

    const { root, file } = await newWorkspace();
    writeFileSync(file("scriptorium.yaml"), "nmae: Test\n");
    const broken = await examined(root, home());
    expect(broken.code).toBe(1);
    expect(broken.of("wiki", "workspace")).toMatchObject({ state: "problem" });
    expect(broken.of("crew", "sandbox")).toBeDefined();
  });

  test("reports a rebase in progress and a detached HEAD, because commits wait for them", async () => {
    const { root, git } = await newWorkspace();
    git("checkout", "-q", "--detach");
    expect((await examined(root, home())).of("wiki", "repository")).toMatchObject({
      state: "warning",
      message: expect.stringContaining("HEAD is detached"),
    });
    git("checkout", "-q", "main");
    mkdirSync(join(root, ".git/rebase-merge"));
    expect((await examined(root, home())).of("wiki", "repository")).toMatchObject({
      state: "warning",
      message: expect.stringContaining("a rebase is in progress"),
    });
  });
});

describe("P17: on a read-only file system", needs("bubblewrap"), () => {
  const dist = new URL("../dist/scriptorium.js", import.meta.url).pathname;
  const inReadOnly = (cwd: string, ...args: string[]) =>
    spawnSync("bwrap", ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", process.execPath, dist, ...args], {
      cwd,
      encoding: "utf8",
      env: testEnvironment(),
    });

  test.each([
    [["entry", "list"]],
    [["entry", "append", "decisions", "a line"]],
    [["serve", "--port", "0"]],
    [["init", "sub", "--nested"]],
  ])("%j says what cannot be written, and nothing unexpected", async (args) => {
    const { root } = await newWorkspace();
    const { status, stderr } = inReadOnly(root, ...args);
    expect(status).toBe(1);
    expect(stderr).toMatch(/read-only/);
    expect(stderr).not.toMatch(/unexpected|SCRIPTORIUM_DEBUG/);
  });

  test("doctor says so too, and still checks the machine", async () => {
    const { root } = await newWorkspace();
    const { status, stdout } = inReadOnly(root, "doctor", "--json");
    expect(status).toBe(1);
    const { findings } = JSON.parse(stdout) as Diagnosis;
    expect(findings).toContainEqual(
      expect.objectContaining({ check: "workspace", message: expect.stringContaining("read-only") }),
    );
    expect(findings).toContainEqual(expect.objectContaining({ check: "git", state: "ok" }));
  });
});
