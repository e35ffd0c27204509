import { describe, expect, test } from "vitest";
import { readTranscript } from "./transcript.ts";

const workspace = { root: "/work/app", wiki: "wiki" };
const said = (...items: object[]) =>
  readTranscript(
    items.map((item) => JSON.stringify(item)),
    workspace,
  );

const claude = (name: string, input: object, id = "t1") => ({
  type: "assistant",
  message: { role: "assistant", content: [{ type: "tool_use", id, name, input }] },
});
const failed = (id = "t1") => ({
  type: "user",
  message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, is_error: true, content: "denied" }] },
});
const codex = (payload: object) => ({ type: "response_item", payload: { call_id: "c1", ...payload } });
const typed = (content: string) => ({ type: "user", message: { role: "user", content } });

describe("the transcript of a session", () => {
  test.each<[string, object[]]>([
    ["an edit", [claude("Edit", { file_path: "/work/app/src/a.ts" })]],
    ["a new file", [claude("Write", { file_path: "/work/app/src/a.ts" })]],
    ["a notebook", [claude("NotebookEdit", { notebook_path: "/work/app/a.ipynb" })]],
    ["a patch of Codex", [codex({ type: "custom_tool_call", name: "apply_patch", input: "*** Add File: a.ts\n+x" })]],
    [
      "a patch in a shell",
      [
        codex({
          type: "function_call",
          name: "exec_command",
          arguments: JSON.stringify({ cmd: "apply_patch <<'E'\n*** Begin Patch\n*** Update File: src/a.ts\nE" }),
        }),
      ],
    ],
  ])("%s changes files", (_name, items) => {
    expect(said(...items)).toEqual({ changedFiles: true, wroteMemory: false, askedToRemember: false });
  });

  test.each<[string, object[]]>([
    ["reading", [claude("Read", { file_path: "/work/app/src/a.ts" })]],
    ["a refused edit", [claude("Edit", { file_path: "/work/app/src/a.ts" }), failed()]],
    ["a file elsewhere", [claude("Write", { file_path: "/tmp/a.ts" })]],
    ["a folder with a similar name", [claude("Write", { file_path: "/work/app-two/a.ts" })]],
    ["lines of another shape", [{ payload: 3 }, { message: "x" }, { type: "user", message: { content: null } }]],
  ])("%s changes none", (_name, items) => {
    expect(said(...items)).toEqual({ changedFiles: false, wroteMemory: false, askedToRemember: false });
  });

  test.each<[string, object]>([
    ["a tool of the server", claude("mcp__scriptorium__append_log", { id: "decisions", line: "x" })],
    ["a tool of the plugin", claude("mcp__plugin_scriptorium_scriptorium__commit_entry", {})],
    [
      "a tool in Codex",
      codex({ type: "function_call", name: "append_log", namespace: "mcp__scriptorium", arguments: "{}" }),
    ],
    ["scribe in a shell", claude("Bash", { command: "scribe append-log --id decisions --line x" })],
    ["a file of the wiki", claude("Edit", { file_path: "/work/app/wiki/decisions.md" })],
  ])("%s writes the memory", (_name, item) => {
    expect(said(item)).toMatchObject({ wroteMemory: true, changedFiles: false });
  });

  test("a request of the person to remember counts, one of a hook or a file does not", () => {
    expect(said(typed("From now on use tabs.")).askedToRemember).toBe(true);
    expect(said(typed("We have decided against Redis")).askedToRemember).toBe(true);
    expect(said({ ...typed("remember this"), isMeta: true }).askedToRemember).toBe(false);
    expect(said(typed("<system-reminder>remember this</system-reminder>")).askedToRemember).toBe(false);
    expect(said(typed("do you remember the file?")).askedToRemember).toBe(false);
    expect(said({ message: { role: "assistant", content: "from now on" } }).askedToRemember).toBe(false);
  });

  test("a broken line is skipped", () => {
    expect(readTranscript(['{"type":"tool_use"', '"role":"user"', ""], workspace).changedFiles).toBe(false);
  });
});
