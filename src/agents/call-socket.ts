import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Answer, Greeting } from "../kernel/agent-socket.ts";
import type { Result } from "../kernel/result.ts";
import { version } from "../kernel/version.ts";
import type { Toolset } from "./runner.ts";

/** Maximum size of a call: the largest entry, escaped. */
const largestCall = 16 * 1024 * 1024;

type CallServer = {
  server: Server;
  /** Refuses new calls. Calls that are being performed end their connections themselves, unless `atOnce`. */
  close(atOnce?: boolean): Promise<void>;
};

/** Answers one call per connection, by the protocol in `kernel/agent-socket.ts`. */
export function callServer(
  greeting: Greeting,
  perform: (call: Record<string, unknown>) => Promise<Result<unknown>>,
  onThrown: (error: Error) => void,
  warning: () => string | undefined = () => undefined,
): CallServer {
  const connections = new Set<Socket>();
  const answerTo = async (line: string): Promise<Answer> => {
    try {
      const result = await perform(JSON.parse(line) as Record<string, unknown>);
      const warned = warning();
      return { result, ...(warned ? { warning: warned } : {}) };
    } catch (error) {
      const { message, code } = error as NodeJS.ErrnoException;
      onThrown(error as Error);
      return { thrown: { message, ...(code === undefined ? {} : { code }) } };
    }
  };
  const server = createServer(async (socket) => {
    connections.add(socket);
    socket.on("error", () => undefined).on("close", () => connections.delete(socket));
    socket.write(`${JSON.stringify(greeting)}\n`);
    const line = await firstLine(socket);
    if (line === undefined) socket.destroy();
    else socket.end(`${JSON.stringify(await answerTo(line))}\n`);
  });
  return {
    server,
    async close(atOnce = false) {
      const closed = new Promise<void>((done) => server.close(() => done()));
      for (const socket of connections) if (atOnce || socket.bytesRead === 0) socket.destroy();
      await closed;
    },
  };
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

export type CallSocket = { path: string; close(): Promise<void> };

/**
 * The socket that `scribe` uses inside a sandbox. The connection itself is the credential: every call is one of this
 * run's tools, whatever else it says, and none is performed after the run.
 */
export async function openCallSocket(tools: Toolset): Promise<CallSocket> {
  const folder = await mkdtemp(join(tmpdir(), "scriptorium-calls-"));
  const path = join(folder, "socket");
  const perform = ({ operation, input, idempotencyKey: key }: Record<string, unknown>) =>
    tools.call(String(operation), input, typeof key === "string" ? key : undefined);
  const calls = callServer({ version, identity: "" }, perform, () => undefined);
  await new Promise<void>((done, fail) => calls.server.once("error", fail).listen(path, done));
  return {
    path,
    async close() {
      await calls.close(true);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
