import { type McpServer, ProtocolError, ProtocolErrorCode, type Tool } from "@modelcontextprotocol/server";
import { nearest } from "../kernel/nearest.ts";
import type { OperationDescription } from "../kernel/operation-description.ts";
import { type Result, refusalFor } from "../kernel/result.ts";

export type McpTools = {
  /** The tools in the answer to tools/list. */
  listed: readonly OperationDescription[];
  /** The names of all tools that can be called, listed or not. */
  callable: readonly string[];
  call(name: string, raw: unknown): Promise<Result<unknown>>;
};

/**
 * Serves operations as MCP tools. The handlers are our own, because those of the SDK refuse calls of tools that they
 * do not list.
 */
export function serveTools({ server }: McpServer, { listed, callable, call }: McpTools): void {
  server.registerCapabilities({ tools: {} });
  server.setRequestHandler("tools/list", () => ({ tools: listed.map(toolOf) }));
  server.setRequestHandler("tools/call", async ({ params }) => {
    const { name, arguments: given = {} } = params;
    if (!callable.includes(name)) throw new ProtocolError(ProtocolErrorCode.InvalidParams, noTool(name, callable));
    const { _meta, ...raw } = given;
    const { answer, isError } = await call(name, raw).then(answerOf, failure);
    return { content: [{ type: "text" as const, text: JSON.stringify(answer) }], structuredContent: answer, isError };
  });
}

type Answer = { answer: Record<string, unknown>; isError: boolean };

const answerOf = (result: Result<unknown>): Answer =>
  result.ok
    ? { answer: result.value as Record<string, unknown>, isError: false }
    : { answer: refusalFor(result.problem), isError: true };

/** A protocol error would hide the reason from the model. */
const failure = (error: unknown): Answer => ({
  answer: { status: "failed", error: error instanceof Error ? error.message : String(error) },
  isError: true,
});

function noTool(name: string, callable: readonly string[]): string {
  const meant = nearest(name, callable);
  return meant ? `no tool ${name}; did you mean ${meant}?` : `no tool ${name}; tools/list has the tools`;
}

/** An operation as tools/list shows it. Without an output schema: no client passes it to the model, and it costs tokens. */
export function toolOf({ name, summary, guidance, effect, input }: OperationDescription): Tool {
  return {
    name,
    description: guidance ? `${summary} ${guidance}` : summary,
    inputSchema: { type: "object", ...input } as Tool["inputSchema"],
    annotations: annotations[effect],
  };
}

/** Hints that the protocol already implies are left out. */
const annotations = {
  reads: { readOnlyHint: true, openWorldHint: false },
  writes: { destructiveHint: false, openWorldHint: false },
  destroys: { destructiveHint: true, openWorldHint: false },
} as const satisfies Record<OperationDescription["effect"], Tool["annotations"]>;
