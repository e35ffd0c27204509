import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** What the model says in one turn: text, a call of a tool, or nothing ever. */
export type Turn =
  | { text: string }
  | { call: string; input: Record<string, unknown> }
  | { status: number; message: string; headers?: Record<string, string> }
  | { hang: true };

/** What the model was sent: enough to decide on the next turn. */
export type Asked = {
  /** Which turn of the conversation this is, from 0. */
  turn: number;
  tools: string[];
  /** Everything in the conversation, as one text. */
  text: string;
};

export type Script = (asked: Asked) => Turn;

/** `keys` has every credential that it was sent. */
export type FakeModel = { url: string; asked: Asked[]; keys: Set<string | undefined> };

const usage = { input: 120, cacheRead: 30, cacheWrite: 5, output: 9 };

/**
 * A model on loopback that says what the test wants, in the words of the Anthropic messages API and
 * of the OpenAI responses API: real agents can be run against it without any other network.
 */
export async function fakeModel(script: Script): Promise<FakeModel> {
  const asked: Asked[] = [];
  const keys: FakeModel["keys"] = new Set();
  const server = createServer(async (request, response) => {
    const { "x-api-key": key = request.headers.authorization?.replace("Bearer ", "") } = request.headers;
    keys.add(key?.toString());
    const body = await readBody(request);
    const { pathname } = new URL(request.url ?? "/", "http://model.invalid");
    if (pathname.endsWith("/count_tokens")) return send(response, 200, { input_tokens: 10 });
    if (pathname.endsWith("/models"))
      return send(response, 200, { object: "list", data: [{ id: "fake" }], models: [] });
    const speak = pathname.endsWith("/messages") ? anthropic : pathname.endsWith("/responses") ? openAi : undefined;
    if (!speak || request.method !== "POST") return send(response, 404, { error: { message: "no such route" } });

    const said = (body.messages ?? body.input ?? []) as unknown[];
    const tools = ((body.tools ?? []) as { name?: string; type?: string }[]).map(
      (tool) => tool.name ?? tool.type ?? "",
    );
    // Agents also ask for titles and summaries, without tools: those are not turns of the script.
    if (tools.length === 0) return speak(response, { text: "aside" }, 0, body);
    const turn = answersIn(said);
    const question = { turn, tools, text: JSON.stringify(said) };
    asked.push(question);
    const answer = script(question);
    if ("hang" in answer) return undefined;
    if ("status" in answer) {
      const error = { type: "api_error", message: answer.message };
      return send(response, answer.status, { type: "error", error }, answer.headers);
    }
    return speak(response, answer, turn, body);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, keys };
}

/** A conversation carries its own turn: the answers to tools that it has so far. Retries repeat a turn. */
const answersIn = (said: unknown[]) =>
  said.filter((item) => {
    const { type, content } = item as { type?: string; content?: unknown };
    if (type === "function_call_output" || type === "custom_tool_call_output") return true;
    return Array.isArray(content) && content.some((part) => (part as { type?: string }).type === "tool_result");
  }).length;

type Said = Extract<Turn, { text: string } | { call: string }>;

function anthropic(response: ServerResponse, said: Said, turn: number, body: Record<string, unknown>): void {
  const event = open(response);
  const calls = "call" in said;
  const start = {
    input_tokens: usage.input,
    cache_read_input_tokens: usage.cacheRead,
    cache_creation_input_tokens: usage.cacheWrite,
    output_tokens: 1,
  };
  const message = {
    id: `msg_${turn}_${Date.now()}`,
    type: "message",
    role: "assistant",
    model: body.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: start,
  };
  const block = calls
    ? { type: "tool_use", id: `toolu_${turn}`, name: said.call, input: {} }
    : { type: "text", text: "" };
  const delta = calls
    ? { type: "input_json_delta", partial_json: JSON.stringify(said.input) }
    : { type: "text_delta", text: said.text };
  event("message_start", { message });
  event("content_block_start", { index: 0, content_block: block });
  event("content_block_delta", { index: 0, delta });
  event("content_block_stop", { index: 0 });
  event("message_delta", {
    delta: { stop_reason: calls ? "tool_use" : "end_turn", stop_sequence: null },
    usage: { output_tokens: usage.output },
  });
  event("message_stop", {});
  response.end();
}

function openAi(response: ServerResponse, said: Said, turn: number, body: Record<string, unknown>): void {
  const event = open(response);
  const item =
    "call" in said
      ? {
          type: "function_call",
          id: `fc_${turn}`,
          call_id: `call_${turn}`,
          status: "completed",
          ...named(said.call, body),
          arguments: JSON.stringify(said.input),
        }
      : {
          type: "message",
          id: `msg_${turn}`,
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: said.text, annotations: [] }],
        };
  const head = { id: `resp_${turn}`, object: "response", model: body.model };
  event("response.created", { response: { ...head, status: "in_progress", output: [] } });
  event("response.output_item.added", { output_index: 0, item: { ...item, status: "in_progress" } });
  event("response.output_item.done", { output_index: 0, item });
  const tokens = {
    input_tokens: usage.input + usage.cacheRead,
    input_tokens_details: { cached_tokens: usage.cacheRead },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: usage.input + usage.cacheRead + usage.output,
  };
  event("response.completed", { response: { ...head, status: "completed", output: [item], usage: tokens } });
  response.end();
}

/** Tools of an MCP server come in a namespace of their own: `namespace/tool` names one. */
function named(call: string, _body: Record<string, unknown>): { name: string; namespace?: string } {
  const [namespace, name] = call.split("/");
  return name ? { name, namespace: namespace ?? "" } : { name: call };
}

function open(response: ServerResponse) {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  return (type: string, data: object) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
}

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8") || "{}");
  } catch {
    return {};
  }
}

function send(response: ServerResponse, status: number, value: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(value));
}
