import { randomBytes } from "node:crypto";
import { createAdaptorServer } from "@hono/node-server";
import { McpServer } from "@modelcontextprotocol/server";
import type { McpAddress, Toolset } from "../agents/runner.ts";
import type { App } from "../app.ts";
import { newTurn } from "../people/caller.ts";
import { refuse } from "../result.ts";
import { version } from "../version.ts";
import { mcpOverHttp } from "./http.ts";
import { addOperation } from "./server.ts";

const name = "scriptorium";

/** Toolsets of agents that run now, each behind its own token, on one port of this machine. */
export type ToolServer = {
  give(tools: Toolset): { address: McpAddress; take(): void };
  close(): Promise<void>;
};

/**
 * An agent that is a process of its own reaches its tools here, and only its own: the token stands
 * for one run, task, epoch and part, and is worth nothing once the agent has ended.
 */
export async function serveTools(app: App): Promise<ToolServer> {
  const given = new Map<string, Toolset>();
  const http = mcpOverHttp(
    app,
    (token) => ({ kind: "agent", role: token, turn: newTurn() }),
    async (_app, caller) => {
      const token = caller.kind === "agent" ? caller.role : "";
      const server = new McpServer({ name, version }, {});
      for (const operation of given.get(token)?.operations ?? []) {
        addOperation(server, operation, async (raw) => {
          const tools = given.get(token);
          return tools ? tools.call(operation.name, raw) : refuse("denied", "this agent's work is over");
        });
      }
      return server;
    },
  );

  const server = createAdaptorServer({
    async fetch(request: Request) {
      const host = request.headers.get("host") ?? "";
      if (host !== own || request.headers.has("origin")) return new Response("not for browsers", { status: 403 });
      const token = /^Bearer ([\w-]{20,200})$/.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";
      if (!given.has(token)) return new Response("no such token", { status: 401 });
      return http.fetch(request, token);
    },
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as { port: number };
  const own = `127.0.0.1:${port}`;

  return {
    give(tools) {
      const token = randomBytes(24).toString("base64url");
      given.set(token, tools);
      return { address: { name, url: `http://${own}/mcp`, token }, take: () => void given.delete(token) };
    },
    async close() {
      given.clear();
      await http.close();
      if ("closeAllConnections" in server) server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
