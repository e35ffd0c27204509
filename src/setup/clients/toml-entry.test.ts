import { parse } from "smol-toml";
import { expect, test } from "vitest";
import { unwrap } from "../../kernel/result.ts";
import { readTomlEntry, removeTomlEntry, setTomlEntry } from "./toml-entry.ts";

const path = ["mcp_servers", "scriptorium"] as const;
const shown = "~/.codex/config.toml";
const entry = { command: "scriptorium", args: ["mcp"] };
const at = (text: string) => ({ text, shown, path: [...path] as [string, string] });

const mine = `# my settings
model = "o5"   # the good one
notify = [
  "[not a header]",
]

[projects."/home/ada/x"]
trust_level = "trusted"
`;

test("a table is added at the end, and the rest keeps its bytes", () => {
  const after = unwrap(setTomlEntry(at(mine), entry));
  expect(after.startsWith(`${mine}\n[mcp_servers.scriptorium]\n`)).toBe(true);
  expect(unwrap(readTomlEntry(at(after)))).toMatchObject(entry);
  expect(setTomlEntry(at(after), entry)).toEqual({ ok: true, value: after });
  expect(unwrap(removeTomlEntry(at(after)))).toBe(mine);
});

test("a table that exists keeps its other keys, its sub-tables and the tables around it", () => {
  const text = `[mcp_servers.a]
command = "a"

[ mcp_servers."scriptorium" ] # ours
command = 'old'
startup_timeout_sec = 30
args = [
  "mcp", # comment
  "--role",
]

[mcp_servers.scriptorium.env]
A = "1"

# about b
[mcp_servers.b]
command = "b"
`;
  const after = unwrap(setTomlEntry(at(text), entry));
  expect(parse(after)).toEqual({
    mcp_servers: {
      a: { command: "a" },
      b: { command: "b" },
      scriptorium: { ...entry, startup_timeout_sec: 30, env: { A: "1" } },
    },
  });
  for (const line of ['[ mcp_servers."scriptorium" ] # ours', "startup_timeout_sec = 30", "# about b"])
    expect(after).toContain(line);
  const removed = unwrap(removeTomlEntry(at(after)));
  expect(removed).toBe('[mcp_servers.a]\ncommand = "a"\n\n# about b\n[mcp_servers.b]\ncommand = "b"\n');
});

test.each([
  ["an inline table", 'mcp_servers = { scriptorium = { command = "x", args = ["mcp"] } }\n'],
  ["a dotted key", 'mcp_servers.scriptorium.command = "x"\n'],
  ["a key of another table", '[mcp_servers]\nscriptorium = { command = "x" }\n'],
  ["an inline table of others", 'mcp_servers = { a = { command = "x" } }\n'],
])("%s cannot be edited as text and is left to the person", (_what, text) => {
  expect(setTomlEntry(at(text), entry)).toMatchObject({
    ok: false,
    problem: { message: expect.stringContaining("edit it by hand") },
  });
});

test("invalid TOML is refused with its place", () => {
  expect(setTomlEntry(at('model = "x"\nmodel = \n'), entry)).toMatchObject({
    ok: false,
    problem: { code: "invalid", message: expect.stringMatching(/^~\/\.codex\/config\.toml:2:\d+: /) },
  });
});

test("a file with nothing but our table is removed as a whole", () => {
  expect(removeTomlEntry(at(unwrap(setTomlEntry(at(""), entry))))).toEqual({ ok: true, value: undefined });
});
