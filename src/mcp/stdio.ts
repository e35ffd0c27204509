import { once } from "node:events";
import { Transform } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import {
  isJSONRPCRequest,
  isJSONRPCResponse,
  type McpServer,
  type RequestId,
  type Transport,
} from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import type { App } from "../app.ts";
import { type Caller, newTurn } from "../kernel/caller.ts";
import type { Result } from "../kernel/result.ts";
import type { ToolGroup } from "../kernel/tool-groups.ts";
import { chooseRole } from "../wiki/role.ts";
import { mcpServer } from "./server.ts";

export type StdioOptions = {
  role?: string;
  run?: string;
  task?: string;
  epoch?: number;
  secret?: string;
  groups?: readonly ToolGroup[];
};

/** Serves one agent in one role over stdin and stdout until the client closes them. */
export async function serveMcp(app: App, options: StdioOptions): Promise<Result<true>> {
  const schema = await app.schema();
  if (!schema.ok) return schema;
  const role = chooseRole(schema.value, options.role, `${app.config.wiki}/schema.yaml`);
  if (!role.ok) return role;
  const { run, task, epoch, secret } = options;
  const caller: Caller = {
    kind: "agent",
    role: role.value,
    turn: newTurn(run, true),
    ...(task ? { task } : {}),
    ...(epoch === undefined ? {} : { epoch }),
    ...(secret === undefined ? {} : { secret }),
  };
  const recording = setInterval(
    () => void app.recorder.record().catch((error) => app.log.error({ error }, "record-failed")),
    500,
  );
  recording.unref();

  await serveUntilClosed(() => mcpServer(app, caller, options.groups));
  clearInterval(recording);
  return { ok: true, value: true };
}

/** Serves over stdin and stdout until the client closes them and its requests are answered. */
export async function serveUntilClosed(newServer: () => McpServer | Promise<McpServer>): Promise<void> {
  const { transport, input, settled } = drainingStdio();
  const handle = serveStdio(newServer, { transport });
  await Promise.race([once(input, "close"), once(process, "SIGINT"), once(process, "SIGTERM")]);
  await settled();
  await handle.close();
}

const drainMs = 5000;

/**
 * The SDK drops open requests when stdin ends. A commit that is cut off there would leave its file without an author,
 * so the end of stdin is passed on only when all requests are answered, or after `drainMs`.
 */
function drainingStdio() {
  const open = new Set<RequestId>();
  const settled = async () => {
    const until = performance.now() + drainMs;
    do await sleep(5);
    while (open.size > 0 && performance.now() < until);
  };
  const input = new Transform({
    transform: (chunk, _encoding, done) => done(null, chunk),
    flush: (done) => void settled().then(() => done()),
  });
  process.stdin.pipe(input);

  const wire = new StdioServerTransport(input);
  const transport: Transport = {
    start() {
      wire.onerror = (error) => transport.onerror?.(error);
      wire.onclose = () => transport.onclose?.();
      wire.onmessage = (message) => {
        // Not counted: subscriptions are answered at the end of the connection, cancelled requests never.
        if (isJSONRPCRequest(message) && message.method !== "subscriptions/listen") open.add(message.id);
        if ("method" in message && message.method === "notifications/cancelled")
          open.delete((message.params as { requestId: RequestId }).requestId);
        transport.onmessage?.(message);
      };
      return wire.start();
    },
    async send(message) {
      if (isJSONRPCResponse(message) && message.id !== undefined) open.delete(message.id);
      await wire.send(message);
    },
    close() {
      process.stdin.unpipe(input).pause();
      return wire.close();
    },
  };
  return { transport, input, settled };
}
