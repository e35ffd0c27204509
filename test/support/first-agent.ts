import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "./workspace.ts";

/**
 * Claude Code for a newcomer, on PATH: it answers the test of its set-up, proposes a sentence for a topic, and plans a
 * run of one task. `broken` makes it fail as without a login.
 */
const program = `#!/usr/bin/env node
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
const argv = process.argv.slice(2);
if (argv.includes("--version")) {
  console.log("2.1.325 (Claude Code)");
  process.exit(0);
}
let prompt = "";
for await (const chunk of process.stdin) prompt += chunk;
const usage = { input_tokens: 12, output_tokens: 1 };
const say = (text) => console.log(JSON.stringify({ type: "assistant", message: { id: "m" + Math.random(), content: [{ type: "text", text }], usage } }));
const end = (result, code = 0) => {
  console.log(JSON.stringify({ type: "result", subtype: "success", is_error: false, total_cost_usd: 0.0004, usage, ...result }));
  process.exit(code);
};
if (BROKEN) {
  console.error("Invalid API key sk-of-the-test");
  end({ is_error: true, result: "Not logged in", usage: { input_tokens: 0, output_tokens: 0 } }, 1);
}
if (prompt.includes("single word ready")) {
  say("ready");
  end({ result: "ready" });
}
const { command, args } = JSON.parse(readFileSync(argv[argv.indexOf("--mcp-config") + 1], "utf8")).mcpServers.scriptorium;
const relay = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const waiting = new Map();
createInterface({ input: relay.stdout }).on("line", (line) => {
  const { id, result, error } = JSON.parse(line);
  waiting.get(id)?.(result ?? { error });
});
let last = 0;
const ask = (method, params) => new Promise((done) => {
  waiting.set(++last, done);
  relay.stdin.write(JSON.stringify({ jsonrpc: "2.0", id: last, method, params }) + "\\n");
});
await ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "a", version: "1" } });
relay.stdin.write(JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }) + "\\n");
const use = (name, input) => ask("tools/call", { name, arguments: input });
const tools = (await ask("tools/list", {})).tools.map((tool) => tool.name);
const of = (name) => new RegExp("^" + name + ": (.*)$", "m").exec(prompt)?.[1] ?? "";
if (tools.includes("insert_proposal")) {
  const content = readFileSync(of("Source path"), "utf8") + "\\nThe depot answers within a day.\\n";
  await use("insert_proposal", { topic_id: of("Topic ID"), base_sha: of("Base source SHA"), content });
}
if (tools.includes("submit_plan")) {
  const task = { requirements: "Write it.", files: [], notes: "", max_retries: 0, worker_role: "an engineer", qc_role: "a reviewer",
    verification: [{ criterion: "it is written" }], execution: ["write the text"], deliverable: "text" };
  const tasks = [{ ...task, number: "0", title: "Look at the pages", depends_on: [] }, { ...task, number: "1.1", title: "Write the welcome", depends_on: ["0"] }];
  await use("submit_plan", { title: "Welcome new colleagues", summary: "", assumptions: [], tasks });
}
relay.kill();
end({});
`;

/** A folder for PATH with such a `claude`. */
export function folderOfAgent({ broken = false } = {}): string {
  const folder = join(temporaryFolder(), "bin");
  mkdirSync(folder);
  writeFileSync(join(folder, "claude"), program.replace("BROKEN", String(broken)), { mode: 0o755 });
  return folder;
}

/** The environment of a server whose only agent program is in this folder. */
export const withAgentsIn = (folder: string, more: Record<string, string> = {}): Record<string, string> => ({
  PATH: `${folder}:${process.env.PATH ?? ""}`,
  ANTHROPIC_API_KEY: "sk-of-the-test",
  ...more,
});
