import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, onTestFinished } from "vitest";
import { testEnvironment } from "./workspace.ts";

/** The two protocols that clients speak today: with a handshake and sessions, and without. */
export const eras = ["2025-11-25", "2026-07-28"] as const;
export type Era = (typeof eras)[number];

type Answer = Record<string, unknown> & { status?: string; error?: string; message?: string };

const command = new URL("../../dist/scriptorium.js", import.meta.url).pathname;

/** An agent's client of `scriptorium mcp`, the process as it ships. */
export const overStdio = (
  root: string,
  role: string | undefined,
  { era = "2025-11-25", args = [], env = {} }: { era?: Era; args?: string[]; env?: Record<string, string> } = {},
) =>
  connect(
    era,
    new StdioClientTransport({
      command: process.execPath,
      args: [command, "mcp", ...(role ? ["--role", role] : []), ...args],
      cwd: root,
      env: { ...testEnvironment(), ...env },
      stderr: "pipe",
    }),
  );

/** An agent's client of `/mcp` on a served workspace; `tools` names the groups that it lists. */
export const overHttp = (url: string, token: string, era: Era = eras[0], tools?: string) =>
  connect(
    era,
    new StreamableHTTPClientTransport(new URL(tools === undefined ? "/mcp" : `/mcp?tools=${tools}`, url), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  );

async function connect<T extends StdioClientTransport | StreamableHTTPClientTransport>(era: Era, transport: T) {
  const negotiation = era === "2026-07-28" ? { versionNegotiation: { mode: "auto" as const } } : {};
  const client = new Client({ name: "test", version: "1" }, negotiation);
  await client.connect(transport);
  onTestFinished(() => client.close().catch(() => undefined));

  /** Calls a tool; every answer is the same as text and as a structure. */
  async function call(name: string, input: Record<string, unknown> = {}): Promise<Answer> {
    const answer = await client.callTool({ name, arguments: input });
    const [first] = answer.content as { type: string; text: string }[];
    expect(JSON.parse(first?.text ?? "")).toEqual(answer.structuredContent);
    const { status } = answer.structuredContent as Answer;
    expect(answer.isError ?? false).toBe(
      ["denied", "conflict", "refused", "invalid", "not_found", "storage"].includes(status ?? ""),
    );
    return answer.structuredContent as Answer;
  }
  return { client, transport, call };
}
