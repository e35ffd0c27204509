import { type McpServer, ProtocolError, ProtocolErrorCode, type Tool } from "@modelcontextprotocol/server";
import { nearest } from "../kernel/nearest.ts";
import type { OperationDescription } from "../kernel/operation-description.ts";
import { type Result, refusalFor } from "../kernel/result.ts";
import { toolSchema } from "../kernel/tool-schema.ts";

export type McpTools = {
  /** The tools in the answer to tools/list. */
  listed: readonly OperationDescription[];
  /** The names of all tools that can be called, listed or not. */
  callable: readonly string[];
  call(name: string, raw: unknown, idempotencyKey?: string): Promise<Result<unknown>>;
  /** What the agent and its person should know about any answer, such as a broken schema.yaml. */
  warning?(): string | undefined;
};

/**
 * Serves operations as MCP tools. The handlers are our own, because those of the SDK refuse calls of tools that they
 * do not list.
 */
export function serveTools({ server }: McpServer, { listed, callable, call, warning }: McpTools): void {
  server.registerCapabilities({ tools: {} });
  server.setRequestHandler("tools/list", () => ({ tools: listed.map(toolOf) }));
  server.setRequestHandler("tools/call", async ({ params }) => {
    const { name, arguments: given = {} } = params;
    if (!callable.includes(name)) throw new ProtocolError(ProtocolErrorCode.InvalidParams, noTool(name, callable));
    const { _meta, ...raw } = given;
    const { answer, isError } = await call(name, raw, keyIn(params._meta)).then(answerOf, failure);
    const warned = warning?.();
    const { image, rest } = withoutImage(answer);
    const texts = [JSON.stringify(rest), ...(warned ? [`warning: ${warned}`] : [])];
    const content = [...image, ...texts.map((text) => ({ type: "text" as const, text }))];
    return { content, structuredContent: rest, isError };
  });
}

/** The field of `_meta` that carries an idempotency key: clients repeat calls, models do not. */
export const keyField = "scriptorium/idempotency-key";

function keyIn(meta: Record<string, unknown> | undefined): string | undefined {
  const key = meta?.[keyField];
  return typeof key === "string" ? key : undefined;
}

type Answer = { answer: Record<string, unknown>; isError: boolean };

const answerOf = (result: Result<unknown>): Answer =>
  result.ok
    ? { answer: result.value as Record<string, unknown>, isError: false }
    : { answer: refusalFor(result.problem), isError: true };

/** An image in an answer, `{image: {media_type, data}}`, is for the eyes of the model, not a text of it. */
function withoutImage({ image, ...rest }: Record<string, unknown>) {
  const { media_type: mimeType, data } = (image ?? {}) as { media_type?: unknown; data?: unknown };
  if (typeof mimeType !== "string" || typeof data !== "string")
    return { image: [], rest: image === undefined ? rest : { ...rest, image } };
  return { image: [{ type: "image" as const, mimeType, data }], rest };
}

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
    inputSchema: { type: "object", ...toolSchema(input) } as Tool["inputSchema"],
    annotations: annotations[effect],
  };
}

/** Hints that the protocol already implies are left out. */
const annotations = {
  reads: { readOnlyHint: true, openWorldHint: false },
  writes: { destructiveHint: false, openWorldHint: false },
  destroys: { destructiveHint: true, openWorldHint: false },
} as const satisfies Record<OperationDescription["effect"], Tool["annotations"]>;
