import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Versions that run on the Node of this project. Their licences let us use them, not ship them. */
const packages = {
  claude: "@anthropic-ai/claude-code@2.1.197",
  codex: "@openai/codex@0.166.0",
  "claude-agent-acp": "@agentclientprotocol/claude-agent-acp@0.49.0",
} as const;

export type AgentCli = keyof typeof packages;

const cache = new URL("../../node_modules/.cache/agents/", import.meta.url).pathname;

/**
 * A real agent's program, installed beside the project's own packages on first use; undefined, with a
 * loud line, where that is impossible. Test files run in parallel: the kernel lets one install at a time.
 */
export async function agentCli(name: AgentCli): Promise<string | undefined> {
  const folder = join(process.env.SCRIPTORIUM_AGENT_CLIS ?? cache, name);
  const bin = join(folder, "node_modules/.bin", name);
  if (existsSync(join(folder, "installed"))) return bin;
  const steps = `test -e "$1/installed" || { npm install --prefix "$1" --no-audit --no-fund --no-save --loglevel=error "$2" && touch "$1/installed"; }`;
  try {
    await run("mkdir", ["-p", folder]);
    const install = ["timeout", "180", "sh", "-c", steps, "install", folder, packages[name]];
    await run("flock", ["-w", "240", `${folder}/lock`, ...install], { maxBuffer: 16 * 1024 * 1024 });
    return bin;
  } catch (error) {
    const why = (error as Error).message.split("\n").slice(0, 3).join(" ");
    process.stderr.write(
      `\n*** SKIPPED: ${packages[name]} cannot be installed here, so no test ran it: ${why} ***\n\n`,
    );
    return undefined;
  }
}
