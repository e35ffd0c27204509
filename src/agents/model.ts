import { appendFile } from "node:fs/promises";
import type { LanguageModel, ModelMessage, ToolSet } from "ai";
import { jsonSchema as schemaOf } from "../kernel/json-schema.ts";
import { ok, refusalFor, unwrap } from "../kernel/result.ts";
import { privateFile } from "../store/disk/private.ts";
import { callModel, type ModelAnswer, type RequestedCall, wait } from "./model/call.ts";
import { delayBefore, explain } from "./model/failure.ts";
import { costOf, type Prices, priceOf } from "./model/prices.ts";
import { languageModel, type Provider, type Providers, providerFor, splitModelName } from "./model/providers.ts";
import { spell } from "./process.ts";
import { notStarted } from "./programs/command.ts";
import type { EndReason, Reservation, Runner, RunResult, RunSpec, Usage } from "./runner.ts";

type Options = {
  providers: Providers;
  /** The default model. */
  model?: string;
  prices?: Prices;
  retries?: { most: number; firstMs: number };
};

/** Maximum output tokens of one call. */
const maxAnswerTokens = 8_192;
/** Longer tool results are cut, because every later call sends them again. */
const maxResultCharacters = 60_000;
/** A server that is not there is more often misconfigured than restarting. */
const retriesWhenUnreachable = 3;
/** Answers that concern the key, the model's name or the quota, not the conversation. */
const blocking = new Set([401, 403, 404, 429]);

/**
 * An agent loop in this process: calls the model and performs its tool calls until it makes none. Each limit is
 * checked before the step that would exceed it, and the maximum cost of a call is reserved before the call.
 */
export function modelRunner({
  providers,
  model: defaultModel,
  prices,
  retries = { most: 5, firstMs: 1000 },
}: Options): Runner {
  return {
    name: "model",
    check({ model }) {
      const found = providerFor(model ?? defaultModel, providers);
      return found.ok ? ok(true) : found;
    },
    async run(spec, outer) {
      const began = Date.now();
      const name = spec.model ?? defaultModel;
      const opened = await languageModel(name, providers);
      if (!opened.ok) return notStarted(opened.problem.message);
      const provider = unwrap(providerFor(name, providers));
      const guard = guarded(spec, outer);
      const loop = conversation({ spec, name: name ?? "", provider, model: opened.value, prices, retries, guard });
      try {
        const end = await loop.go();
        return { ...end, usage: loop.usage(), costUsd: loop.costUsd(), durationMs: Date.now() - began };
      } finally {
        guard.done();
      }
    },
  };
}

type End = Pick<RunResult, "exitCode" | "errorTail" | "error" | "ended">;
type Guard = ReturnType<typeof guarded>;

type Loop = {
  spec: RunSpec;
  name: string;
  provider: Provider;
  model: LanguageModel;
  prices: Prices | undefined;
  retries: { most: number; firstMs: number };
  guard: Guard;
};

function conversation({ spec, name, provider, model, prices, retries, guard }: Loop) {
  const { limits, meter, tools } = spec;
  const price = priceOf(name, prices);
  const messages: ModelMessage[] = [{ role: "user", content: spec.prompt }];
  const spent = { calls: 0, input: 0, output: 0, read: 0, write: 0, unknown: false, usd: 0, tools: 0, messages: 0 };
  /** The token count of the conversation that the server last reported, and the number of messages it covers. */
  let counted = { tokens: 0, upTo: 0 };

  async function go(): Promise<End> {
    const toolset = await asTools(spec);
    const overhead = tokensOf(spec.system ?? "") + tokensOf(JSON.stringify(toolset));
    for (;;) {
      const exceeded = exceededLimit();
      if (exceeded) return { ...ending("limit", exceeded), exitCode: null };
      const room = Math.min(maxAnswerTokens, (limits.outputTokens ?? Number.POSITIVE_INFINITY) - spent.output);
      const input =
        counted.tokens === 0 ? overhead + tokensOf(JSON.stringify(messages)) : counted.tokens + sinceCounted();
      const answer = await answerOf(toolset, input, room);
      if ("ended" in answer) return answer;
      messages.push(...answer.messages);
      spent.messages += 1;
      await log({ said: answer.text, asked: answer.calls, usage: answer.usage });
      if (answer.refused) return ending("exit", "the model refused to answer", 1);
      if (answer.calls.length === 0 && answer.cut) return ending("limit", `an answer was cut at ${room} output tokens`);
      if (answer.calls.length === 0) return { exitCode: 0, errorTail: "", ended: "exit" };
      const stopped = await perform(answer.calls);
      if (stopped) return stopped;
      if (tools?.isDone?.()) return { exitCode: 0, errorTail: "", ended: "exit" };
    }
  }

  function exceededLimit(): string | undefined {
    if (limits.messages !== undefined && spent.messages + 1 > limits.messages)
      return `all ${limits.messages} messages are used`;
    if (limits.outputTokens !== undefined && spent.output >= limits.outputTokens) {
      return `all ${limits.outputTokens} output tokens are used`;
    }
    return undefined;
  }

  const sinceCounted = () => tokensOf(JSON.stringify(messages.slice(counted.upTo)));

  /** One answer, with retries; each try is reserved and settled by itself. */
  async function answerOf(toolset: ToolSet, input: number, room: number): Promise<ModelAnswer | End> {
    for (let tries = 1; ; tries++) {
      const reserved = await meter?.reserve({
        tokens: input + room,
        usd: price ? costOf(price, usageOf(input, room)) : null,
      });
      if (reserved && !reserved.ok) return { ...ending("limit", reserved.problem.message), exitCode: null };
      const got = await callModel({
        model,
        system: spec.system,
        messages,
        tools: toolset,
        maxOutputTokens: room,
        signal: guard.signal,
        alive: guard.alive,
      });
      if (!("retry" in got)) {
        await account(got.usage, reserved?.value);
        return got;
      }
      // The server may have charged for a call that broke off, so its whole reservation counts as spent.
      await reserved?.value.settle(got.free ? { tokens: 0, usd: 0 } : null);
      const message = explain(got, { name: splitModelName(name).provider, model: name, provider });
      await log({ failed: message, tries });
      const why = guard.reason();
      if (why) return ending(why, why === "stopped" ? undefined : message);
      const most = got.unreachable ? Math.min(retries.most, retriesWhenUnreachable) : retries.most;
      if (!got.retry || tries > most) {
        // Without one answer the agent has not begun: another attempt at the task would fail in the same way.
        const hasBegun = spent.calls > 0 || !(got.unreachable || blocking.has(got.status ?? 0));
        const error = tries > 1 ? `${message} (${tries} tries)` : message;
        return hasBegun ? ending("exit", error, 1) : ending("spawn-error", error);
      }
      const delayMs = delayBefore(tries, got, retries.firstMs);
      spec.onRetry?.(`${message}; retry ${tries} of ${most} in ${spell(delayMs)}`);
      await wait(delayMs, guard.signal);
      const meanwhile = guard.reason();
      if (meanwhile) return ending(meanwhile, message);
    }
  }

  async function account(usage: Usage, reservation: Reservation | undefined): Promise<void> {
    spent.calls += 1;
    if (usage.inputTokens === null || usage.outputTokens === null) spent.unknown = true;
    spent.input += usage.inputTokens ?? 0;
    spent.output += usage.outputTokens ?? 0;
    spent.read += usage.cacheReadTokens ?? 0;
    spent.write += usage.cacheWriteTokens ?? 0;
    const usd = costOf(price, usage);
    spent.usd += usd ?? 0;
    const known = usage.inputTokens !== null && usage.outputTokens !== null;
    const tokens = (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);
    if (known) counted = { tokens, upTo: messages.length + 1 };
    await reservation?.settle(known ? { tokens, usd } : null);
  }

  async function perform(calls: RequestedCall[]): Promise<End | undefined> {
    const results: ModelMessage & { role: "tool" } = { role: "tool", content: [] };
    for (const { id, name: tool, input, malformed } of calls) {
      const why = guard.reason();
      if (why) return ending(why);
      if (limits.toolCalls !== undefined && spent.tools + 1 > limits.toolCalls) {
        return { ...ending("limit", `all ${limits.toolCalls} tool calls are used`), exitCode: null };
      }
      spent.tools += 1;
      const value = malformed
        ? { status: "invalid", error: `the call was not understood: ${malformed}; send the arguments again as JSON` }
        : await performed(tool, input);
      guard.alive();
      results.content.push({
        type: "tool-result",
        toolCallId: id,
        toolName: tool,
        output: { type: "text", value: cutTo(value) },
      });
    }
    messages.push(results);
    spent.messages += 1;
    return undefined;
  }

  async function performed(tool: string, input: unknown): Promise<unknown> {
    const result = await tools?.call(tool, input);
    if (!result) return { status: "not_found", error: `there is no tool ${tool}` };
    return result.ok ? result.value : refusalFor(result.problem);
  }

  const log = async (line: object) => {
    if (spec.logFile)
      await appendFile(spec.logFile, `${JSON.stringify({ at: new Date().toISOString(), ...line })}\n`, privateFile);
  };

  const known = (value: number) => (spent.calls === 0 || spent.unknown ? null : value);
  return {
    go,
    usage: (): Usage => ({
      inputTokens: known(spent.input),
      outputTokens: known(spent.output),
      cacheReadTokens: known(spent.read),
      cacheWriteTokens: known(spent.write),
      toolCalls: spent.tools,
      messages: spent.messages,
    }),
    costUsd: () => (price ? known(spent.usd) : null),
  };
}

const ending = (ended: EndReason, error?: string, exitCode: number | null = ended === "exit" ? 1 : null): End => ({
  exitCode,
  errorTail: error ?? "",
  ended,
  ...(error ? { error } : {}),
});

const usageOf = (inputTokens: number, outputTokens: number): Usage => ({
  inputTokens,
  outputTokens,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  toolCalls: null,
  messages: null,
});

/** An upper estimate: a reservation must not be too small. */
const tokensOf = (text: string) => Math.ceil(Buffer.byteLength(text) / 3);

const cutTo = (value: unknown) => {
  const text = JSON.stringify(value) ?? "null";
  return text.length <= maxResultCharacters
    ? text
    : `${text.slice(0, maxResultCharacters)} … (cut, ${text.length} characters)`;
};

async function asTools(spec: RunSpec): Promise<ToolSet> {
  const { jsonSchema, tool } = await import("ai");
  const all = (spec.tools?.operations ?? []).map(({ name, summary, guidance, input }) => [
    name,
    tool({
      description: guidance ? `${summary} ${guidance}` : summary,
      inputSchema: jsonSchema(schemaOf(input) as Parameters<typeof jsonSchema>[0]),
    }),
  ]);
  return Object.fromEntries(all);
}

/** One signal for the caller's abort, the time limit and the idle limit. */
function guarded({ limits }: RunSpec, outer: AbortSignal) {
  const inner = new AbortController();
  let reason: "timeout" | "idle" | undefined;
  const end = (why: "timeout" | "idle") => {
    reason ??= why;
    inner.abort();
  };
  const wall = setTimeout(() => end("timeout"), limits.wallMs);
  let idle: NodeJS.Timeout | undefined;
  const alive = () => {
    clearTimeout(idle);
    if (limits.idleMs !== undefined) idle = setTimeout(() => end("idle"), limits.idleMs);
  };
  alive();
  return {
    signal: AbortSignal.any([inner.signal, outer]),
    alive,
    reason: (): "timeout" | "idle" | "stopped" | undefined => (outer.aborted ? "stopped" : reason),
    done() {
      clearTimeout(wall);
      clearTimeout(idle);
    },
  };
}
