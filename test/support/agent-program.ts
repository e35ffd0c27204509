import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "./workspace.ts";

/** An agent as any other program: it speaks to its tools over the relay that its configuration names. */
const beginning = `
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { createInterface } from "node:readline";
const [config, ...rest] = process.argv.slice(2);
const { command, args } = JSON.parse(readFileSync(config, "utf8")).mcpServers.scriptorium;
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
const use = async (name, input) => (await ask("tools/call", { name, arguments: input })).structuredContent ?? {};
const attempt = (work) => { try { return String(work()); } catch (error) { return error.code ?? error.message; } };
/** Sends a text to an address; resolves with all that comes back, or the error. */
const send = (to, text, ms = 10000) => new Promise((done) => {
  let got = "";
  const socket = connect(to, () => socket.write(text)).setTimeout(ms, () => socket.destroy());
  socket.on("data", (chunk) => (got += chunk)).on("error", (error) => done(error.code)).on("close", () => done(got));
});
const viaRelay = (text, ms) => send({ host: "127.0.0.1", port: 3128 }, text, ms);
const tunnel = (target, text = "") => viaRelay("CONNECT " + target + " HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n" + text);
`;

/** A folder with the program `agent.mjs`, whose text continues after the functions above. */
export function agentProgram(text: string): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "agent.mjs"), `${beginning}\n${text}\nrelay.stdin.end();\nprocess.exit(0);\n`);
  return folder;
}
