import { connect, type Socket } from "node:net";
import type { AgentCall } from "../agent-call.ts";
import { type Answer, findSocket, type Greeting, identityOf } from "../kernel/agent-socket.ts";
import { type Result, refuse } from "../kernel/result.ts";
import { version } from "../kernel/version.ts";
import { warn } from "./shell.ts";

/** A server that does not greet in this time is stopped or overloaded; opening the store is faster. */
const greetingMs = 500;
/** An agent's own socket has no alternative. */
const patientMs = 30_000;

/** The server stopped after it had the call: it may have been done. */
export class ServerStopped extends Error {}

type Workspace = { stateFolder: string; configFile: string; databaseUrl: string | undefined };

/** The answer of a running server; undefined if none can answer for this process, and then nothing was asked. */
export async function askServer(workspace: Workspace, call: AgentCall): Promise<Result<unknown> | undefined> {
  const path = findSocket(workspace.stateFolder);
  if (path === undefined) return undefined;
  return askSocket(path, identityOf(workspace.configFile, workspace.databaseUrl), call);
}

/** The answer of the process that started this agent, on the agent's own socket; there is no other way to ask. */
export async function askTools(path: string, call: AgentCall): Promise<Result<unknown>> {
  const answer = await askSocket(path, "", call, patientMs);
  return answer ?? refuse("denied", "this agent has ended, or Scriptorium was updated: its tools no longer work");
}

async function askSocket(
  path: string,
  identity: string,
  call: AgentCall,
  waitMs = greetingMs,
): Promise<Result<unknown> | undefined> {
  const socket = connect(path);
  const lines = linesOf(socket);
  const greeting = await lines.next(waitMs);
  if (!greeting || !fits(greeting, identity)) {
    socket.destroy();
    return undefined;
  }
  socket.write(`${JSON.stringify(call)}\n`);
  const line = await lines.next();
  socket.destroy();
  if (line === undefined)
    throw new ServerStopped(
      `the server stopped during ${call.operation}; check whether it was done before you repeat it`,
    );
  const answer: Answer = JSON.parse(line);
  if ("thrown" in answer) throw Object.assign(new Error(answer.thrown.message), { code: answer.thrown.code });
  if (answer.warning) warn(answer.warning);
  return answer.result;
}

function fits(line: string, identity: string): boolean {
  try {
    const greeting: Greeting | null = JSON.parse(line);
    return greeting?.version === version && greeting.identity === identity;
  } catch {
    return false;
  }
}

/** The lines that a socket receives; undefined at its end, after an error, or after `ms`. */
function linesOf(socket: Socket) {
  let text = "";
  let isOver = false;
  let wake = () => {};
  socket
    .setEncoding("utf8")
    .on("data", (chunk: string) => {
      text += chunk;
      wake();
    })
    .on("error", () => undefined)
    .on("close", () => {
      isOver = true;
      wake();
    });
  return {
    async next(ms?: number): Promise<string | undefined> {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<"late">((done) => {
        if (ms !== undefined) timer = setTimeout(() => done("late"), ms);
      });
      try {
        for (;;) {
          const end = text.indexOf("\n");
          if (end >= 0) {
            const line = text.slice(0, end);
            text = text.slice(end + 1);
            return line;
          }
          if (isOver) return undefined;
          const more = new Promise<void>((done) => {
            wake = done;
          });
          if ((await Promise.race([more, late])) === "late") return undefined;
        }
      } finally {
        clearTimeout(timer);
      }
    },
  };
}
