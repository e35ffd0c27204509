import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, type TestContext, test } from "vitest";
import { type AgentCli, agentCli } from "./support/agent-clis.ts";
import { scriptorium } from "./support/commands.ts";
import { newWorkspace, temporaryFolder, testEnvironment } from "./support/workspace.ts";

const soloSchema = readFileSync(new URL("../templates/solo/schema.yaml", import.meta.url), "utf8");

type Case = {
  cli: AgentCli;
  /** Files of the home folder by which the person has trusted the project. */
  trust(root: string): Record<string, string>;
  args: string[];
  /** The CLI has started our server, or where it only lists, has read our entry. */
  says: RegExp;
};

const list = ["mcp", "list"];
const cases: Case[] = [
  {
    cli: "claude",
    trust: (root) => ({
      ".claude.json": JSON.stringify({
        projects: { [root]: { enabledMcpjsonServers: ["scriptorium"], hasTrustDialogAccepted: true } },
      }),
    }),
    args: list,
    says: /scriptorium: .* Connected/,
  },
  {
    cli: "codex",
    trust: (root) => ({ ".codex/config.toml": `[projects."${root}"]\ntrust_level = "trusted"\n` }),
    args: list,
    says: /scriptorium +node .*mcp +- +- +enabled/,
  },
  {
    cli: "gemini",
    trust: (root) => ({ ".gemini/trustedFolders.json": JSON.stringify({ [root]: "TRUST_FOLDER" }) }),
    args: list,
    says: /scriptorium: .* Connected/,
  },
  { cli: "qwen", trust: () => ({}), args: list, says: /scriptorium: .* Connected/ },
  { cli: "opencode", trust: () => ({}), args: list, says: /✓ scriptorium.*connected/ },
  {
    cli: "copilot",
    trust: (root) => ({ ".copilot/config.json": JSON.stringify({ trusted_folders: [root], trustedFolders: [root] }) }),
    args: ["mcp", "get", "scriptorium"],
    says: /Status: Enabled[\s\S]*Tools: \* \(all\)[\s\S]*Source: Workspace/,
  },
];

test.for(cases)("P3: the real $cli reads the entry that connect wrote for the project", async (one, { skip }) => {
  expect(await connectedWith(one, "project", skip)).toMatch(one.says);
});

test.for(cases)("P3: the real $cli reads the entry that connect wrote for the user", async (one, { skip }) => {
  const says = one.cli === "copilot" ? /Status: Enabled[\s\S]*Source: User/ : one.says;
  expect(await connectedWith(one, "user", skip)).toMatch(says);
});

/** What the CLI says of its servers after `scriptorium connect`, in a workspace and home of their own. */
async function connectedWith({ cli, trust, args }: Case, scope: string, skip: TestContext["skip"]): Promise<string> {
  const bin = await agentCli(cli, skip);
  const { root } = await newWorkspace({ schema: soloSchema });
  const home = temporaryFolder();
  const env = { ...testEnvironment(), HOME: home, XDG_CONFIG_HOME: join(home, ".config"), TERM: "dumb" };
  for (const [file, text] of Object.entries(trust(root))) {
    mkdirSync(dirname(join(home, file)), { recursive: true });
    writeFileSync(join(home, file), text);
  }
  const made = await scriptorium(["connect", cli, "--scope", scope, "--yes"], { cwd: root, env });
  expect(made).toMatchObject({ code: 0, stderr: "" });
  return listed(bin, args, root, env);
}

/** What a CLI prints; some print their list on stderr. */
async function listed(bin: string, args: string[], cwd: string, env: Record<string, string>): Promise<string> {
  const quiet = { OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1", NO_COLOR: "1" };
  const run = promisify(execFile)(bin, args, { cwd, env: { ...env, ...quiet }, timeout: 100_000 });
  run.child.stdin?.end();
  const { stdout, stderr } = await run;
  return (stdout + stderr).replace(/\u001b\[\d*m/g, "");
}
