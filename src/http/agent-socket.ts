import { chmodSync, lstatSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, type Server } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type AgentCall, callAsAgent } from "../agent-call.ts";
import { callServer } from "../agents/call-socket.ts";
import type { App } from "../app.ts";
import { configName } from "../config/environment.ts";
import {
  findSocket,
  type Greeting,
  identityOf,
  isTooLong,
  recordIn,
  socketFolder,
  socketIn,
} from "../kernel/agent-socket.ts";
import { version } from "../kernel/version.ts";

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
  const calls = callServer(
    greeting,
    (call) => callAsAgent(app, callIn(call)),
    ({ message, stack }) => app.log.error({ error: message, stack }, "agent-call-failed"),
    app.schemaWarning,
  );
  const path = await listenPrivately(calls.server, stateFolder);
  if (path === undefined) return undefined;
  return {
    async close() {
      await calls.close();
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

/** Only the fields of a call: nothing else that a client sends can become part of the caller. */
function callIn(sent: Record<string, unknown>): AgentCall {
  const { operation, input, epoch, ...rest } = sent as AgentCall;
  const { role, run, task, secret, job, idempotencyKey } = rest;
  const texts = Object.entries({ role, run, task, secret, job, idempotencyKey }).filter(
    ([, value]) => typeof value === "string",
  );
  const known = typeof epoch === "number" ? [...texts, ["epoch", epoch]] : texts;
  return { operation: String(operation), input, ...Object.fromEntries(known) };
}

/**
 * Only the user of this process can enter the folder of the socket. Undefined if another server of the workspace that
 * started at the same time listens.
 */
async function listenPrivately(server: Server, stateFolder: string): Promise<string | undefined> {
  const folder = socketFolder(stateFolder);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (lstatSync(folder).isSymbolicLink()) throw new Error(`${folder} is a link; remove it`);
  chmodSync(folder, 0o700);
  const near = socketIn(folder);
  const path = isTooLong(near) ? socketIn(mkdtempSync(join(tmpdir(), "scriptorium-"))) : near;
  const isOurs = await new Promise<boolean>((done, fail) => {
    server.once("error", (error: NodeJS.ErrnoException) => (error.code === "EADDRINUSE" ? done(false) : fail(error)));
    server.listen(path, () => done(true));
  });
  if (!isOurs) return undefined;
  chmodSync(path, 0o600);
  if (path !== near) writeFileSync(recordIn(folder), path, { mode: 0o600 });
  return path;
}

export const answers = (path: string): Promise<boolean> =>
  new Promise((done) => {
    const socket = connect(path);
    socket.on("connect", () => {
      socket.destroy();
      done(true);
    });
    socket.on("error", () => done(false));
  });
