import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { describeOperation } from "../kernel/operation.ts";
import { builtFile } from "../kernel/package-files.ts";
import { version } from "../kernel/version.ts";
import { serveTools } from "./mcp-tool.ts";
import type { RunSpec, Toolset } from "./runner.ts";

export type ToolSocket = { mcp: NonNullable<RunSpec["mcp"]>; close(): Promise<void> };

/**
 * Serves a run's tools to its agent over a socket. The tools run in this process; the agent's MCP client starts a
 * relay that knows only the socket's path. So the agent cannot reach the database or its password, and once the
 * socket is closed, surviving processes of the agent cannot write.
 */
export async function openToolSocket(tools: Toolset, name: string, instructions: string): Promise<ToolSocket> {
  const folder = await mkdtemp(join(tmpdir(), "scriptorium-tools-"));
  const path = join(folder, "socket");
  const connections = new Set<Socket>();
  const server = createServer((socket) => {
    connections.add(socket);
    socket.on("error", () => undefined).on("close", () => connections.delete(socket));
    serveStdio(() => toolServer(tools, name, instructions), { transport: new StdioServerTransport(socket, socket) });
  });
  await new Promise<void>((done, fail) => server.once("error", fail).listen(path, done));
  return {
    mcp: { name, command: process.execPath, args: [fileURLToPath(builtFile("tool-relay.js")), path], env: {} },
    async close() {
      for (const socket of connections) socket.destroy();
      await new Promise<void>((done) => server.close(() => done()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function toolServer(tools: Toolset, name: string, instructions: string): McpServer {
  const server = new McpServer({ name, title: "Scriptorium", version }, { instructions });
  const listed = tools.operations.map(describeOperation);
  serveTools(server, { listed, callable: listed.map(({ name }) => name), call: tools.call });
  return server;
}
