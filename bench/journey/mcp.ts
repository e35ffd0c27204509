import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { countTokens } from "gpt-tokenizer";
import type { Person } from "./steps.ts";

export type Server = { command: string; args: string[]; env?: Record<string, string> };
type Call = { name: string; arguments: Record<string, unknown> };
export type Tools = { tools: number; tokens: number; initialize: number };

/** What an agent's client does: start the server, initialize, list the tools, write something. */
export async function firstWrite(person: Person, server: Server, calls: Call[]): Promise<Tools> {
  const client = new Client({ name: "journey", version: "1" });
  const transport = new StdioClientTransport({
    ...server,
    env: { ...person.env, ...server.env },
    cwd: person.root,
    stderr: "ignore",
  });
  try {
    const began = performance.now();
    await person.wait("MCP initialize", () => client.connect(transport));
    const initialize = performance.now() - began;
    const { tools } = await person.wait("tools/list", () => client.listTools());
    for (const call of calls) {
      await person.wait(call.name, async () => {
        const { isError, content } = await client.callTool(call);
        if (isError) throw new Error(`${call.name}: ${JSON.stringify(content).slice(0, 400)}`);
      });
    }
    return { tools: tools.length, tokens: countTokens(JSON.stringify({ tools })), initialize };
  } finally {
    await client.close();
  }
}
