/** Agents that do their work at once and then take their time to exit, as real ones do while they clean up. */

/** Speaks to the tools that it was given and proposes the page as the topic wants it. */
const proposing = (text: string) => `
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
async function propose({ command, args }, prompt) {
  const tools = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const waiting = new Map();
  createInterface({ input: tools.stdout }).on("line", (line) => {
    const { id, result, error } = JSON.parse(line);
    waiting.get(id)?.(result ?? { error });
  });
  let last = 0;
  const send = (message) => tools.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
  const ask = (method, params) => new Promise((done) => { waiting.set(++last, done); send({ id: last, method, params }); });
  await ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "a", version: "1" } });
  send({ method: "notifications/initialized" });
  const of = (label) => new RegExp(label + ": (.+)").exec(prompt)?.[1];
  const input = { topic_id: of("Topic ID"), base_sha: of("Base source SHA"), content: ${JSON.stringify(text)} };
  await ask("tools/call", { name: "insert_proposal", arguments: input });
  tools.kill();
}
const linger = () => setTimeout(() => process.exit(0), EXIT_MS);
if (IGNORES) for (const signal of IGNORES) process.on(signal, () => undefined);
`;

const acp = `
const answer = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
let server;
createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize") answer(id, { protocolVersion: params.protocolVersion, agentCapabilities: {} });
  if (method === "session/new") { server = params.mcpServers[0]; answer(id, { sessionId: "s" }); }
  if (method === "session/prompt") { await propose(server, params.prompt[0].text); answer(id, { stopReason: "end_turn" }); }
}).on("close", linger);
`;

const claude = `
import { readFileSync } from "node:fs";
const argv = process.argv.slice(2);
let prompt = "";
for await (const chunk of process.stdin) prompt += chunk;
const config = JSON.parse(readFileSync(argv[argv.indexOf("--mcp-config") + 1], "utf8"));
await propose(config.mcpServers.scriptorium, prompt);
console.log(JSON.stringify({ type: "result", subtype: "success", is_error: false, usage: { input_tokens: 1, output_tokens: 1 } }));
linger();
`;

const codex = `
const argv = process.argv.slice(2);
let prompt = "";
for await (const chunk of process.stdin) prompt += chunk;
const setting = (name) => JSON.parse(argv.find((arg) => arg.startsWith("mcp_servers.scriptorium." + name + "=")).split("=").slice(1).join("="));
await propose({ command: setting("command"), args: setting("args") }, prompt);
console.log(JSON.stringify({ type: "turn.completed", usage: { input_tokens: 1, output_tokens: 1 } }));
linger();
`;

const command = `
import { readFileSync } from "node:fs";
let prompt = "";
for await (const chunk of process.stdin) prompt += chunk;
const config = JSON.parse(readFileSync(process.argv[2], "utf8"));
await propose(config.mcpServers.scriptorium, prompt);
linger();
`;

const kinds = { acp, claude, codex, command };
export type SlowKind = keyof typeof kinds;

/** The program of such an agent; `ignores` are the signals that it does not react to. */
export const slowAgent = (kind: SlowKind, text: string, exitMs: number, ignores: string[] = []) =>
  `#!/usr/bin/env node\n${proposing(text)}${kinds[kind]}`
    .replace("EXIT_MS", String(exitMs))
    .replaceAll("IGNORES", JSON.stringify(ignores));

/** The agent block that runs it. */
export const slowBlock: Record<SlowKind, (bin: string) => Record<string, unknown>> = {
  acp: (bin) => ({ runner: "acp", command: [bin] }),
  claude: (bin) => ({ claude_bin: bin }),
  codex: (bin) => ({ runner: "codex", codex_bin: bin }),
  command: (bin) => ({ runner: "command", command: [bin, "{mcp_config}"] }),
};
