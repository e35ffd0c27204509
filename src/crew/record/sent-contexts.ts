import type { Compaction } from "../../agents/runner.ts";
import type { CrewPart } from "../../kernel/caller.ts";
import type { DestinationUse } from "../../kernel/destination-use.ts";
import type { Query } from "../../store/database.ts";
import { appendEvent } from "../../store/events.ts";
import {
  addPart,
  type ContextUsage,
  countFragments,
  endContext,
  insertContext,
  insertToolCall,
  type StoredToolCall,
} from "../../store/queries/contexts.ts";
import type { Context, SentFragment } from "../rules/agent-context.ts";
import { tokensIn } from "../rules/agent-context.ts";
import { referenceCharacters } from "../rules/fingerprint.ts";
import type { CrewDeps } from "./deps.ts";

export type Sent = {
  run: string;
  task?: { id: string; epoch: number; attempt: number };
  part: CrewPart;
  agent: string;
  runner: string;
  model?: string | undefined;
  /** All that is sent to begin with: system text and prompt. */
  text: string;
  context?: Context;
};

export type Ending = {
  ended: string;
  inputTokens: number | null;
  outputTokens: number | null;
  cacheReadTokens: number | null;
  cacheWriteTokens: number | null;
  toolCalls: number | null;
  messages: number | null;
  costUsd: number | null;
  destinations: DestinationUse[] | null;
  compactions: Compaction[];
};

export type ToolCall = {
  run: string;
  context: string | null;
  task: { id: string; epoch: number } | null;
  part: CrewPart;
  name: string;
  ok: boolean;
  input: unknown;
  output: unknown;
  durationMs: number;
};

/** Of a call on record, in characters. Evidence is checked against these, and a model sees no more of an answer. */
const maxInput = 20_000;
const maxOutput = 60_000;

/** Records the prompt and the tool calls of each agent; figures and evidence come from here. */
export function contextStore({ db, now, newId }: CrewDeps) {
  const stamp = () => now().toISOString();
  return {
    /** Called before an agent starts. Counts its fragments in the same transaction. */
    async begin(sent: Sent): Promise<string> {
      const id = newId("context");
      const at = stamp();
      const { run, task, context } = sent;
      await db.write(async (tx) => {
        const repeated = await noteFragments(tx, context?.fragments ?? [], run, at);
        const parts = context?.parts ?? [];
        const rest = sent.text.length - (context?.text.length ?? 0);
        const instructions = { name: "instructions", characters: rest, tokens: Math.ceil(rest / 4) };
        await insertContext(tx, {
          id,
          run_id: run,
          task_id: task?.id ?? null,
          epoch: task?.epoch ?? null,
          attempt: task?.attempt ?? null,
          part: sent.part,
          agent: sent.agent,
          runner: sent.runner,
          model: sent.model ?? null,
          characters: sent.text.length,
          tokens: tokensIn(sent.text),
          parts: rest > 0 ? [instructions, ...parts] : parts,
          ...repeated,
          started_at: at,
        });
        const data = {
          id,
          part: sent.part,
          runner: sent.runner,
          model: sent.model ?? null,
          characters: sent.text.length,
          task: task ?? null,
        };
        await appendEvent(tx, { at, actor: sent.agent, kind: "agent-started", subject: `run:${run}`, data });
      });
      return id;
    },

    /** Adds a second prompt to what an agent was sent. */
    async remind(id: string, text: string): Promise<void> {
      const at = stamp();
      const part = { name: "reminder", characters: text.length, tokens: tokensIn(text) };
      await db.write(async (tx) => {
        const row = await addPart(tx, id, part);
        if (row)
          await appendEvent(tx, {
            ...{ at, actor: row.agent, kind: "agent-reminded", subject: `run:${row.run_id}` },
            data: { id, part: row.part, characters: text.length },
          });
      });
    },

    async end(id: string, ending: Ending): Promise<void> {
      const at = stamp();
      await db.write(async (tx) => {
        const row = await endContext(tx, id, at, usageColumns(ending));
        if (row)
          await appendEvent(tx, {
            at,
            actor: row.agent,
            kind: "agent-ended",
            subject: `run:${row.run_id}`,
            data: { id, ...usageColumns(ending) },
          });
      });
    },

    /** Stores one tool call with its answer, to check evidence against. Returns the id that evidence names. */
    async called(call: ToolCall): Promise<string> {
      const id = newId("call");
      const output = JSON.stringify(call.output) ?? "";
      const row: StoredToolCall = {
        id,
        run_id: call.run,
        context_id: call.context,
        task_id: call.task?.id ?? null,
        epoch: call.task?.epoch ?? null,
        part: call.part,
        name: call.name,
        ok: call.ok ? 1 : 0,
        input: (JSON.stringify(call.input) ?? "").slice(0, maxInput),
        output: output.slice(0, maxOutput),
        output_bytes: Buffer.byteLength(output),
        retrieved: retrieved(call.name, call.output),
        duration_ms: Math.round(call.durationMs),
        at: stamp(),
      };
      await db.write((tx) => insertToolCall(tx, row));
      return id;
    },
  };
}

export type ContextStore = ReturnType<typeof contextStore>;

const usageColumns = (ending: Ending): ContextUsage => ({
  ended: ending.ended,
  input_tokens: ending.inputTokens,
  output_tokens: ending.outputTokens,
  cache_read_tokens: ending.cacheReadTokens,
  cache_write_tokens: ending.cacheWriteTokens,
  tool_calls: ending.toolCalls,
  messages: ending.messages,
  cost_usd: ending.costUsd,
  destinations: ending.destinations,
  compactions: ending.compactions,
});

/**
 * Counts the fragments of a context and returns the characters that were repeated. A repeat stands twice
 * in this context, or was sent to some agent before and is longer than a reference to it.
 */
export async function noteFragments(tx: Query, fragments: SentFragment[], run: string, at: string) {
  // Sorted, so that two transactions that count the same fragments cannot deadlock.
  const sorted = [...fragments].sort((a, b) => (a.hash < b.hash ? -1 : 1));
  const rows = sorted.map((one) => ({
    hash: one.hash,
    kind: one.kind,
    characters: one.characters,
    first_seen: at,
    first_run: run,
    uses: one.times,
  }));
  const noted = await countFragments(tx, rows);
  const uses = new Map(noted.map((row) => [row.hash, row.uses]));
  const sums = { repeats: 0, repeat_characters: 0, removed_characters: 0 };
  for (const one of sorted) {
    const within = one.times - 1;
    const seenBefore = (uses.get(one.hash) ?? one.times) > one.times;
    const avoidable = seenBefore ? Math.max(0, one.characters - referenceCharacters) : 0;
    sums.repeats += within + (avoidable > 0 ? 1 : 0);
    sums.repeat_characters += one.characters * within + avoidable;
    sums.removed_characters += one.characters * within + Math.min(avoidable, Math.max(0, one.characters - one.sent));
  }
  return sums;
}

/** The ids of nodes and entries in an answer. */
export function retrieved(name: string, output: unknown): string[] {
  const answer = (output ?? {}) as Record<string, unknown>;
  const ids = (list: unknown) =>
    Array.isArray(list) ? list.flatMap((one) => (typeof one?.id === "string" ? [one.id] : [])) : [];
  const refs = (list: unknown) =>
    Array.isArray(list) ? list.flatMap((one) => (typeof one?.ref === "string" ? [one.ref] : [])) : [];
  const own = typeof answer.id === "string" ? [answer.id] : [];
  switch (name) {
    case "memory_search_nodes":
    case "memory_query_nodes":
    case "memory_get_subgraph":
    case "memory_find_path":
      return ids(answer.nodes);
    case "memory_get_neighbors":
      return ids(answer.neighbors);
    case "search_entries":
      return ids(answer.results);
    case "search":
      return refs(answer.results);
    case "recall":
      return refs(answer.passages);
    case "memory_get_node":
    case "fetch_entry":
      return own;
    default:
      return [];
  }
}
