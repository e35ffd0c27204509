import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { Place } from "../support/place.ts";

/** Starts a Node program as an MCP server and connects to it; it ends with the client. */
export async function connectClient(place: Place, args: string[], env: Record<string, string> = {}): Promise<Client> {
  const client = new Client({ name: "bench", version: "1" });
  const options = { command: process.execPath, args, env: { ...place.environment, ...env }, stderr: "ignore" as const };
  await client.connect(new StdioClientTransport(options));
  place.onLeave(() => client.close().catch(() => undefined));
  return client;
}

/** How to start the reference memory server on a new file. */
export function memoryServer(place: Place): { args: string[]; env: Record<string, string>; file: string } {
  const file = join(place.folder("memory"), "memory.jsonl");
  const manifest = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-memory/package.json");
  return { args: [join(dirname(manifest), "dist/index.js")], env: { MEMORY_FILE_PATH: file }, file };
}
