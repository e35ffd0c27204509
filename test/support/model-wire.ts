import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

/** What the model says next, or how its server fails. */
export type Reply =
  | { text?: string; calls?: { name: string; input: unknown }[]; refusal?: true; usage?: Partial<Counted> }
  /** A call whose arguments are this text, whatever it is. */
  | { name: string; rawArguments: string }
  | { status: number; headers?: Record<string, string> }
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

/** A model on loopback that speaks as Anthropic's and as OpenAI's servers do; `reply` is its mind. */
export async function startModelServer(reply: (heard: Heard, n: number) => Reply | Promise<Reply>) {
  const heard: Heard[] = [];
  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = new URL(request.url ?? "/", "http://x").pathname;
    const wire = path.endsWith("/messages") ? anthropic : path.endsWith("/chat/completions") ? openai : undefined;
    if (!wire || request.method !== "POST") return void response.writeHead(404).end("{}");
    const asked = { ...understood(JSON.parse(Buffer.concat(chunks).toString("utf8"))), path, key: keyOf(request) };
    heard.push(asked);
    const said = await reply(asked, heard.length);
    if ("hang" in said) return;
    if ("cut" in said && said.cut === "before") return void response.destroy();
    if ("status" in said) {
      response.writeHead(said.status, { "content-type": "application/json", ...said.headers });
      return void response.end(
        JSON.stringify({ type: "error", error: { type: "api_error", message: `no: ${said.status}` } }),
      );
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const events = wire(said, asked.model, heard.length);
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

function understood(body: Record<string, unknown>): Omit<Heard, "path" | "key"> {
  const messages = body.messages as { role: string; content: unknown }[];
  const tools = (body.tools ?? []) as { name?: string; function?: { name: string } }[];
  const system = messages.find((message) => message.role === "system" || message.role === "developer");
  return {
    model: String(body.model),
    system: textOf(body.system ?? system?.content ?? ""),
    maxTokens: Number(body.max_tokens ?? body.max_completion_tokens ?? 0),
    tools: tools.map((tool) => tool.name ?? tool.function?.name ?? ""),
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

const usual: Counted = { input: 100, output: 10, cacheRead: 0, cacheWrite: 0 };

type Said =
  | Extract<Reply, { text?: string }>
  | { name: string; rawArguments: string }
  | { cut: string }
  | { garbage: true };

function contentOf(said: Said) {
  const calls =
    "rawArguments" in said
      ? [{ name: said.name, raw: said.rawArguments }]
      : "calls" in said
        ? (said.calls ?? []).map(({ name, input }) => ({ name, raw: JSON.stringify(input) }))
        : [];
  const text = "text" in said ? (said.text ?? "") : calls.length > 0 ? "" : "half of an answer that goes on";
  return { calls, text, refusal: "refusal" in said, usage: { ...usual, ...("usage" in said ? said.usage : {}) } };
}

function anthropic(said: Said, model: string, n: number): string[] {
  const { calls, text, refusal, usage } = contentOf(said);
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
      delta: { stop_reason: refusal ? "refusal" : calls.length > 0 ? "tool_use" : "end_turn", stop_sequence: null },
      usage: { ...counted, output_tokens: usage.output },
    }),
    event("message_stop", {}),
  ];
}

function openai(said: Said, model: string, n: number): string[] {
  const { calls, text, refusal, usage } = contentOf(said);
  const chunk = (data: object) =>
    `data: ${JSON.stringify({ id: `cc_${n}`, object: "chat.completion.chunk", created: 1, model, ...data })}\n\n`;
  const choice = (delta: object, finish_reason: string | null = null) =>
    chunk({ choices: [{ index: 0, delta, finish_reason }] });
  const pieces = text.match(/.{1,20}/gs) ?? [];
  return [
    choice({ role: "assistant", content: "" }),
    ...pieces.map((content) => choice({ content })),
    ...calls.map(({ name, raw }, index) =>
      choice({
        tool_calls: [{ index, id: `call_${n}_${index}`, type: "function", function: { name, arguments: raw } }],
      }),
    ),
    choice({}, refusal ? "content_filter" : calls.length > 0 ? "tool_calls" : "stop"),
    chunk({
      choices: [],
      usage: {
        prompt_tokens: usage.input,
        completion_tokens: usage.output,
        total_tokens: usage.input + usage.output,
        prompt_tokens_details: { cached_tokens: usage.cacheRead },
      },
    }),
    "data: [DONE]\n\n",
  ];
}
