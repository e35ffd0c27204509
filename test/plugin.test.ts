import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { scriptoriumProcess } from "./support/commands.ts";
import { overStdio } from "./support/mcp.ts";
import { newWorkspace, temporaryFolder } from "./support/workspace.ts";

const root = new URL("../", import.meta.url).pathname;
const json = (path: string) => JSON.parse(readFileSync(join(root, path), "utf8"));

describe("P3: the plugin's files", () => {
  test("name the version of the package, and the package contains them", () => {
    const { version, files } = json("package.json");
    for (const manifest of ["plugin/.claude-plugin/plugin.json", "plugin/jobs/.claude-plugin/plugin.json"])
      expect(json(manifest), manifest).toMatchObject({ name: "scriptorium", version });
    expect(files).toEqual(expect.arrayContaining(["plugin", ".claude-plugin"]));
    for (const { source } of json(".claude-plugin/marketplace.json").plugins)
      expect(existsSync(join(root, source, ".claude-plugin/plugin.json")), source).toBe(true);
  });

  test("every hook calls an event that scriptorium knows, and every tool in a command exists", async () => {
    const { hooks } = json("plugin/hooks/hooks.json");
    const commands = Object.values(hooks as Record<string, { hooks: { command: string }[] }[]>).flatMap((groups) =>
      groups.flatMap((group) => group.hooks.map(({ command }) => command)),
    );
    expect(commands).toHaveLength(4);
    const { root: cwd } = await newWorkspace();
    for (const command of commands) {
      const event = command.split(" ").at(-1) ?? "";
      expect(await scriptoriumProcess(["hook", event], { cwd, input: "{}" }), event).toMatchObject({ code: 0 });
    }
    const { client } = await overStdio(cwd, "engineer");
    const tools = (await client.listTools()).tools.map(({ name }) => name);
    for (const name of ["recall", "remember", "handoff"]) {
      const text = readFileSync(join(root, `plugin/commands/${name}.md`), "utf8");
      const named = [...text.matchAll(/mcp__(?:plugin_scriptorium_)?scriptorium__(\w+)/g)].map(([, tool]) => tool);
      expect(named.length).toBeGreaterThan(3);
      expect(tools, name).toEqual(expect.arrayContaining(named));
    }
  });
});

describe("P3: the script that runs a hook", () => {
  const script = join(root, "plugin/hooks/run.sh");

  /** Runs it with a program in place of scriptorium, or with none. */
  function run(cwd: string, program: string | undefined) {
    const bin = temporaryFolder();
    if (program !== undefined) {
      writeFileSync(join(bin, "scriptorium"), `#!/bin/sh\n${program}\n`);
      chmodSync(join(bin, "scriptorium"), 0o755);
    }
    const env = { PATH: `${bin}:/usr/bin:/bin` };
    const { status, stdout, stderr } = spawnSync("sh", [script, "session-start"], { cwd, env, encoding: "utf8" });
    return { status, stdout, stderr };
  }

  function workspace(): string {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "src/deep"), { recursive: true });
    writeFileSync(join(folder, "scriptorium.yaml"), "name: x\n");
    return folder;
  }

  test("starts scriptorium in a workspace and below it, and nowhere else", () => {
    const program = 'echo "$@"';
    for (const cwd of [workspace(), join(workspace(), "src/deep")])
      expect(run(cwd, program)).toEqual({ status: 0, stdout: "hook session-start\n", stderr: "" });
    expect(run(temporaryFolder(), program)).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  test("never blocks a session: a failure of an older scriptorium is exit code 0", () => {
    const program = "echo \"error: unknown command 'hook'\" >&2; exit 2";
    expect(run(workspace(), program)).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  test("says what to install where scriptorium is missing, and runs none that the repository brings", () => {
    const cwd = workspace();
    mkdirSync(join(cwd, "node_modules/.bin"), { recursive: true });
    writeFileSync(join(cwd, "node_modules/.bin/scriptorium"), "#!/bin/sh\necho planted\n", { mode: 0o755 });
    const { status, stdout } = run(cwd, undefined);
    expect(status).toBe(0);
    expect(JSON.parse(stdout).systemMessage).toContain("npm install -g scriptorium");
    expect(run(temporaryFolder(), undefined).stdout).toBe("");
  });
});

describe("P3: scriptorium mcp --optional", () => {
  const connect = async (folder: string, args: string[] = []) => {
    const { client, call } = await overStdio(folder, undefined, { args: ["--optional", ...args] });
    const tools = client.getServerCapabilities()?.tools ? (await client.listTools()).tools : [];
    return { call, tools: tools.map(({ name }) => name), instructions: client.getInstructions() ?? "" };
  };

  test("connects without tools where there is no workspace, and explains; without --optional it fails", async () => {
    const folder = temporaryFolder();
    const { tools, instructions } = await connect(folder);
    expect(tools).toEqual([]);
    expect(instructions).toMatch(/no Scriptorium workspace.*scriptorium init/);
    expect(await scriptoriumProcess(["mcp"], { cwd: folder })).toMatchObject({ code: 1, stdout: "" });
  });

  test("takes session.role of scriptorium.yaml; without it, several roles are explained", async () => {
    const without = await newWorkspace();
    const { tools, instructions } = await connect(without.root);
    expect(tools).toEqual([]);
    expect(instructions).toContain("wiki/schema.yaml has planner, architect, engineer");
    expect(instructions).toContain("session.role");
    const given = await newWorkspace({ config: "session: { role: engineer }\n" });
    const { call } = await connect(given.root);
    expect(await call("append_log", { id: "decisions", line: "x" })).toMatchObject({
      line: expect.stringMatching(/ engineer.*: x/),
    });
  });

  test("an invalid configuration is explained, not a broken connection", async () => {
    const { root } = await newWorkspace();
    writeFileSync(join(root, "scriptorium.yaml"), "wiky: x\n");
    const { tools, instructions } = await connect(root);
    expect(tools).toEqual([]);
    expect(instructions).toContain("wiky");
  });

  test.each<[string, object]>([
    ["by name", { scriptorium: { type: "http", url: "http://127.0.0.1:4750/mcp" } }],
    ["by its command", { memory: { command: "npx", args: ["-y", "scriptorium", "mcp", "--role", "engineer"] } }],
  ])("leaves the tools to the server that .mcp.json configures %s", async (_name, mcpServers) => {
    const { root } = await newWorkspace({ config: "session: { role: engineer }\n" });
    writeFileSync(join(root, ".mcp.json"), JSON.stringify({ mcpServers }));
    const { tools, instructions } = await connect(root);
    expect(tools).toEqual([]);
    expect(instructions).toContain(".mcp.json");
    for (const text of ["{", "null", '{"mcpServers":{"x":null,"y":3}}']) {
      writeFileSync(join(root, ".mcp.json"), text);
      expect((await connect(root)).tools, text).toContain("append_log");
    }
    writeFileSync(
      join(root, ".mcp.json"),
      JSON.stringify({ mcpServers: { other: { command: "other", args: ["mcp"] } } }),
    );
    expect((await connect(root)).tools).toContain("append_log");
  });
});

test("P3: a skill's name is its folder's, and its description is short enough to be listed in every session", () => {
  for (const folder of ["plugin/skills", "plugin/jobs/skills"])
    for (const name of readdirSync(join(root, folder))) {
      const text = readFileSync(join(root, folder, name, "SKILL.md"), "utf8");
      expect(/^name: (.+)$/m.exec(text)?.[1], name).toBe(name);
      const description = /^description: (.+)$/m.exec(text)?.[1] ?? "";
      expect(description.length, name).toBeGreaterThan(100);
      expect(description.length, name).toBeLessThan(600);
    }
});
