import { setTimeout as sleep } from "node:timers/promises";
import type { LanguageModel, ModelMessage, ToolSet } from "ai";
import type { Usage } from "../runner.ts";
import { type CallFailure, cutOff, failureFrom } from "./failure.ts";

export type RequestedCall = { id: string; name: string; input: unknown; malformed: string | undefined };

export type ModelAnswer = {
  text: string;
  calls: RequestedCall[];
  /** To be appended to the conversation unchanged: some providers sign parts of them. */
  messages: ModelMessage[];
  refused: boolean;
  /** True if it ended at the limit of output tokens. A call that was not finished is in neither calls nor messages. */
  cut: boolean;
  usage: Usage;
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
  const { NoSuchToolError, streamText } = await import("ai");
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
    if (failure !== undefined) return failureFrom(failure);
    if (!finished) return cutOff;

    const [text, calls, { messages: said }, reason, raw, usage] = await Promise.all([
      stream.text,
      stream.toolCalls,
      stream.response,
      stream.finishReason,
      stream.rawFinishReason,
      stream.usage,
    ]);
    const cut = reason === "length";
    // The toolset answers calls of tools that are not listed: it has more tools, and knows the nearest name.
    const isWhole = ({ invalid, error, input }: (typeof calls)[number]) =>
      !invalid || (NoSuchToolError.isInstance(error) && typeof input === "object" && input !== null);
    const unfinished = new Set(cut ? calls.filter((call) => !isWhole(call)).map((call) => call.toolCallId) : []);
    return {
      text,
      calls: calls
        .filter((call) => !unfinished.has(call.toolCallId))
        .map((call) => ({
          id: call.toolCallId,
          name: call.toolName,
          input: call.input,
          malformed: !isWhole(call) ? String((call.error as Error | undefined)?.message ?? "not valid") : undefined,
        })),
      // Without the SDK's own results for malformed calls: the loop answers every call.
      messages: without(
        unfinished,
        said.filter((message) => message.role === "assistant"),
      ),
      refused: reason === "content-filter" || raw === "refusal",
      cut,
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
    return failureFrom(failure ?? error);
  }
}

/** Drops calls that were cut off, and messages that are empty then: a server refuses half of a call in a conversation. */
function without(unfinished: Set<string>, messages: ModelMessage[]): ModelMessage[] {
  if (unfinished.size === 0) return messages;
  return messages.flatMap((message) => {
    if (message.role !== "assistant" || typeof message.content === "string") return [message];
    const content = message.content.filter((part) => !(part.type === "tool-call" && unfinished.has(part.toolCallId)));
    return content.some((part) => part.type !== "reasoning") ? [{ ...message, content }] : [];
  });
}

const cached = { anthropic: { cacheControl: { type: "ephemeral" as const } } };

/** Sets the cache mark at the end, so that the next call reads the conversation so far from the provider's cache. */
const withCachedEnd = (messages: ModelMessage[]): ModelMessage[] =>
  messages.map((message, i) => (i === messages.length - 1 ? { ...message, providerOptions: cached } : message));

export const wait = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal }).catch(() => undefined);
