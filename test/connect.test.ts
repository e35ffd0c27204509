import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "smol-toml";
import { expect, test } from "vitest";
import { scriptorium } from "./support/commands.ts";
import { newWorkspace, read, temporaryFolder } from "./support/workspace.ts";

const soloSchema = readFileSync(new URL("../templates/solo/schema.yaml", import.meta.url), "utf8");
const script = new URL("../dist/scriptorium.js", import.meta.url).pathname;

type Answer = {
  clients: { client: string; file: string; status: string; args: string[] }[];
  proof: { ok: boolean; ms: number; tools: number; entries: number; error?: string };
};

/** A solo workspace and a home folder of its own. */
async function solo() {
  const { root } = await newWorkspace({ schema: soloSchema });
  const home = temporaryFolder();
  const connect = (...args: string[]) =>
    scriptorium(["connect", ...args], {
      cwd: root,
      env: { HOME: home, XDG_CONFIG_HOME: join(home, ".config"), PATH: "/usr/bin:/bin" },
    });
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  return { root, home, connect, put };
}

const server = { command: "node", args: [script, "mcp"] };
const inFolder = { command: "node", args: [script, "mcp", "--dir", "${workspaceFolder}"] };
const entries: [string, string, unknown][] = [
  ["claude", ".mcp.json", { mcpServers: { scriptorium: { type: "stdio", ...server } } }],
  ["codex", ".codex/config.toml", { mcp_servers: { scriptorium: server } }],
  ["cursor", ".cursor/mcp.json", { mcpServers: { scriptorium: inFolder } }],
  ["vscode", ".vscode/mcp.json", { servers: { scriptorium: { type: "stdio", ...inFolder } } }],
  ["gemini", ".gemini/settings.json", { mcpServers: { scriptorium: server } }],
  [
    "opencode",
    "opencode.json",
    { mcp: { scriptorium: { type: "local", command: ["node", script, "mcp"], enabled: true } } },
  ],
  ["qwen", ".qwen/settings.json", { mcpServers: { scriptorium: server } }],
  ["copilot", ".mcp.json", { mcpServers: { scriptorium: { type: "stdio", ...server } } }],
];

test.each(entries)(
  "P3: connect %s writes %s, proves it with a round trip, and a second run changes nothing",
  async (client, file, expected) => {
    const { root, connect } = await solo();
    const made = await connect(client, "--yes", "--json");
    expect(made).toMatchObject({ code: 0, stderr: "" });
    expect(made.json()).toMatchObject({
      clients: [{ client, file, status: "connected" }],
      proof: { ok: true, ms: expect.any(Number), entries: 6 },
    });
    const text = read(join(root, file));
    expect(file.endsWith(".toml") ? parse(text) : JSON.parse(text)).toMatchObject(expected as object);
    const again = await connect(client, "--json");
    expect(again.json()).toMatchObject({ clients: [{ client, status: "already connected" }], proof: { ok: true } });
    expect(read(join(root, file))).toBe(text);
  },
);

test("P3: connect without a client lists the clients and which are connected", async () => {
  const { connect } = await solo();
  await connect("gemini", "--yes");
  const listed = (await connect("--json")).json<{ client: string; connected: string[] }[]>();
  expect(listed.map(({ client }) => client)).toEqual(entries.map(([client]) => client));
  expect(listed.filter(({ connected }) => connected.length > 0)).toMatchObject([
    { client: "gemini", connected: ["project"] },
  ]);
});

test("P3: the user scope goes to the home folder and keeps what is there", async () => {
  const { root, home, connect } = await solo();
  mkdirSync(join(home, ".codex"));
  const mine = '# mine\nmodel = "o5"\n\n[projects."/x"]\ntrust_level = "trusted"\n';
  writeFileSync(join(home, ".codex/config.toml"), mine);
  const made = await connect("codex", "copilot", "claude", "--scope", "user", "--yes");
  expect(made.stdout).toContain("connected  Codex (user): ~/.codex/config.toml");
  expect(read(join(home, ".codex/config.toml")).startsWith(`${mine}\n[mcp_servers.scriptorium]\n`)).toBe(true);
  expect(JSON.parse(read(join(home, ".copilot/mcp-config.json")))).toEqual({
    mcpServers: { scriptorium: { type: "local", ...server, tools: ["*"] } },
  });
  expect(JSON.parse(read(join(home, ".claude.json")))).toMatchObject({ mcpServers: { scriptorium: server } });
  expect(existsSync(join(root, ".mcp.json"))).toBe(false);
  const vscode = await connect("vscode", "--scope", "user", "--yes");
  expect(vscode).toMatchObject({ code: 1, stderr: expect.stringContaining("VS Code entry per project only") });
});

test("P3: comments and formatting of the person's file stay, and the diff is shown", async () => {
  const { root, connect, put } = await solo();
  const mine = '{\n\t// mine\n\t"servers": {\n\t\t"a": { "command": "x" }, // keep\n\t},\n}\n';
  put(".vscode/mcp.json", mine);
  const made = await connect("vscode", "--yes");
  expect(made.stdout).toMatch(/^\+\t\t"scriptorium": \{$/m);
  const text = read(join(root, ".vscode/mcp.json"));
  for (const line of ["\t// mine", '"a": { "command": "x" },', "// keep"]) expect(text).toContain(line);
  expect(text.replaceAll("\t", "")).not.toContain("    ");
});

test.each([
  ["claude", ".mcp.json", '{\n  "mcpServers": {\n', ".mcp.json:3:1: close brace expected"],
  ["codex", ".codex/config.toml", "a = 1\na = \n", ".codex/config.toml:2:"],
  ["copilot", ".mcp.json", "// mine\n{}\n", ".mcp.json:1:1: this client does not read JSON with comments"],
  ["gemini", ".gemini/settings.json", "\xff\xfe".repeat(3), ".gemini/settings.json"],
])(
  "P3: an invalid file of %s (%s) is refused with its line, and no client is changed",
  async (client, file, text, message) => {
    const { root, connect, put } = await solo();
    put(file, "");
    writeFileSync(join(root, file), Buffer.from(text, "latin1"));
    const before = readFileSync(join(root, file));
    const made = await connect("opencode", client, "--yes");
    expect(made).toMatchObject({ code: 1, stderr: expect.stringContaining(`scriptorium: ${message}`) });
    expect(made.stderr).not.toContain("    at ");
    expect(readFileSync(join(root, file))).toEqual(before);
    expect(existsSync(join(root, "opencode.json"))).toBe(false);
  },
);

test("P3: nothing is written with --print, nor without --yes where nobody can answer", async () => {
  const { root, connect } = await solo();
  const before = readdirSync(root);
  const printed = await connect("claude", "codex", "--print");
  expect(printed).toMatchObject({ code: 0, stdout: expect.stringContaining(`args = ["${script}","mcp"]`) });
  const refused = await connect("claude");
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("pass --yes") });
  expect(refused.stdout).toContain("+++ .mcp.json");
  expect(readdirSync(root)).toEqual(before);
});

test("P3: an entry of the same name that starts something else is refused", async () => {
  const { root, connect, put } = await solo();
  put(".mcp.json", '{"mcpServers":{"scriptorium":{"command":"docker","args":["run","x"]}}}');
  const made = await connect("claude", "--yes");
  expect(made).toMatchObject({ code: 1, stderr: expect.stringContaining("starts something else (docker run x)") });
  expect(read(join(root, ".mcp.json"))).toContain("docker");
});

test("P3: a link inside the workspace is followed and stays a link; one that leads out is refused", async () => {
  const { root, connect, put } = await solo();
  put("settings/mcp.json", "{}\n");
  symlinkSync("settings/mcp.json", join(root, ".mcp.json"));
  expect((await connect("claude", "--yes")).code).toBe(0);
  expect(lstatSync(join(root, ".mcp.json")).isSymbolicLink()).toBe(true);
  expect(read(join(root, "settings/mcp.json"))).toContain("scriptorium");

  const outside = join(temporaryFolder(), "mcp.json");
  writeFileSync(outside, "{}\n");
  mkdirSync(join(root, ".cursor"));
  symlinkSync(outside, join(root, ".cursor/mcp.json"));
  const refused = await connect("cursor", "--yes");
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("leads out of the workspace") });
  expect(read(outside)).toBe("{}\n");
});

test("P3: a file that cannot be written is named, and what was written before it is undone", async () => {
  const { root, connect } = await solo();
  writeFileSync(join(root, ".cursor"), "in the way\n");
  const refused = await connect("claude", "cursor", "--yes");
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(".cursor/mcp.json") });
  expect(existsSync(join(root, ".mcp.json"))).toBe(false);
});

test("P4: with several roles connect needs --role and names the nearest match", async () => {
  const { root } = await newWorkspace();
  const connect = (...args: string[]) => scriptorium(["connect", "claude", "--yes", "--json", ...args], { cwd: root });
  expect(await connect()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("wiki/schema.yaml has planner, architect, engineer"),
  });
  expect(await connect("--role", "enginer")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("did you mean engineer?"),
  });
  const made = (await connect("--role", "engineer")).json<Answer>();
  expect(made.clients[0]?.args.slice(1)).toEqual(["mcp", "--role", "engineer"]);
  expect(made.proof.ok).toBe(true);
  expect((await connect("--role", "planner")).json<Answer>().clients[0]).toMatchObject({ status: "connected" });
  expect(JSON.parse(read(join(root, ".mcp.json"))).mcpServers.scriptorium.args).toContain("planner");
});

test("P7: a misspelt client is answered with the nearest one", async () => {
  const { connect } = await solo();
  expect((await connect("claud")).stderr).toBe("scriptorium: client claud is not supported; did you mean claude?\n");
});

test("P3: a server that does not start is reported with its own message, and the exit code is 1", async () => {
  const { root, connect } = await solo();
  writeFileSync(join(root, "scriptorium.yaml"), "database: postgres://127.0.0.1:1/none\n");
  const made = await connect("claude", "--yes", "--json");
  expect(made.code).toBe(1);
  expect(made.json<Answer>().proof).toMatchObject({
    ok: false,
    error: expect.stringMatching(/did not answer: .*127\.0\.0\.1:1\/none cannot be reached/),
  });
});
