import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

/** The model's next answer, or how its server fails. */
export type Reply =
  | {
      text?: string;
      calls?: { name: string; input: unknown }[];
      refusal?: true;
      /** Tokens that it thinks before it answers; they count as output. */
      reasoning?: number;
      usage?: Partial<Counted>;
    }
  /** A call whose arguments are this text, whatever it is. */
  | { name: string; rawArguments: string }
  | { status: number; headers?: Record<string, string>; code?: string; message?: string }
  /** The line goes dead: before the answer, in its middle, or never to be heard of again. */
  | { cut: "before" | "middle" }
  | { hang: true }
  /** Something in the stream that is no JSON. */
  | { garbage: true };

type Counted = { input: number; output: number; cacheRead: number; cacheWrite: number };

export type Heard = {
  path: string;
  key: string | undefined;
  model: string;
  system: string;
  maxTokens: number;
  tools: string[];
  messages: { role: string; text: string }[];
  body: Record<string, unknown>;
};

/** The limits of a model. Requests beyond them are refused in the words of its server. */
export type ModelLimits = { contextTokens: number; answerTokens: number };

export type ServerOptions = Partial<ModelLimits> & {
  /** Reports counted tokens; without it every answer reports the same usage, so that sums are easy to check. */
  counts?: boolean;
  /** How a local server differs from OpenAI's. */
  local?: "ollama" | "vllm" | "lmstudio";
};

/** As most tokenizers count English text and code, on average. */
const tokensIn = (text: string) => Math.ceil(text.length / 4);

/**
 * A model on loopback that speaks as Anthropic's and as OpenAI's servers do, the latter with both of their APIs;
 * `reply` is its mind. It keeps to the limits of a real model: an answer ends at max_tokens wherever that is, in the
 * middle of a call too, and a request that is longer than its context is refused.
 */
export async function startModelServer(
  reply: (heard: Heard, n: number) => Reply | Promise<Reply>,
  { contextTokens = 200_000, answerTokens = 64_000, counts = false, local }: ServerOptions = {},
) {
  const heard: Heard[] = [];
  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = new URL(request.url ?? "/", "http://x").pathname;
    const wire = wires.find(([end]) => path.endsWith(end))?.[1];
    if (!wire || request.method !== "POST") return void response.writeHead(404).end("{}");
    const raw = Buffer.concat(chunks).toString("utf8");
    const asked = { ...understood(JSON.parse(raw)), path, key: keyOf(request) };
    heard.push(asked);
    const input = tokensIn(raw);
    const tooLong = exceeded(wire, { input, asked: asked.maxTokens }, { contextTokens, answerTokens });
    const said = tooLong ?? cutAt(await reply(asked, heard.length), asked.maxTokens, counts ? input : undefined);
    if ("hang" in said) return;
    if ("cut" in said && said.cut === "before") return void response.destroy();
    if ("status" in said) {
      response.writeHead(said.status, { "content-type": "application/json", ...said.headers });
      const { code, message = `no: ${said.status}` } = said;
      return void response.end(
        JSON.stringify({ type: "error", error: { type: code ?? "api_error", ...(code ? { code } : {}), message } }),
      );
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const events = wire(said, asked.model, heard.length, local);
    const upTo = "cut" in said || "garbage" in said ? Math.ceil(events.length / 2) : events.length;
    for (const event of events.slice(0, upTo)) response.write(event);
    if ("garbage" in said) response.write("data: {not json\n\n");
    if ("cut" in said) await new Promise((done) => setTimeout(done, 20));
    if ("cut" in said) response.destroy();
    else response.end();
  }

  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as { port: number };
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${port}`, heard, close };
}

const keyOf = ({ headers }: IncomingMessage) =>
  (headers["x-api-key"] as string | undefined) ?? headers.authorization?.replace("Bearer ", "");

type Listed = { type?: string; name?: string; function?: { name: string }; tools?: Listed[] };

/** Codex puts the tools of an MCP server into a namespace: `namespace/tool` names one. */
const namesOf = ({ type, name = "", function: inner, tools = [] }: Listed): string[] =>
  type === "namespace" ? tools.map((tool) => `${name}/${tool.name}`) : [inner?.name ?? name];

/** An item of the Responses API as a message: a call and its result are items of their own there. */
function messageOf({ type, role, content, output, ...rest }: Record<string, unknown>): Message {
  if (type === "function_call_output") return { role: "tool", content: output };
  if (type === "message" || role !== undefined) return { role: String(role), content };
  return { role: "assistant", content: JSON.stringify(rest) };
}

type Message = { role: string; content: unknown };

function understood(body: Record<string, unknown>): Omit<Heard, "path" | "key"> {
  const messages =
    (body.messages as Message[] | undefined) ?? ((body.input ?? []) as Record<string, unknown>[]).map(messageOf);
  const tools = (body.tools ?? []) as Listed[];
  const system = messages.find((message) => message.role === "system" || message.role === "developer");
  return {
    model: String(body.model),
    system: textOf(body.system ?? body.instructions ?? system?.content ?? ""),
    maxTokens: Number(body.max_tokens ?? body.max_completion_tokens ?? body.max_output_tokens ?? 0),
    tools: tools.flatMap(namesOf),
    messages: messages
      .filter((message) => message !== system)
      .map(({ role, content, ...rest }) => ({
        role,
        text: textOf(content) + (Object.keys(rest).length ? JSON.stringify(rest) : ""),
      })),
    body,
  };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return JSON.stringify(content ?? "");
  return content
    .map(
      (part: { text?: string; content?: unknown; input?: unknown; name?: string }) =>
        part.text ??
        (part.content !== undefined ? textOf(part.content) : `${part.name ?? ""} ${JSON.stringify(part.input ?? {})}`),
    )
    .join("\n");
}

/** The refusal of a request that is beyond the model's limits, in the words of each server. */
function exceeded(
  wire: typeof anthropic,
  { input, asked }: { input: number; asked: number },
  { contextTokens, answerTokens }: ModelLimits,
): Extract<Reply, { status: number }> | undefined {
  if (asked > answerTokens) {
    const message =
      wire === anthropic
        ? `max_tokens: ${asked} > ${answerTokens}, which is the maximum allowed number of output tokens for this model`
        : `max_tokens is too large: ${asked}. This model supports at most ${answerTokens} completion tokens, whereas you provided ${asked}.`;
    return { status: 400, code: "invalid_request_error", message };
  }
  if (input + asked <= contextTokens) return undefined;
  return wire === anthropic
    ? {
        status: 400,
        code: "invalid_request_error",
        message: `prompt is too long: ${input + asked} tokens > ${contextTokens} maximum`,
      }
    : {
        status: 400,
        code: "context_length_exceeded",
        message: `This model's maximum context length is ${contextTokens} tokens. However, you requested ${input + asked} tokens (${input} in the messages, ${asked} in the completion).`,
      };
}

/** Ends an answer at `most` output tokens: thoughts first, then the text, then the arguments of its calls. */
function cutAt(said: Reply, most: number, input: number | undefined): Reply | Cut {
  if ("status" in said || "cut" in said || "hang" in said || "garbage" in said) return said;
  const { calls, text } = contentOf(said);
  const reasoning = "reasoning" in said ? (said.reasoning ?? 0) : 0;
  const pieces = [text, ...calls.map(({ raw }) => raw)];
  const whole = reasoning + pieces.reduce((sum, piece) => sum + tokensIn(piece), 0);
  const isCut = most > 0 && whole > most;
  const usage =
    input === undefined ? ("usage" in said ? said.usage : undefined) : { input, output: isCut ? most : whole };
  if (!isCut) return "rawArguments" in said || usage === undefined ? said : { ...said, usage };
  let left = Math.max(0, most - reasoning) * 4;
  const kept = pieces.map((piece) => {
    const part = piece.slice(0, left);
    left -= part.length;
    return part;
  });
  const [keptText = "", ...keptCalls] = kept;
  const begun = calls.flatMap(({ name }, i) => (keptCalls[i] ? [{ name, raw: keptCalls[i] }] : []));
  return { atLimit: true, text: keptText, begun, usage: usage ?? { output: most } };
}

/** An answer that ended at max_tokens; the last of its calls may have half of its arguments. */
type Cut = { atLimit: true; text: string; begun: { name: string; raw: string }[]; usage: Partial<Counted> };

const usual: Counted = { input: 100, output: 10, cacheRead: 0, cacheWrite: 0 };

type Said =
  | Extract<Reply, { text?: string }>
  | { name: string; rawArguments: string }
  | { cut: string }
  | { garbage: true }
  | Cut;

function contentOf(said: Said) {
  if ("atLimit" in said)
    return { calls: said.begun, text: said.text, end: "limit" as const, usage: { ...usual, ...said.usage } };
  const calls =
    "rawArguments" in said
      ? [{ name: said.name, raw: said.rawArguments }]
      : "calls" in said
        ? (said.calls ?? []).map(({ name, input }) => ({ name, raw: JSON.stringify(input) }))
        : [];
  const text = "text" in said ? (said.text ?? "") : calls.length > 0 ? "" : "half of an answer that goes on";
  const end = "refusal" in said ? ("refusal" as const) : calls.length > 0 ? ("calls" as const) : ("end" as const);
  return { calls, text, end, usage: { ...usual, ...("usage" in said ? said.usage : {}) } };
}

type Local = ServerOptions["local"];

function anthropic(said: Said, model: string, n: number, _local?: Local): string[] {
  const { calls, text, end, usage } = contentOf(said);
  const event = (type: string, data: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
  const counted = {
    input_tokens: usage.input - usage.cacheRead - usage.cacheWrite,
    cache_read_input_tokens: usage.cacheRead,
    cache_creation_input_tokens: usage.cacheWrite,
  };
  const block = (index: number, content_block: object, deltas: object[]) => [
    event("content_block_start", { index, content_block }),
    ...deltas.map((delta) => event("content_block_delta", { index, delta })),
    event("content_block_stop", { index }),
  ];
  const pieces = text.match(/.{1,20}/gs) ?? [];
  const message = {
    id: `msg_${n}`,
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
  };
  return [
    event("message_start", { message: { ...message, usage: { ...counted, output_tokens: 1 } } }),
    ...(text
      ? block(
          0,
          { type: "text", text: "" },
          pieces.map((piece) => ({ type: "text_delta", text: piece })),
        )
      : []),
    ...calls.flatMap(({ name, raw }, i) =>
      block(i + 1, { type: "tool_use", id: `toolu_${n}_${i}`, name, input: {} }, [
        { type: "input_json_delta", partial_json: raw },
      ]),
    ),
    event("message_delta", {
      delta: {
        stop_reason: { refusal: "refusal", calls: "tool_use", end: "end_turn", limit: "max_tokens" }[end],
        stop_sequence: null,
      },
      usage: { ...counted, output_tokens: usage.output },
    }),
    event("message_stop", {}),
  ];
}

function openai(said: Said, model: string, n: number, local?: Local): string[] {
  const { calls, text, end, usage } = contentOf(said);
  const chunk = (data: object) =>
    `data: ${JSON.stringify({ id: `cc_${n}`, object: "chat.completion.chunk", created: 1, model, ...data })}\n\n`;
  const choice = (delta: object, finish_reason: string | null = null) =>
    chunk({ choices: [{ index: 0, delta, finish_reason }] });
  const pieces = text.match(/.{1,20}/gs) ?? [];
  return [
    choice({ role: "assistant", content: "" }),
    ...pieces.map((content) => choice({ content })),
    // vLLM sends the model's thoughts in a field of their own.
    ...(local === "vllm" ? [choice({ reasoning_content: "Let me see." })] : []),
    ...calls.map(({ name, raw }, index) =>
      choice({
        tool_calls: [
          {
            // Ollama numbers every call 0; LM Studio's ids are plain numbers.
            index: local === "ollama" ? 0 : index,
            id: local === "lmstudio" ? `${n}${index}${index}` : `call_${n}_${index}`,
            type: "function",
            function: { name, arguments: raw },
          },
        ],
      }),
    ),
    choice({}, finishReason(end, local)),
    ...(local === "ollama" ? [] : [usageChunk()]),
    "data: [DONE]\n\n",
  ];

  function usageChunk(): string {
    return chunk({
      choices: [],
      usage: {
        prompt_tokens: usage.input,
        completion_tokens: usage.output,
        total_tokens: usage.input + usage.output,
        prompt_tokens_details: { cached_tokens: usage.cacheRead },
      },
    });
  }
}

/** The Responses API of OpenAI, which Codex speaks. */
function responses(said: Said, model: string, n: number, _local?: Local): string[] {
  const { calls, text, end, usage } = contentOf(said);
  const event = (type: string, data: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
  const status = end === "limit" ? "incomplete" : "completed";
  const items = [
    ...(text
      ? [{ type: "message", id: `msg_${n}`, role: "assistant", status, content: [{ type: "output_text", text }] }]
      : []),
    ...calls.map(({ name, raw }, i) => ({
      ...{ type: "function_call", id: `fc_${n}_${i}`, call_id: `call_${n}_${i}`, status },
      ...namespaced(name),
      arguments: raw,
    })),
  ];
  const counted = {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cacheRead },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: usage.input + usage.output,
  };
  const head = { id: `resp_${n}`, object: "response", model };
  const whole = {
    ...head,
    status,
    output: items,
    usage: counted,
    ...(end === "limit" ? { incomplete_details: { reason: "max_output_tokens" } } : {}),
  };
  return [
    event("response.created", { response: { ...head, status: "in_progress", output: [] } }),
    ...items.flatMap((item, output_index) => [
      event("response.output_item.added", { output_index, item: { ...item, status: "in_progress" } }),
      event("response.output_item.done", { output_index, item }),
    ]),
    event(end === "limit" ? "response.incomplete" : "response.completed", { response: whole }),
  ];
}

function namespaced(call: string): { name: string; namespace?: string } {
  const [namespace = "", name] = call.split("/");
  return name ? { name, namespace } : { name: call };
}

const wires: [string, typeof anthropic][] = [
  ["/messages", anthropic],
  ["/chat/completions", openai],
  ["/responses", responses],
];

/** Ollama and LM Studio say `stop` after calls too. */
const finishReason = (end: "refusal" | "calls" | "end" | "limit", local: Local) =>
  end === "calls" && (local === "ollama" || local === "lmstudio")
    ? "stop"
    : { refusal: "content_filter", calls: "tool_calls", end: "stop", limit: "length" }[end];
