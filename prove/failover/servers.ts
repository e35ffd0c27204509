import { spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Context } from "../support/proof.ts";
import {
  type Answer,
  type Caller,
  keepRunning,
  noAnswer,
  type Process,
  refusedOrUnknown,
  withTimeout,
} from "./processes.ts";

const port = 8100;

/** The server listens on loopback of its host; a socket in the file system reaches into every network namespace. */
const relay = `const net = require("net"); net.createServer((from) => {
  const to = net.connect(${port}, "127.0.0.1");
  for (const [a, b] of [[from, to], [to, from]]) { a.pipe(b); a.on("error", () => b.destroy()); a.on("close", () => b.destroy()); }
}).listen(process.argv[1]);`;

/** `scriptorium serve`, kept running, and a client on its host. */
export function serverProcess(
  context: Pick<Context, "start" | "atEnd">,
  { name, root, env, within }: { name: string; root: string; env: Record<string, string>; within: string[] },
): Process & { call: Caller } {
  const socket = join(root, "relay.sock");
  rmSync(socket, { force: true });
  const [file = "", ...args] = [...within, process.execPath, "-e", relay, socket];
  const relaying = spawn(file, args, { stdio: "ignore" });
  context.atEnd(() => relaying.kill("SIGKILL"));
  const kept = keepRunning({
    name,
    start: () => context.start("scriptorium", ["serve", "--port", String(port), "--json"], { cwd: root, env, within }),
  });
  const stopServer = kept.stop;
  const token = () => readFileSync(join(root, ".scriptorium/token"), "utf8").trim();
  return Object.assign(kept, {
    // The folder is gone when the proof's time is over.
    call: (operation: string, input: Record<string, unknown>) =>
      withTimeout(send(socket, token, operation, input).catch((error: Error) => noAnswer(error.message))),
    async stop() {
      await stopServer();
      relaying.kill("SIGKILL");
    },
  });
}

const routes: Record<string, (input: Record<string, unknown>) => [string, string]> = {
  fetch_entry: ({ id }) => ["GET", `/entries/${id}`],
  commit_entry: ({ id }) => ["PUT", `/entries/${id}`],
  append_log: ({ id }) => ["POST", `/entries/${id}/log`],
};

async function send(
  socketPath: string,
  token: () => string,
  operation: string,
  { id, ...input }: Record<string, unknown>,
): Promise<Answer> {
  const [method, path] = routes[operation]?.({ id }) ?? ["", ""];
  const body = method === "GET" ? "" : JSON.stringify(input);
  const headers = {
    host: `127.0.0.1:${port}`,
    authorization: `Bearer ${token()}`,
    ...(body ? { "content-type": "application/json", "content-length": Buffer.byteLength(body) } : {}),
  };
  const answer = await new Promise<Answer>((done) => {
    const asked = request({ socketPath, method, path: `/api${path}`, headers }, (response) => {
      let text = "";
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("error", (error) => done(noAnswer(error.message)));
      response.on("end", () => done(read(response.statusCode ?? 0, text)));
    });
    asked.on("error", (error) => done(noAnswer(error.message)));
    asked.end(body);
  });
  if (answer.outcome !== "ok") await sleep(50);
  return answer;
}

function read(status: number, text: string): Answer {
  try {
    const value = JSON.parse(text);
    return status === 200 ? { outcome: "ok", value } : refusedOrUnknown(value);
  } catch {
    return noAnswer(`${status}: ${text.slice(0, 80)}`);
  }
}
