import { createInterface } from "node:readline";
import type { Context } from "./proof.ts";

type Answer = Record<string, unknown>;
type Message = { id?: number; result?: { content?: { text: string }[] } };

export type Server = {
  /** The tool's answer; undefined when the server was killed before it answered. */
  call(tool: string, input: object): Promise<Answer | undefined>;
  kill(): Promise<void>;
};

/** `scriptorium mcp` over stdio. A client library would report a killed server as an error and hide what came before. */
export async function startServer(context: Context, root: string, role: string): Promise<Server> {
  const child = context.start("scriptorium", ["mcp", "--role", role], { cwd: root });
  const waiting = new Map<number, (message: Message | undefined) => void>();
  let last = 0;
  let isGone = false;
  child.stderr?.resume();
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
    const message = parsed(line);
    const done = waiting.get(message?.id ?? 0);
    if (!message || !done) return;
    waiting.delete(message.id ?? 0);
    done(message);
  });
  const gone = new Promise<void>((done) => {
    child.once("close", () => {
      isGone = true;
      for (const answer of waiting.values()) answer(undefined);
      done();
    });
  });
  const send = (message: object) => child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const request = (method: string, params: object) =>
    new Promise<Message | undefined>((done) => {
      if (isGone) return done(undefined);
      waiting.set(++last, done);
      send({ id: last, method, params });
    });

  const clientInfo = { name: "prove", version: "1" };
  const hello = await request("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
  if (!hello?.result) throw new Error("scriptorium mcp did not start");
  send({ method: "notifications/initialized" });

  return {
    async call(tool, input) {
      const answer = await request("tools/call", { name: tool, arguments: input });
      const text = answer?.result?.content?.[0]?.text;
      return text === undefined ? undefined : parsed(text);
    },
    async kill() {
      child.kill("SIGKILL");
      await gone;
    },
  };
}

/** A killed process may leave half a line. */
function parsed<T = Message & Answer>(line: string): T | undefined {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
