import type { CrewPart } from "../../kernel/caller.ts";
import type { DestinationUse } from "../../kernel/destination-use.ts";
import type { ContextRow, FingerprintRow, ToolCallRow } from "../crew-tables.ts";
import type { Query } from "../database.ts";
import { type Parsed, parseColumns, stringifyColumns } from "../json-columns.ts";
import { byTaskOrRun, type OfTask } from "./attempts.ts";

type PartOfContext = { name: string; characters: number; tokens: number };
type Compaction = { call: number; characters: number; removed: string[] };
type Json = { parts: PartOfContext[]; destinations: DestinationUse[] | null; compactions: Compaction[] };
const empty: Json = { parts: [], destinations: null, compactions: [] };

/** The context that one agent was started with, and its usage. */
export type StoredContext = Parsed<ContextRow, Json>;

export async function contextsOf(query: Query, of: OfTask): Promise<StoredContext[]> {
  const [column, value] = byTaskOrRun(of);
  const rows = await query.selectFrom("contexts").selectAll().where(column, "=", value).orderBy("started_at").execute();
  return rows.map((row) => parseColumns(row, empty));
}

export type ContextUsage = Pick<
  StoredContext,
  | "ended"
  | "input_tokens"
  | "output_tokens"
  | "cache_read_tokens"
  | "cache_write_tokens"
  | "tool_calls"
  | "messages"
  | "cost_usd"
  | "destinations"
  | "compactions"
>;

export const insertContext = (tx: Query, context: Omit<StoredContext, "ended_at" | keyof ContextUsage>) =>
  tx
    .insertInto("contexts")
    .values({
      ...(stringifyColumns<ContextRow, Json>(context, empty) as ContextRow),
      ended_at: null,
      ended: null,
      input_tokens: null,
      output_tokens: null,
      cache_read_tokens: null,
      cache_write_tokens: null,
      tool_calls: null,
      messages: null,
      cost_usd: null,
      destinations: null,
      compactions: null,
    })
    .execute();

/** Adds a part to what a running agent was sent. */
export async function addPart(tx: Query, id: string, part: PartOfContext): Promise<StoredContext | undefined> {
  const row = await tx.selectFrom("contexts").selectAll().where("id", "=", id).executeTakeFirst();
  if (!row) return undefined;
  const context = parseColumns<ContextRow, Json>(row, empty);
  const { parts } = stringifyColumns<ContextRow, Json>({ parts: [...context.parts, part] }, empty);
  await tx.updateTable("contexts").set({ parts }).where("id", "=", id).execute();
  return context;
}

/** Undefined if it had ended before. */
export const endContext = (
  tx: Query,
  id: string,
  at: string,
  usage: ContextUsage,
): Promise<Pick<ContextRow, "run_id" | "agent"> | undefined> =>
  tx
    .updateTable("contexts")
    .set({ ...stringifyColumns<ContextRow, Json>(usage, empty), ended_at: at })
    .where("id", "=", id)
    .where("ended_at", "is", null)
    .returning(["run_id", "agent"])
    .executeTakeFirst();

/** Adds the uses of each fragment and returns the totals, in one statement. */
export const countFragments = (tx: Query, rows: FingerprintRow[]): Promise<Pick<FingerprintRow, "hash" | "uses">[]> =>
  rows.length === 0
    ? Promise.resolve([])
    : tx
        .insertInto("fingerprints")
        .values(rows)
        .onConflict((conflict) =>
          conflict.column("hash").doUpdateSet((x) => ({ uses: x("fingerprints.uses", "+", x.ref("excluded.uses")) })),
        )
        .returning(["hash", "uses"])
        .execute();

type CallJson = { retrieved: string[] };
const noCalls: CallJson = { retrieved: [] };

export type StoredToolCall = Parsed<ToolCallRow, CallJson>;

/** Without inputs and answers, which can be long. */
export function toolCallsOf(
  query: Query,
  of: OfTask,
): Promise<Pick<ToolCallRow, "name" | "part" | "ok" | "duration_ms" | "output_bytes" | "at">[]> {
  const [column, value] = byTaskOrRun(of);
  return query
    .selectFrom("tool_calls")
    .select(["name", "part", "ok", "duration_ms", "output_bytes", "at"])
    .where(column, "=", value)
    .orderBy("at")
    .execute();
}

/** The entries that agents of other runs got since a time, by run. */
export async function entriesReadByOthers(query: Query, run: string, since: string): Promise<Map<string, Set<string>>> {
  const rows = await query
    .selectFrom("tool_calls")
    .select(["run_id", "retrieved"])
    .where("name", "in", ["fetch_entry", "search_entries"])
    .where("run_id", "<>", run)
    .where("at", ">=", since)
    .where("retrieved", "<>", "[]")
    .execute();
  const found = new Map<string, Set<string>>();
  for (const row of rows) {
    const ids = found.get(row.run_id) ?? new Set();
    for (const id of parseColumns<Pick<ToolCallRow, "retrieved">, CallJson>(row, noCalls).retrieved) ids.add(id);
    found.set(row.run_id, ids);
  }
  return found;
}

export type CallsBy = { task: string; epoch: number; part: CrewPart; context?: string | null };

/** The calls that agents of one part made under one claim; with `context`, those of one agent. */
export const callsBy = (query: Query, { task, epoch, part, context }: CallsBy): Promise<ToolCallRow[]> =>
  query
    .selectFrom("tool_calls")
    .selectAll()
    .where("task_id", "=", task)
    .where("epoch", "=", epoch)
    .where("part", "=", part)
    .$if(context !== undefined, (q) =>
      context === null ? q.where("context_id", "is", null) : q.where("context_id", "=", context ?? ""),
    )
    .orderBy("at")
    .execute();

/** A call of an agent of a task, by its id. */
export const findToolCall = (
  query: Query,
  task: string,
  id: string,
): Promise<Pick<ToolCallRow, "name" | "output"> | undefined> =>
  query
    .selectFrom("tool_calls")
    .select(["name", "output"])
    .where("id", "=", id)
    .where("task_id", "=", task)
    .executeTakeFirst();

/** The lists of steps that the workers of a task set, oldest first. */
export const stepCalls = (query: Query, task: string): Promise<Pick<ToolCallRow, "epoch" | "input">[]> =>
  query
    .selectFrom("tool_calls")
    .select(["epoch", "input"])
    .where("task_id", "=", task)
    .where("name", "=", "todo_write")
    .where("part", "=", "worker")
    .where("ok", "=", 1)
    .orderBy("at")
    .execute();

export const insertToolCall = (tx: Query, call: StoredToolCall) =>
  tx
    .insertInto("tool_calls")
    .values(stringifyColumns<ToolCallRow, CallJson>(call, noCalls) as ToolCallRow)
    .execute();

/** The answer to the last call of a tool in a run that was refused. */
export const lastRefusedCall = async (query: Query, run: string, name: string): Promise<string | undefined> =>
  (
    await query
      .selectFrom("tool_calls")
      .select("output")
      .where("run_id", "=", run)
      .where("name", "=", name)
      .where("ok", "=", 0)
      .orderBy("at", "desc")
      .limit(1)
      .executeTakeFirst()
  )?.output;
