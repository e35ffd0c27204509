import { createHash } from "node:crypto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import { version } from "../kernel/version.ts";
import type { RunRow } from "../store/crew-tables.ts";
import type { endedAttempt, TracedAgent } from "../store/queries/traces.ts";

type Attributes = Record<string, string | number | boolean | undefined>;

export type SpanData = {
  trace: string;
  id: string;
  parent: string | undefined;
  name: string;
  isClient: boolean;
  start: string;
  end: string;
  /** What went wrong, in a word. */
  error: string | undefined;
  attributes: Attributes;
};

/**
 * Ids are derived from the ids of the record: whichever process sends a span, on whichever machine, gives it the same
 * trace and parent. A span that is sent twice has the same id.
 */
const idOf = (text: string, length: 16 | 32) => createHash("sha256").update(text).digest("hex").slice(0, length);
const traceOf = (run: string) => idOf(`trace ${run}`, 32);
const runId = (run: string) => idOf(`run ${run}`, 16);
const attemptId = (task: string, epoch: number) => idOf(`attempt ${task} ${epoch}`, 16);

type Run = Pick<RunRow, "id" | "state" | "created_at" | "ended_at">;

export const runSpan = ({ id, state, created_at, ended_at }: Run): SpanData => ({
  ...{ trace: traceOf(id), id: runId(id), parent: undefined, name: "run", isClient: false },
  ...{ start: created_at, end: ended_at ?? created_at, error: state === "completed" ? undefined : state },
  attributes: { "scriptorium.run.id": id, "scriptorium.run.state": state },
});

type Attempt = NonNullable<Awaited<ReturnType<typeof endedAttempt>>>;

export const attemptSpan = (row: Attempt): SpanData => ({
  ...{ trace: traceOf(row.run_id), id: attemptId(row.task_id, row.epoch), parent: runId(row.run_id) },
  ...{ name: `attempt ${row.number}`, isClient: false },
  ...{ start: row.started_at, end: row.ended_at ?? row.started_at },
  error: row.phase === "qc_passed" ? undefined : row.phase,
  attributes: {
    ...{ "scriptorium.run.id": row.run_id, "scriptorium.task.id": row.task_id, "scriptorium.task.number": row.number },
    ...{ "scriptorium.attempt": row.attempt, "scriptorium.attempt.phase": row.phase },
    ...{ "scriptorium.worker": row.worker, "scriptorium.verifier": row.verifier ?? undefined },
  },
});

/** An agent, its model calls and its tool calls, named as the GenAI conventions of OpenTelemetry do. */
export function agentSpans({ context, attempt, calls, tools }: TracedAgent): SpanData[] {
  const { id, run_id, part, model } = context;
  const trace = traceOf(run_id);
  const own = idOf(`agent ${id}`, 16);
  const parent = attempt ? attemptId(attempt.task_id, attempt.epoch) : runId(run_id);
  const common: Attributes = {
    ...{ "scriptorium.run.id": run_id, "scriptorium.task.id": context.task_id ?? undefined },
    ...{ "gen_ai.conversation.id": id, "gen_ai.agent.name": part },
  };
  const agent: SpanData = {
    ...{ trace, id: own, parent, name: `invoke_agent ${part}`, isClient: false },
    ...{ start: context.started_at, end: context.ended_at ?? context.started_at },
    error: context.ended === null || fine.has(context.ended) ? undefined : context.ended,
    attributes: {
      ...common,
      ...{ "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.id": id, ...namesOf(context.runner, model) },
      "gen_ai.usage.input_tokens": context.input_tokens ?? undefined,
      "gen_ai.usage.output_tokens": context.output_tokens ?? undefined,
      "gen_ai.usage.cache_read.input_tokens": context.cache_read_tokens ?? undefined,
      "gen_ai.usage.cache_creation.input_tokens": context.cache_write_tokens ?? undefined,
      ...{ "scriptorium.runner": context.runner, "scriptorium.cost_usd": context.cost_usd ?? undefined },
    },
  };
  // A program makes its calls itself; its one reservation is for all of them.
  const isDirect = context.runner === "model" || context.runner === "scripted";
  const chats = calls
    .filter(({ state, settled_at }) => isDirect && state === "settled" && settled_at !== null)
    .map(
      (call): SpanData => ({
        ...{
          trace,
          id: idOf(`call ${call.id}`, 16),
          parent: own,
          name: `chat ${namesOf(context.runner, call.model)["gen_ai.request.model"] ?? ""}`.trim(),
        },
        ...{ isClient: true, start: call.at, end: call.settled_at ?? call.at, error: undefined },
        attributes: {
          ...common,
          ...{ "gen_ai.operation.name": "chat", ...namesOf(context.runner, call.model) },
          ...{ "scriptorium.tokens": call.tokens ?? undefined, "scriptorium.cost_usd": call.usd ?? undefined },
        },
      }),
    );
  const executed = tools.map((tool): SpanData => {
    const start = new Date(Date.parse(tool.at) - tool.duration_ms).toISOString();
    return {
      ...{ trace, id: idOf(`tool ${tool.id}`, 16), parent: own, name: `execute_tool ${tool.name}`, isClient: false },
      ...{ start, end: tool.at, error: tool.ok === 1 ? undefined : "refused" },
      attributes: {
        ...common,
        ...{ "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool.name, "gen_ai.tool.call.id": tool.id },
        "scriptorium.tool.output_bytes": tool.output_bytes,
      },
    };
  });
  return [agent, ...chats, ...executed];
}

/** The conventions want provider and model apart. Models over an API are recorded as `provider/model`. */
function namesOf(runner: string, model: string | null) {
  const [, provider = providers[runner], name = model] = /^([\w-]+)\/(.+)$/.exec(model ?? "") ?? [];
  return { "gen_ai.provider.name": provider, "gen_ai.request.model": name ?? undefined };
}

const providers: Record<string, string> = { claude: "anthropic", codex: "openai" };

/** How agents end that did what they were started for. */
const fine = new Set(["exit", "after-result"]);

const resource = resourceFromAttributes({ "service.name": "scriptorium", "service.version": version });
const instrumentationScope = { name: "scriptorium", version };

/** As the exporter wants it. */
export function readable(span: SpanData): ReadableSpan {
  const context = { traceId: span.trace, traceFlags: 1 };
  const [start, end] = [Date.parse(span.start), Math.max(Date.parse(span.start), Date.parse(span.end))];
  const attributes = Object.fromEntries(Object.entries(span.attributes).filter(([, value]) => value !== undefined));
  if (span.error) attributes["error.type"] = span.error;
  return {
    ...{ name: span.name, kind: span.isClient ? 2 : 0, startTime: timeOf(start), endTime: timeOf(end) },
    ...{ duration: timeOf(end - start), ended: true, links: [], events: [], resource, instrumentationScope },
    ...{ droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 },
    spanContext: () => ({ ...context, spanId: span.id }),
    ...(span.parent ? { parentSpanContext: { ...context, spanId: span.parent } } : {}),
    status: span.error ? { code: 2, message: span.error } : { code: 0 },
    attributes,
  };
}

/** Seconds and nanoseconds. */
const timeOf = (ms: number): [number, number] => [Math.floor(ms / 1000), (ms % 1000) * 1e6];
