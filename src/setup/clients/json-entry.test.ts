import { expect, test } from "vitest";
import { unwrap } from "../../kernel/result.ts";
import { readJsonEntry, removeJsonEntry, setJsonEntry } from "./json-entry.ts";

const path: [string, string] = ["mcpServers", "scriptorium"];
const shown = ".mcp.json";
const dialect = { comments: true, trailingCommas: true };
const entry = { command: "scriptorium", args: ["mcp"] };

const commented = `{
\t// my servers
\t"mcpServers": {
\t\t"other": { "command": "x" }, /* keep */
\t},
\t"theme": "dark",
}
`;

test("an entry is added to JSON with comments, tabs and trailing commas, and the rest keeps its bytes", () => {
  const after = unwrap(setJsonEntry({ text: commented, shown, path, dialect }, entry));
  expect(unwrap(readJsonEntry({ text: after, shown, path, dialect }))).toEqual(entry);
  for (const line of ["\t// my servers", '\t\t"other": { "command": "x" }', "/* keep */", '\t"theme": "dark",'])
    expect(after).toContain(line);
  expect(after).toContain('\n\t\t"scriptorium": {\n\t\t\t"command": "scriptorium",');
  expect(setJsonEntry({ text: after, shown, path, dialect }, entry)).toEqual({ ok: true, value: after });
});

test("an entry that exists keeps the keys that the person added", () => {
  const text = JSON.stringify({ mcpServers: { scriptorium: { command: "old", args: [], env: { A: "1" } } } }, null, 4);
  const after = unwrap(setJsonEntry({ text, shown, path, dialect }, entry));
  expect(JSON.parse(after)).toEqual({ mcpServers: { scriptorium: { ...entry, env: { A: "1" } } } });
  expect(after).toContain('\n            "command": "scriptorium"');
});

test("Windows line ends stay", () => {
  const after = unwrap(setJsonEntry({ text: '{\r\n  "a": 1\r\n}\r\n', shown, path, dialect }, entry));
  expect(after.replaceAll("\r\n", "")).not.toContain("\n");
});

test.each([
  ['{\n  "mcpServers": {\n', ".mcp.json:3:1: close brace expected"],
  ['{ "mcpServers": { "a": } }', ".mcp.json:1:24: value expected"],
  ["[1]", ".mcp.json:1:1: expected a JSON object"],
  ['{ "mcpServers": [] }', ".mcp.json: mcpServers is not an object"],
  ['{ "mcpServers": { "scriptorium": "x" } }', ".mcp.json: mcpServers.scriptorium is not an object"],
])("invalid JSON (%j) is refused with its place", (text, message) => {
  const set = setJsonEntry({ text, shown, path, dialect }, entry);
  expect(set).toMatchObject({ ok: false, problem: { code: "invalid", message: expect.stringContaining(message) } });
});

test.each([
  ["the only one", { mcpServers: { scriptorium: entry } }, undefined],
  ["with a schema key only", { $schema: "x", mcpServers: { scriptorium: entry } }, undefined],
  ["beside others", { mcpServers: { a: {}, scriptorium: entry } }, { mcpServers: { a: {} } }],
  ["beside other settings", { theme: "dark", mcpServers: { scriptorium: entry } }, { theme: "dark" }],
])("an entry (%s) is removed without leaving an empty object", (_what, value, rest) => {
  const after = unwrap(removeJsonEntry({ text: JSON.stringify(value, null, 2), shown, path, dialect }));
  expect(after && JSON.parse(after)).toEqual(rest);
});

test("a file whose only content besides the entry is a comment is kept", () => {
  const text = '{\n  // mine\n  "mcpServers": { "scriptorium": {} }\n}\n';
  expect(unwrap(removeJsonEntry({ text, shown, path, dialect }))).toContain("// mine");
});

test.each([
  ["an empty object", "{}"],
  ["empty servers", '{ "mcpServers": {} }'],
  ["one line", '{"mcpServers":{"a":{"command":"x"}}}'],
  ["no servers", '{\n  "theme": "dark"\n}\n'],
  ["a comment in empty servers", '{\n  "mcpServers": {\n    // none yet\n  }\n}\n'],
  ["a byte order mark", '\uFEFF{\n  "theme": "dark"\n}\n'],
  ["a comma and a comment after the last server", commented],
])("an entry in %s can be read back and removed", (_what, text) => {
  const after = unwrap(setJsonEntry({ text, shown, path, dialect }, entry));
  expect(unwrap(readJsonEntry({ text: after, shown, path, dialect }))).toEqual(entry);
  const removed = unwrap(removeJsonEntry({ text: after, shown, path, dialect }));
  if (removed !== undefined) expect(unwrap(readJsonEntry({ text: removed, shown, path, dialect }))).toBeUndefined();
});

test.each([
  [
    '{ "a": 1 } // mine',
    { comments: false, trailingCommas: false },
    ".mcp.json:1:12: this client does not read JSON with comments",
  ],
  ['{ "a": 1, }', { comments: true, trailingCommas: false }, ".mcp.json:1:11: property name expected"],
])("JSON that the client itself would not read (%j) is refused with its place", (text, dialect, message) => {
  expect(setJsonEntry({ text, shown, path, dialect }, entry)).toMatchObject({
    ok: false,
    problem: { code: "invalid", message: expect.stringContaining(message) },
  });
});
