import type { TranscriptEntry } from "../runner.ts";
import { parseEvent } from "./listener.ts";

/** Reads entries of a transcript from the lines that a program prints. */
export type TranscriptReader = { line(text: string): TranscriptEntry[]; end(): TranscriptEntry[] };

/**
 * The reader for a program. `server` is the name of our MCP server: calls of its tools are recorded when they are made,
 * and left out here. Lines of an unknown program are entries as they are.
 */
export function transcriptReader(program: string, server: string | undefined): TranscriptReader {
  const isOurs = (tool: string) => server !== undefined && tool.includes(server);
  return (readers[program] ?? printedLines)(isOurs);
}

type IsOurs = (tool: string) => boolean;

const printed = (text: string): TranscriptEntry[] => (text.trim() === "" ? [] : [{ kind: "printed", text }]);
const said = (text: unknown): TranscriptEntry[] =>
  typeof text === "string" && text.trim() !== "" ? [{ kind: "said", text }] : [];

const printedLines = (): TranscriptReader => ({ line: printed, end: () => [] });

type Block = {
  type?: string;
  text?: string;
  id?: string;
  name?: string;
  input?: unknown;
  tool_use_id?: string;
  content?: unknown;
  is_error?: boolean;
};
type ClaudeEvent = { type?: string; message?: { content?: Block[] | string } };

function claudeLines(isOurs: IsOurs): TranscriptReader {
  const ours = new Set<string>();
  const entriesOf = (block: Block): TranscriptEntry[] => {
    if (block.type === "text") return said(block.text);
    if (block.type === "tool_use") {
      const { id = "", name = "", input } = block;
      if (!isOurs(name)) return [{ kind: "own_call", id, tool: name, input }];
      ours.add(id);
    }
    if (block.type === "tool_result" && !ours.has(block.tool_use_id ?? ""))
      return [
        { kind: "own_result", id: block.tool_use_id ?? "", ok: block.is_error !== true, output: textOf(block.content) },
      ];
    return [];
  };
  return {
    line(text) {
      const event = parseEvent<ClaudeEvent>(text);
      if (!event) return printed(text);
      const { content } = event.message ?? {};
      if (event.type !== "assistant" && event.type !== "user") return [];
      return Array.isArray(content) ? content.flatMap(entriesOf) : [];
    },
    end: () => [],
  };
}

type CodexItem = {
  id?: string;
  type?: string;
  text?: string;
  message?: string;
  server?: string;
  command?: string;
  aggregated_output?: string;
  exit_code?: number | null;
  changes?: unknown;
  query?: string;
};
type CodexEvent = { type?: string; item?: CodexItem; error?: { message?: string } };

function codexLines(isOurs: IsOurs): TranscriptReader {
  const entriesOf = (item: CodexItem): TranscriptEntry[] => {
    const { id = "", type = "", server = "" } = item;
    if (type === "agent_message") return said(item.text);
    if (type === "error") return [{ kind: "notice", text: item.message ?? "error" }];
    if (type === "mcp_tool_call") return isOurs(server) ? [] : [{ kind: "own_call", id, tool: server, input: item }];
    if (type === "command_execution") {
      const ok = item.exit_code === 0;
      return [
        { kind: "own_call", id, tool: "command", input: { command: item.command } },
        { kind: "own_result", id, ok, output: item.aggregated_output ?? "" },
      ];
    }
    if (type === "file_change") return [{ kind: "own_call", id, tool: type, input: item.changes }];
    return type === "web_search" ? [{ kind: "own_call", id, tool: type, input: item.query }] : [];
  };
  return {
    line(text) {
      const event = parseEvent<CodexEvent>(text);
      if (!event) return printed(text);
      if (event.type === "turn.failed") return [{ kind: "notice", text: event.error?.message ?? "the turn failed" }];
      return event.type === "item.completed" && event.item ? entriesOf(event.item) : [];
    },
    end: () => [],
  };
}

type AcpUpdate = {
  sessionUpdate?: string;
  content?: unknown;
  toolCallId?: string;
  title?: string;
  rawInput?: unknown;
  rawOutput?: unknown;
  status?: string;
};
type AcpMessage = { method?: string; params?: { update?: AcpUpdate } };

/** Agents send their text in chunks: it is one entry until something else happens. */
function acpLines(isOurs: IsOurs): TranscriptReader {
  const ours = new Set<string>();
  let text = "";
  const flushed = (): TranscriptEntry[] => {
    const whole = text;
    text = "";
    return said(whole);
  };
  const entriesOf = (update: AcpUpdate): TranscriptEntry[] => {
    const { toolCallId: id = "", title = "" } = update;
    if (update.sessionUpdate === "agent_message_chunk") {
      text += textOf(update.content);
      return [];
    }
    if (update.sessionUpdate === "tool_call") {
      if (isOurs(title)) ours.add(id);
      return [
        ...flushed(),
        ...(ours.has(id) ? [] : [{ kind: "own_call" as const, id, tool: title, input: update.rawInput }]),
      ];
    }
    const isEnd = update.status === "completed" || update.status === "failed";
    if (update.sessionUpdate !== "tool_call_update" || !isEnd || ours.has(id)) return [];
    const output = textOf(update.content) || textOf(update.rawOutput);
    return [...flushed(), { kind: "own_result", id, ok: update.status === "completed", output }];
  };
  return {
    line(raw) {
      const message = parseEvent<AcpMessage>(raw);
      if (!message) return printed(raw);
      return message.method === "session/update" && message.params?.update ? entriesOf(message.params.update) : [];
    },
    end: flushed,
  };
}

/** The text in the content of a message: a string, a block, or blocks of which some are texts. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(textOf).filter(Boolean).join("\n");
  if (content === null || typeof content !== "object") return "";
  const { text, content: inner } = content as { text?: unknown; content?: unknown };
  return typeof text === "string" ? text : inner === undefined ? "" : textOf(inner);
}

const readers: Record<string, (isOurs: IsOurs) => TranscriptReader> = {
  claude: claudeLines,
  codex: codexLines,
  acp: acpLines,
};
