import { execFile } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheFolder } from "./cache.ts";

/** Versions that run on the Node of this project. Their licences let us use them, not ship them. */
const packages = {
  claude: "@anthropic-ai/claude-code@2.1.197",
  codex: "@openai/codex@0.166.0",
  "claude-agent-acp": "@agentclientprotocol/claude-agent-acp@0.49.0",
  gemini: "@google/gemini-cli@0.61.0",
  qwen: "@qwen-code/qwen-code@0.15.10",
  opencode: "opencode-ai@1.18.33",
  copilot: "@github/copilot@1.0.102",
} as const;

export type AgentCli = keyof typeof packages;

/**
 * The executable of a real agent, from a cache outside the repository. They are about 2 GB together,
 * so only `npm run test:agents` and CI install them; other runs use what is there, or skip.
 */
export async function agentCli(name: AgentCli, skip: (reason: string) => never): Promise<string> {
  const folder = join(process.env.SCRIPTORIUM_AGENT_CLIS ?? cacheFolder("agent-clis"), name);
  const bin = join(folder, "node_modules/.bin", name);
  if (existsSync(join(folder, started))) return bin;
  if (!process.env.SCRIPTORIUM_INSTALL_AGENTS) {
    return skip("the real agent CLIs are not installed; `npm run test:agents` installs and tests them (about 2 GB)");
  }
  try {
    await install(name, folder);
    return bin;
  } catch (error) {
    const why = (error as Error).message.split("\n").slice(0, 3).join(" ");
    return skip(`${packages[name]} cannot be installed: ${why}`);
  }
}

/** Written once the program has started: one without its install script is there and does not run. */
const started = "started";

/** An installation that is interrupted, or is under way in another clone, must not be taken for a whole one. */
async function install(name: AgentCli, folder: string): Promise<void> {
  const draft = `${folder}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  try {
    // Some unpack their program in an install script, which the .npmrc of this repository forbids its children too.
    const scripts = "--ignore-scripts=false";
    const args = [
      "install",
      "--prefix",
      draft,
      scripts,
      "--no-audit",
      "--no-fund",
      "--no-save",
      "--loglevel=error",
      packages[name],
    ];
    await promisify(execFile)("npm", args, { timeout: 500_000, maxBuffer: 16 * 1024 * 1024 });
    // An ACP agent waits for its client instead.
    if (name !== "claude-agent-acp")
      await promisify(execFile)(join(draft, "node_modules/.bin", name), ["--version"], { timeout: 120_000 });
    writeFileSync(join(draft, started), "");
    rmSync(folder, { recursive: true, force: true });
    renameSync(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}
