import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "./workspace.ts";

/**
 * A program that behaves as `claude -p` does: it finds its tools in --mcp-config, does its part of a crew through
 * them, reports its cost, and stops with an error when that would exceed --max-budget-usd. It prints its arguments
 * first, so that they are in its log.
 */
const program = `#!/usr/bin/env node
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
const costs = COSTS;
const argv = process.argv.slice(2);
const option = (name) => argv[argv.indexOf(name) + 1];
const cap = argv.includes("--max-budget-usd") ? Number(option("--max-budget-usd")) : Infinity;
console.log("arguments: " + argv.join(" "));
let prompt = "";
for await (const chunk of process.stdin) prompt += chunk;
const { command, args } = JSON.parse(readFileSync(option("--mcp-config"), "utf8")).mcpServers.scriptorium;
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
const tools = (await ask("tools/list", {})).tools.map((tool) => tool.name);
const use = (name, input) => ask("tools/call", { name, arguments: input });
const part = ["submit_preamble", "submit_verdict", "submit_output"].find((name) => tools.includes(name));
const cost = costs[part] ?? 0.01;
const usage = { input_tokens: 100, output_tokens: 10, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
const end = (result, code) => {
  console.log(JSON.stringify({ type: "result", total_cost_usd: Math.min(cost, cap), usage, ...result }));
  relay.kill();
  process.exit(code);
};
console.log(JSON.stringify({ type: "assistant", message: { id: "m1", content: [], usage } }));
await new Promise((done) => setTimeout(done, PAUSE));
if (cost > cap) end({ subtype: "error_max_budget_usd", is_error: true, errors: ["Reached maximum budget"] }, 1);
const number = /^# (?:Verify task|Task) ([\\d.]+)/m.exec(prompt)?.[1] ?? "";
const wasReminded = prompt.includes("# You have not delivered");
const forgets = FORGETS[part] === "always" || (FORGETS[part] === "once" && !wasReminded);
if (forgets) await use("list_files", {});
if (part === "submit_preamble") await use(part, { content: "You do careful work, look twice, and say what you saw. ".repeat(2) });
if (part === "submit_verdict" && !forgets) {
  const evidence = [{ criterion: 1, met: true, quote: "made " + number, from: "output" }];
  await use(part, { verdict: "PASS", score: 92, feedback: "As asked.", issues: [], required_fixes: [], evidence });
}
if (part === "submit_output" && !forgets) await use(part, { output: "made " + number });
if (part === "submit_verdict") await new Promise((done) => setTimeout(done, LINGER));
end({ subtype: "success", is_error: false }, 0);
`;

type Tool = "submit_preamble" | "submit_verdict" | "submit_output";
type Costs = Partial<Record<Tool, number>>;
/** The parts that end without delivering: in their first session, or in every one. */
type Forgets = Partial<Record<Tool, "once" | "always">>;

/** The path of such a program, whose agents cost what the test says. A verifier waits `lingerMs` between verdict and report. */
export function fakeClaude(costs: Costs = {}, pauseMs = 0, forgets: Forgets = {}, lingerMs = 0): string {
  const file = join(temporaryFolder(), "claude.mjs");
  const text = program
    .replace("COSTS", JSON.stringify(costs))
    .replace("PAUSE", String(pauseMs))
    .replace("LINGER", String(lingerMs))
    .replaceAll("FORGETS", `(${JSON.stringify(forgets)})`);
  writeFileSync(file, text, { mode: 0o755 });
  return file;
}
