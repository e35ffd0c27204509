import { ok, type Result, refuse } from "../../kernel/result.ts";
import { version } from "../../kernel/version.ts";
import type { ServerCommand } from "./clients.ts";
import { asStarted } from "./launch.ts";

export type Proof = { ms: number; tools: number; entries: number };

const longestMs = 60_000;
const keptStderr = 2000;

/** Starts the server as a client would, lists its tools and the entries, and stops it. */
export async function roundTrip(
  { command, args }: ServerCommand,
  root: string,
  env: Record<string, string>,
): Promise<Result<Proof>> {
  const [{ Client }, { StdioClientTransport }] = await Promise.all([
    import("@modelcontextprotocol/client"),
    import("@modelcontextprotocol/client/stdio"),
  ]);
  const started = Date.now();
  const transport = new StdioClientTransport({ command, args: asStarted(args, root), cwd: root, env, stderr: "pipe" });
  let stderr = "";
  transport.stderr?.on("data", (chunk) => {
    stderr = (stderr + String(chunk)).slice(-keptStderr);
  });
  const client = new Client({ name: "scriptorium-connect", version });
  const options = { timeout: longestMs };
  try {
    await client.connect(transport, options);
    const { tools } = await client.listTools(undefined, options);
    const answer = await client.callTool({ name: "list_entries", arguments: {} }, options);
    if (answer.isError) return failed([command, ...args], JSON.stringify(answer.content));
    const { entries = [] } = (answer.structuredContent ?? {}) as { entries?: unknown[] };
    return ok({ ms: Date.now() - started, tools: tools.length, entries: entries.length });
  } catch (error) {
    return failed([command, ...args], stderr.trim().split("\n").at(-1) || (error as Error).message);
  } finally {
    await client.close().catch(() => undefined);
  }
}

const failed = (words: string[], reason: string) =>
  refuse("refused", `the server did not answer: ${reason}; run it by hand to see more: ${words.join(" ")}`);
