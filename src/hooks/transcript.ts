import { isAbsolute, relative, sep } from "node:path";

/** What a session has done so far, read from the log that the client keeps of it. */
export type SessionRecord = { changedFiles: boolean; wroteMemory: boolean; askedToRemember: boolean };

type Workspace = { root: string; wiki: string };
type Call = { id: string; name: string; input: Record<string, unknown>; text: string };

const memoryTools = /(^|__)(commit_entry|append_log|transfer_focus|create_section|insert_proposal|memory_add_node)$/;
const memoryCommands = /\bscribe\b.*\b(commit-entry|append-log|transfer-focus|create-section|insert-proposal)\b/;
const fileTools = /^(Edit|MultiEdit|Write|NotebookEdit|apply_patch)$/;
const requests = /\b(remember (this|that)|keep in mind|from now on|we('ve| have)? (decided|agreed))\b/i;

/** Most of a long transcript is output of tools, which need not be parsed. */
const mayMatter = /"(tool_use|function_call|custom_tool_call)"|"role":"user"/;

/** Reads the JSON lines of Claude Code's and of Codex's transcripts; other lines are skipped. */
export function readTranscript(lines: Iterable<string>, workspace: Workspace): SessionRecord {
  const calls = new Map<string, Call>();
  let askedToRemember = false;
  for (const line of lines) {
    const item = mayMatter.test(line) ? parsed(line) : undefined;
    if (!item) continue;
    for (const call of callsIn(item)) calls.set(call.id, call);
    for (const id of failedCallsIn(item)) calls.delete(id);
    askedToRemember ||= requests.test(promptIn(item));
  }
  const all = [...calls.values()];
  return {
    changedFiles: all.some((call) => changesFile(call, workspace, false)),
    wroteMemory: all.some((call) => writesMemory(call) || changesFile(call, workspace, true)),
    askedToRemember,
  };
}

const writesMemory = ({ name, text }: Call) => memoryTools.test(name) || memoryCommands.test(text);

/** Whether it edits a file of the workspace, in the wiki or elsewhere. */
function changesFile({ name, input, text }: Call, { root, wiki }: Workspace, inWiki: boolean): boolean {
  const isPatch = name === "apply_patch" || /\*\*\* Begin Patch/.test(text);
  const paths = isPatch
    ? [...text.matchAll(/\*\*\* (?:Add|Update|Delete) File: (.+?)(?:\\n|\n|$)/g)].map(([, path = ""]) => path)
    : fileTools.test(name)
      ? [input.file_path ?? input.notebook_path].filter((path) => typeof path === "string")
      : [];
  return paths.some((path) => {
    const inside = isAbsolute(path) ? relative(root, path) : path;
    if (inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside)) return false;
    return inside.startsWith(`${wiki}/`) === inWiki;
  });
}

/** Claude Code: blocks of an assistant's message. Codex: response items. */
function callsIn(item: Json): Call[] {
  const payload = objectOf(item.payload);
  if (payload.type === "function_call" || payload.type === "custom_tool_call") {
    const text = String(payload.arguments ?? payload.input ?? "");
    return [{ id: String(payload.call_id), name: String(payload.name), input: parsed(text) ?? {}, text }];
  }
  return blocksOf(item)
    .filter(({ type }) => type === "tool_use")
    .map(({ id, name, input }) => {
      const given = objectOf(input);
      return { id: String(id), name: String(name), input: given, text: String(given.command ?? "") };
    });
}

const failedCallsIn = (item: Json): string[] =>
  blocksOf(item)
    .filter(({ type, is_error }) => type === "tool_result" && is_error === true)
    .map(({ tool_use_id }) => String(tool_use_id));

/** What the person typed. Hooks and commands add messages of their own, which are marked or begin with a tag. */
function promptIn(item: Json): string {
  if (item.isMeta === true) return "";
  const message = objectOf(item.message ?? item.payload);
  if (message.role !== "user") return "";
  const { content } = message;
  const texts = typeof content === "string" ? [content] : listOf(content).map((part) => objectOf(part).text);
  return texts.filter((text) => typeof text === "string" && !text.startsWith("<")).join("\n");
}

type Json = Record<string, unknown>;

const blocksOf = (item: Json): Json[] => listOf(objectOf(item.message).content).map(objectOf);
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const objectOf = (value: unknown): Json => (typeof value === "object" && value !== null ? (value as Json) : {});

function parsed(line: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}
