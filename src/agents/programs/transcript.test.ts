import { expect, test } from "vitest";
import { transcriptReader } from "./transcript.ts";

const read = (program: string, events: (object | string)[]) => {
  const reader = transcriptReader(program, "scriptorium");
  const lines = events.map((event) => (typeof event === "string" ? event : JSON.stringify(event)));
  return [...lines.flatMap(reader.line), ...reader.end()];
};

test("O5: Claude Code's events become texts and calls; calls of our own tools are left out", () => {
  const content = [
    { type: "text", text: "I look." },
    { type: "tool_use", id: "a", name: "Read", input: { file_path: "x" } },
    { type: "tool_use", id: "b", name: "mcp__scriptorium__write_file", input: {} },
  ];
  const results = [
    { type: "tool_result", tool_use_id: "a", content: [{ type: "text", text: "found" }] },
    { type: "tool_result", tool_use_id: "b", content: "ours" },
  ];
  const events = [
    { type: "system", subtype: "init" },
    { type: "assistant", message: { content } },
  ];
  expect(read("claude", [...events, { type: "user", message: { content: results } }, "not JSON"])).toEqual([
    { kind: "said", text: "I look." },
    { kind: "own_call", id: "a", tool: "Read", input: { file_path: "x" } },
    { kind: "own_result", id: "a", ok: true, output: "found" },
    { kind: "printed", text: "not JSON" },
  ]);
});

test("O5: Codex's items become texts and calls", () => {
  const items = [
    { type: "agent_message", text: "Done." },
    { type: "mcp_tool_call", server: "scriptorium", tool: "write_file" },
    { id: "c", type: "command_execution", command: "ls", aggregated_output: "a\n", exit_code: 1 },
  ];
  expect(
    read(
      "codex",
      items.map((item) => ({ type: "item.completed", item })),
    ),
  ).toEqual([
    { kind: "said", text: "Done." },
    { kind: "own_call", id: "c", tool: "command", input: { command: "ls" } },
    { kind: "own_result", id: "c", ok: false, output: "a\n" },
  ]);
});

test("O5: the chunks of an ACP agent are one text until it calls a tool or ends", () => {
  const chunk = (text: string) => ({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  const updates = [
    chunk("I "),
    chunk("look."),
    { sessionUpdate: "tool_call", toolCallId: "a", title: "Read x", rawInput: { path: "x" } },
    { sessionUpdate: "tool_call_update", toolCallId: "a", status: "completed", content: [{ content: { text: "y" } }] },
    chunk("Done."),
  ];
  expect(
    read(
      "acp",
      updates.map((update) => ({ method: "session/update", params: { update } })),
    ),
  ).toEqual([
    { kind: "said", text: "I look." },
    { kind: "own_call", id: "a", tool: "Read x", input: { path: "x" } },
    { kind: "own_result", id: "a", ok: true, output: "y" },
    { kind: "said", text: "Done." },
  ]);
});

test("O5: lines of any other program are kept as they are", () => {
  expect(read("command", ["one", "", '{"two": 2}'])).toEqual([
    { kind: "printed", text: "one" },
    { kind: "printed", text: '{"two": 2}' },
  ]);
});
