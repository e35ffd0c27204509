import { setTimeout as sleep } from "node:timers/promises";
import type { LanguageModel, ModelMessage, ToolSet } from "ai";
import type { Usage } from "../runner.ts";

export type RequestedCall = { id: string; name: string; input: unknown; malformed: string | undefined };

export type ModelAnswer = {
  text: string;
  calls: RequestedCall[];
  /** To be appended to the conversation unchanged: some providers sign parts of them. */
  messages: ModelMessage[];
  refused: boolean;
  cut: boolean;
  usage: Usage;
};

export type CallFailure = {
  message: string;
  /** Whether another try may succeed. */
  retry: boolean;
  delayMs: number | undefined;
  /** True when the server certainly did not charge for it. */
  free: boolean;
};

type Request = {
  model: LanguageModel;
  system: string | undefined;
  messages: ModelMessage[];
  tools: ToolSet;
  maxOutputTokens: number;
  signal: AbortSignal;
  /** Called for every chunk that arrives; resets the idle limit. */
  alive(): void;
};

/** Makes one call, streamed, so that a long answer does not count as idle. The caller retries, because each try has its own reservation. */
export async function callModel(request: Request): Promise<ModelAnswer | CallFailure> {
  const { streamText } = await import("ai");
  (globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false;
  const { model, system, messages, tools, maxOutputTokens, signal, alive } = request;
  let failure: unknown;
  try {
    const stream = streamText({
      model,
      ...(system ? { system: { role: "system" as const, content: system, providerOptions: cached } } : {}),
      messages: withCachedEnd(messages),
      tools,
      maxOutputTokens,
      maxRetries: 0,
      abortSignal: signal,
      onError: ({ error }) => {
        failure ??= error;
      },
    });
    let finished = false;
    for await (const part of stream.fullStream) {
      alive();
      if (part.type === "error") failure ??= part.error;
      if (part.type === "finish-step") finished = part.finishReason !== "other" || part.rawFinishReason !== undefined;
    }
    if (failure !== undefined) return asFailure(failure);
    if (!finished)
      return {
        message: "the connection ended in the middle of an answer",
        retry: true,
        delayMs: undefined,
        free: false,
      };

    const [text, calls, { messages: said }, reason, raw, usage] = await Promise.all([
      stream.text,
      stream.toolCalls,
      stream.response,
      stream.finishReason,
      stream.rawFinishReason,
      stream.usage,
    ]);
    return {
      text,
      calls: calls.map((call) => ({
        id: call.toolCallId,
        name: call.toolName,
        input: call.input,
        malformed: call.invalid ? String((call.error as Error | undefined)?.message ?? "not valid") : undefined,
      })),
      // Without the SDK's own results for malformed calls: the loop answers every call.
      messages: said.filter((message) => message.role === "assistant"),
      refused: reason === "content-filter" || raw === "refusal",
      cut: reason === "length",
      usage: {
        inputTokens: usage.inputTokens ?? null,
        outputTokens: usage.outputTokens ?? null,
        cacheReadTokens: usage.inputTokenDetails.cacheReadTokens ?? null,
        cacheWriteTokens: usage.inputTokenDetails.cacheWriteTokens ?? null,
        toolCalls: null,
        messages: null,
      },
    };
  } catch (error) {
    return asFailure(failure ?? error);
  }
}

const cached = { anthropic: { cacheControl: { type: "ephemeral" as const } } };

/** Sets the cache mark at the end, so that the next call reads the conversation so far from the provider's cache. */
const withCachedEnd = (messages: ModelMessage[]): ModelMessage[] =>
  messages.map((message, i) => (i === messages.length - 1 ? { ...message, providerOptions: cached } : message));

type ApiError = Error & { statusCode?: number; responseHeaders?: Record<string, string>; isRetryable?: boolean };

function asFailure(error: unknown): CallFailure {
  const { statusCode = 0, responseHeaders, isRetryable, cause } = error as ApiError;
  const refused = statusCode >= 400;
  const message = `${refused ? `the model's server answered ${statusCode}: ` : ""}${messageOf(error)}`;
  const isTransient = !refused || [408, 409, 429].includes(statusCode) || statusCode >= 500;
  return {
    message,
    retry: isTransient || isRetryable === true,
    delayMs: retryAfterMs(responseHeaders ?? {}),
    free: refused || notReached.has((cause as NodeJS.ErrnoException | undefined)?.code ?? ""),
  };
}

/** Errors before a connection was made. */
const notReached = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"]);

const messageOf = (error: unknown) =>
  (error instanceof Error ? error.message : typeof error === "string" ? error : JSON.stringify(error)).slice(0, 1000);

/** `retry-after-ms`, or `retry-after` in seconds or as a date. */
export function retryAfterMs(headers: Record<string, string>, now = Date.now()): number | undefined {
  const exact = Number.parseFloat(headers["retry-after-ms"] ?? "");
  if (exact >= 0) return exact;
  const after = headers["retry-after"];
  if (after === undefined) return undefined;
  const seconds = Number(after);
  if (seconds >= 0) return seconds * 1000;
  const until = Date.parse(after) - now;
  return until >= 0 ? until : undefined;
}

/** The delay before the n-th retry: the server's, otherwise exponential backoff with jitter. */
export const delayBefore = (n: number, { delayMs }: CallFailure, firstMs: number, random = Math.random()) =>
  delayMs ?? firstMs * 2 ** (n - 1) * (0.75 + random / 2);

export const wait = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal }).catch(() => undefined);
