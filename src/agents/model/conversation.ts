import { appendFile } from "node:fs/promises";
import type { LanguageModel, ModelMessage, ToolSet } from "ai";
import { refusalFor } from "../../kernel/result.ts";
import { privateFile } from "../../store/disk/private.ts";
import { spell } from "../process.ts";
import type { Compaction, EndReason, Reservation, RunResult, RunSpec, Usage } from "../runner.ts";
import { acceptedAnswer } from "./accepted-answer.ts";
import { callModel, type ModelAnswer, type RequestedCall, wait } from "./call.ts";
import { compact } from "./compact.ts";
import { type CallFailure, delayBefore, explain } from "./failure.ts";
import type { Guard } from "./guard.ts";
import type { ModelLimits } from "./model-limits.ts";
import { offeredTools, resolvedCall } from "./offered-tools.ts";
import { costOf, type Prices, priceOf } from "./prices.ts";
import { type Provider, splitModelName } from "./providers.ts";
import { pictureIn, resultText } from "./tool-result.ts";

/** Output tokens of one answer, where the caller sets no limit. */
const usualAnswerTokens = 8192;
/** A server that is not there is more often misconfigured than restarting. */
const retriesWhenUnreachable = 3;
/** Answers in a row that may end at their limit: a model that cannot write in parts would go on for ever. */
const maxCuts = 3;
/** A server that asks for more time, and for more than the run may wait, is left to a person. */
const longestWaitMs = 300_000;
/** An outage is reported to people after this many failures in a row. */
const reportedFailures = 3;

export type End = Pick<RunResult, "exitCode" | "errorTail" | "error" | "ended" | "outage">;

type Deps = {
  spec: RunSpec;
  name: string;
  provider: Provider;
  model: LanguageModel;
  limits: ModelLimits;
  prices: Prices | undefined;
  retries: { most: number; firstMs: number };
  guard: Guard;
};

/**
 * The loop of an agent: calls the model and performs its tool calls until it makes none. Each limit is checked before
 * the step that would exceed it, and the maximum cost of a call is reserved before the call.
 */
export function conversation({ spec, name, provider, model, limits: own, prices, retries, guard }: Deps) {
  const { limits, meter, tools } = spec;
  const price = priceOf(name, prices);
  let messages: ModelMessage[] = [{ role: "user", content: spec.prompt }];
  const spent = { calls: 0, input: 0, output: 0, read: 0, write: 0, unknown: false, usd: 0, tools: 0, messages: 0 };
  const compactions: Compaction[] = [];
  /** The token count of the conversation that the server last reported, and the number of messages it covers. */
  let counted = { tokens: 0, upTo: 0 };
  /** The limits of the model, lowered when the server refuses a call because of them. */
  const capacity = { ...own };
  let overhead = 0;
  let cuts = 0;
  let wasReminded = false;
  const callIds = new Set<string>();

  async function go(): Promise<End> {
    const toolset = await asTools(spec);
    overhead = tokensOf(spec.system ?? "") + tokensOf(JSON.stringify(toolset));
    for (;;) {
      const exceeded = exceededLimit();
      if (exceeded) return ending("limit", exceeded);
      // A person's message does not count against the limit of messages.
      for (const content of (await spec.messages?.()) ?? []) messages.push({ role: "user", content });
      const given = await answerOf(toolset);
      if ("ended" in given) return given;
      const answer = { ...given, ...acceptedAnswer(given, callIds) };
      messages.push(...answer.messages);
      spent.messages += 1;
      await log({ said: answer.text, asked: answer.calls, usage: answer.usage, ...(answer.cut ? { cut: true } : {}) });
      const cut = answer.cut ? { cut: true as const } : {};
      if (answer.text.trim() !== "" || answer.cut)
        spec.onEntry?.({ kind: "said", text: answer.text, ...cut, output_tokens: answer.usage.outputTokens });
      if (answer.refused) return ending("exit", "the model refused to answer", 1);
      if (answer.calls.length > 0) {
        const stopped = await perform(answer.calls);
        if (stopped) return stopped;
        if (tools?.isDone?.()) return success;
      }
      const over = answer.cut ? afterCut() : afterWhole(answer);
      if (over) return over;
    }
  }

  /** A whole answer: one without a call ends the agent, once it was reminded that its result is missing. */
  function afterWhole({ calls }: ModelAnswer): End | undefined {
    cuts = 0;
    if (calls.length > 0) {
      wasReminded = false;
      return undefined;
    }
    if (tools?.isDone === undefined || tools.isDone() || wasReminded) return success;
    wasReminded = true;
    const deliver = tools.delivers
      ? `call ${tools.delivers} when you are done`
      : "submit your result when you are done";
    say(`Your answer called no tool, so nothing happened. Continue with your tools, and ${deliver}.`);
    return undefined;
  }

  function afterCut(): End | undefined {
    if (++cuts >= maxCuts)
      return ending("limit", `${maxCuts} answers in a row were cut at ${answerRoom()} output tokens`);
    say(
      `Your answer was cut at its limit of ${answerRoom()} output tokens. A call that was not complete was not made. ` +
        "Continue where it ended, and write long texts in several smaller calls.",
    );
    return undefined;
  }

  const say = (content: string) => {
    spec.onEntry?.({ kind: "notice", text: content });
    messages.push({ role: "user", content });
    spent.messages += 1;
  };

  function exceededLimit(): string | undefined {
    if (limits.messages !== undefined && spent.messages + 1 > limits.messages)
      return `all ${limits.messages} messages are used`;
    if (limits.outputTokens !== undefined && spent.output >= limits.outputTokens) {
      return `all ${limits.outputTokens} output tokens are used`;
    }
    return undefined;
  }

  const answerRoom = () =>
    Math.min(
      limits.answerTokens ?? usualAnswerTokens,
      capacity.answerTokens,
      (limits.outputTokens ?? Number.POSITIVE_INFINITY) - spent.output,
    );

  const inputTokens = () =>
    counted.tokens === 0
      ? overhead + tokensOf(JSON.stringify(messages))
      : counted.tokens + tokensOf(JSON.stringify(messages.slice(counted.upTo)));

  /** Removes old results before the call that would not fit. Returns false if there is nothing left to remove. */
  async function makeRoom(most: number): Promise<boolean> {
    const charactersPerToken = JSON.stringify(messages).length / inputTokens();
    // Down to half, so that the next calls need no compaction and can use the provider's cache.
    const done = compact(messages, (most * charactersPerToken) / 2);
    if (!done) return false;
    messages = done.messages;
    counted = { tokens: 0, upTo: 0 };
    const compaction = {
      call: spent.calls + 1,
      characters: done.removed.reduce((sum, { characters }) => sum + characters, 0),
      removed: done.removed.map(({ what }) => what).slice(0, 200),
    };
    compactions.push(compaction);
    await log({ compacted: compaction });
    const removed = compaction.removed.join(", ");
    spec.onEntry?.({
      kind: "notice",
      text: `removed to save context (${compaction.characters} characters): ${removed}`,
    });
    return true;
  }

  /** One answer, with retries; each try is reserved and settled by itself. */
  async function answerOf(toolset: ToolSet): Promise<ModelAnswer | End> {
    let failures = 0;
    let failingSince = 0;
    for (;;) {
      const room = answerRoom();
      if (inputTokens() + room > capacity.contextTokens) await makeRoom(capacity.contextTokens - room);
      const input = inputTokens();
      const reserved = await meter?.reserve({
        tokens: input + room,
        usd: price ? costOf(price, usageOf(input, room)) : null,
      });
      if (reserved && !reserved.ok) return ending("limit", reserved.problem.message);
      const got = await callModel({
        model,
        system: spec.system,
        messages,
        tools: toolset,
        maxOutputTokens: room,
        signal: guard.signal,
        alive: guard.alive,
      });
      if (!("kind" in got)) {
        await account(got.usage, reserved?.value);
        if (failures >= reportedFailures) spec.onOutage?.(null);
        return got;
      }
      // The server may have charged for a call that broke off, so its whole reservation counts as spent.
      await reserved?.value.settle(got.free ? { tokens: 0, usd: 0 } : null);
      const message = explain(got, { name: splitModelName(name).provider, model: name, provider });
      await log({ failed: message, tries: failures + 1 });
      const why = guard.reason();
      if (why) return ending(why, why === "stopped" ? undefined : message);
      if (await adapted(got, room)) continue;
      failures += 1;
      failingSince ||= Date.now();
      const over = await afterFailure(got, message, failures, Date.now() - failingSince);
      if (over) return over;
    }
  }

  /** Takes the limits that the server named for the model's, and makes the conversation fit. */
  async function adapted({ kind, limit }: CallFailure, room: number): Promise<boolean> {
    if (kind === "answer" && limit !== undefined && limit > 0 && limit < room) {
      capacity.answerTokens = limit;
      return true;
    }
    if (kind !== "too-long") return false;
    const input = inputTokens();
    const context = Math.min(limit ?? Number.POSITIVE_INFINITY, Math.floor(0.9 * (input + room)));
    capacity.contextTokens = Math.min(capacity.contextTokens, context);
    return makeRoom(Math.max(1, capacity.contextTokens - room));
  }

  /** Waits before the next try, or says how the agent ends. */
  async function afterFailure(
    failure: CallFailure,
    message: string,
    failures: number,
    failingMs: number,
  ): Promise<End | undefined> {
    const error = failures > 1 ? `${message} (${failures} tries)` : message;
    if (failure.kind === "person") return { ...ending("outage", error), outage: "person" };
    if (failure.kind === "too-long") return ending("limit", `the conversation does not fit into the model: ${message}`);
    if (failure.kind !== "provider") return ending("exit", error, 1);
    const most = failure.unreachable ? Math.min(retries.most, retriesWhenUnreachable) : retries.most;
    const delayMs = delayBefore(failures, failure, retries.firstMs);
    const waitsOutage = limits.outageMs !== undefined && failingMs + delayMs <= limits.outageMs;
    // A run that has waited as long as it may needs a person.
    const outage = limits.outageMs === undefined ? "passes" : "person";
    const isLong = (failure.delayMs ?? 0) > Math.max(limits.outageMs ?? 0, longestWaitMs);
    if (isLong) return { ...ending("outage", `${error}; it asks to wait ${spell(delayMs)}`), outage: "person" };
    if (failures > most && !waitsOutage) return { ...ending("outage", error), outage };
    spec.onRetry?.(`${message}; retry ${failures}${waitsOutage ? "" : ` of ${most}`} in ${spell(delayMs)}`);
    if (failures === reportedFailures) spec.onOutage?.(message);
    await guard.paused(() => wait(delayMs, guard.signal));
    const meanwhile = guard.reason();
    return meanwhile ? ending(meanwhile, message) : undefined;
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
    const pictures: ModelMessage[] = [];
    for (const { id, name: tool, input, malformed } of calls) {
      const why = guard.reason();
      if (why) return ending(why);
      if (limits.toolCalls !== undefined && spent.tools + 1 > limits.toolCalls) {
        return ending("limit", `all ${limits.toolCalls} tool calls are used`);
      }
      spent.tools += 1;
      const value = malformed
        ? { status: "invalid", error: `the call was not understood: ${malformed}; send the arguments again as JSON` }
        : await performed(tool, input);
      guard.alive();
      const output = { type: "text" as const, value: resultText(value) };
      results.content.push({ type: "tool-result", toolCallId: id, toolName: tool, output });
      const picture = pictureIn(value);
      if (picture) pictures.push(picture);
    }
    messages.push(results, ...pictures);
    spent.messages += 1;
    return undefined;
  }

  async function performed(tool: string, given: unknown): Promise<unknown> {
    if (!tools) return { status: "not_found", error: `there is no tool ${tool}` };
    const resolved = resolvedCall(tools, tool, given);
    if ("answer" in resolved) return resolved.answer;
    const result = await tools.call(resolved.name, resolved.input);
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
    compactions: () => compactions,
  };
}

const success: End = { exitCode: 0, errorTail: "", ended: "exit" };

const ending = (ended: EndReason, error?: string, exitCode: number | null = null): End => ({
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

async function asTools(spec: RunSpec): Promise<ToolSet> {
  const { jsonSchema, tool } = await import("ai");
  const offered = spec.tools ? offeredTools(spec.tools) : [];
  const all = offered.map(({ name, description, schema }) => [
    name,
    tool({ description, inputSchema: jsonSchema(schema as Parameters<typeof jsonSchema>[0]) }),
  ]);
  return Object.fromEntries(all);
}
