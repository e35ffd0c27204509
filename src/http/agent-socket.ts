import { chmodSync, lstatSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type AgentCall, callAsAgent } from "../agent-call.ts";
import type { App } from "../app.ts";
import { configName } from "../config/environment.ts";
import {
  type Answer,
  findSocket,
  type Greeting,
  identityOf,
  isTooLong,
  recordIn,
  socketFolder,
  socketIn,
} from "../kernel/agent-socket.ts";
import { version } from "../kernel/version.ts";

/** Maximum size of a call: the largest entry, escaped. */
const largestCall = 16 * 1024 * 1024;

/**
 * Performs operations for `scribe`, which then need not open the store. Only the user who can open the store can
 * write to the socket, and is an agent here as there. Undefined if another server of this workspace listens.
 */
export async function openAgentSocket(app: App): Promise<{ close(): Promise<void> } | undefined> {
  const { root, stateFolder, environment } = app.config;
  const found = findSocket(stateFolder);
  if (found !== undefined) {
    if (await answers(found)) return undefined;
    // A server that was killed leaves its socket.
    removeSocket(found, stateFolder);
  }
  const greeting: Greeting = {
    version,
    identity: identityOf(join(root, configName), environment.SCRIPTORIUM_DATABASE_URL),
  };
  const connections = new Set<Socket>();
  const server = createServer((socket) => {
    connections.add(socket);
    socket.on("error", () => undefined).on("close", () => connections.delete(socket));
    socket.write(`${JSON.stringify(greeting)}\n`);
    void answerCall(app, socket);
  });
  const path = await listenPrivately(server, stateFolder);
  return {
    async close() {
      const closed = new Promise<void>((done) => server.close(() => done()));
      // A call that is being performed ends its connection itself.
      for (const socket of connections) if (socket.bytesRead === 0) socket.destroy();
      await closed;
      removeSocket(path, stateFolder);
    },
  };
}

function removeSocket(path: string, stateFolder: string): void {
  const folder = socketFolder(stateFolder);
  rmSync(path, { force: true });
  if (dirname(path) === folder) return;
  rmSync(dirname(path), { recursive: true, force: true });
  rmSync(recordIn(folder), { force: true });
}

async function answerCall(app: App, socket: Socket): Promise<void> {
  const line = await firstLine(socket);
  if (line === undefined) return void socket.destroy();
  socket.end(`${JSON.stringify(await answerTo(app, line))}\n`);
}

async function answerTo(app: App, line: string): Promise<Answer> {
  try {
    return { result: await callAsAgent(app, callIn(line)) };
  } catch (error) {
    const { message, code, stack } = error as NodeJS.ErrnoException;
    app.log.error({ error: message, stack }, "agent-call-failed");
    return { thrown: { message, ...(code === undefined ? {} : { code }) } };
  }
}

/** Undefined when the connection ends before the line does, or the line is too long. */
const firstLine = (socket: Socket): Promise<string | undefined> =>
  new Promise((done) => {
    let text = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      if (text.endsWith("\n") || text.length > largestCall) done(text.length > largestCall ? undefined : text);
    });
    socket.on("close", () => done(undefined));
  });

/** Only the fields of a call: nothing else that a client sends can become part of the caller. */
function callIn(text: string): AgentCall {
  const { operation, input, role, run, task, epoch, secret, job } = JSON.parse(text) as AgentCall;
  const texts = Object.entries({ role, run, task, secret, job }).filter(([, value]) => typeof value === "string");
  const known = typeof epoch === "number" ? [...texts, ["epoch", epoch]] : texts;
  return { operation: String(operation), input, ...Object.fromEntries(known) };
}

/** Only the user of this process can enter the folder of the socket. */
async function listenPrivately(server: Server, stateFolder: string): Promise<string> {
  const folder = socketFolder(stateFolder);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (lstatSync(folder).isSymbolicLink()) throw new Error(`${folder} is a link; remove it`);
  chmodSync(folder, 0o700);
  const near = socketIn(folder);
  const path = isTooLong(near) ? socketIn(mkdtempSync(join(tmpdir(), "scriptorium-"))) : near;
  await new Promise<void>((done, fail) => server.once("error", fail).listen(path, done));
  chmodSync(path, 0o600);
  if (path !== near) writeFileSync(recordIn(folder), path, { mode: 0o600 });
  return path;
}

const answers = (path: string): Promise<boolean> =>
  new Promise((done) => {
    const socket = connect(path);
    socket.on("connect", () => {
      socket.destroy();
      done(true);
    });
    socket.on("error", () => done(false));
  });
