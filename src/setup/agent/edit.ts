import { isDeepStrictEqual } from "node:util";
import { isCollection, isMap, isNode, isScalar, type Pair, stringify, type YAMLMap } from "yaml";
import { configFile } from "../../config/config.ts";
import { configName } from "../../config/environment.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { readYaml } from "../../kernel/yaml.ts";

type Keys = Readonly<Record<string, unknown>>;
type Edit = { from: number; to: number; text: string };

const author = { author_name: "Scriptorium agent", author_email: "agent@example.org" };
const limit = { file: configName, maxBytes: 256 * 1024 };

/**
 * scriptorium.yaml with these keys in its `agent` block; undefined removes a key. Only the lines of these keys change:
 * comments, line endings and the order of the rest stay. The result is parsed again, and refused if it says anything
 * else than was wanted.
 */
export function withAgentKeys(text: string, keys: Keys): Result<string> {
  const read = readYaml(text, configFile, limit);
  if (!read.ok) return read;
  const { document } = read.value;
  const before = (document.toJS() ?? {}) as Record<string, unknown>;
  const block = before.agent as Keys | undefined;
  const wanted = { ...before, agent: updated(block ?? author, keys) };
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const root = document.contents;
  const pair = isMap(root) ? pairOf(root, "agent") : undefined;
  const after =
    pair === undefined
      ? appended(text, wanted.agent, eol)
      : isMap(pair.value)
        ? pair.value.flow
          ? withFlow(text, pair.value, wanted.agent)
          : withLines(text, pair.value, keys, eol)
        : undefined;
  if (after === undefined || !says(after, wanted)) return byHand(wanted.agent);
  return ok(after);
}

function updated(block: Keys, keys: Keys): Keys {
  const all = Object.entries({ ...block, ...keys });
  return Object.fromEntries(all.filter(([, value]) => value !== undefined));
}

function says(text: string, wanted: unknown): boolean {
  const read = readYaml(text, configFile, limit);
  return read.ok && isDeepStrictEqual(read.value.document.toJS(), wanted);
}

const byHand = (block: Keys) =>
  refuse(
    "invalid",
    `${configName} is written in a way that cannot be edited here; change its agent block by hand to:\n${blockOf(block, "\n")}`,
  );

const inline = (value: unknown) => stringify(value, { collectionStyle: "flow", lineWidth: 0 }).trim();
const lineOf = (key: string, value: unknown) => `${key}: ${inline(value)}`;
const blockOf = (block: Keys, eol: string) =>
  ["agent:", ...Object.entries(block).map(([key, value]) => `  ${lineOf(key, value)}`)].join(eol);

function appended(text: string, block: Keys, eol: string): string {
  const gap = text === "" || text.endsWith("\n") ? "" : eol;
  return `${text}${gap}${blockOf(block, eol)}${eol}`;
}

/** A block in braces is replaced as a whole; one with comments in it is left to the person. */
function withFlow(text: string, map: YAMLMap, block: Keys): string | undefined {
  const [from = 0, to = 0] = map.range ?? [];
  return /(^|\s)#/m.test(text.slice(from, to)) ? undefined : text.slice(0, from) + inline(block) + text.slice(to);
}

function withLines(text: string, map: YAMLMap, keys: Keys, eol: string): string {
  const edits = Object.entries(keys).flatMap(([key, value]): Edit[] => {
    const pair = pairOf(map, key);
    if (!pair) return value === undefined ? [] : [added(text, map, lineOf(key, value), eol)];
    const [from, to] = [startOf(pair), endOf(pair)];
    if (value === undefined) return [{ from: text.lastIndexOf("\n", from - 1) + 1, to: afterLine(text, to), text: "" }];
    const isSame = isNode(pair.value) && isDeepStrictEqual(pair.value.toJSON(), value);
    return isSame ? [] : [{ from, to, text: lineOf(key, value) }];
  });
  // From the end, so that offsets stay valid; lines that are added at one place keep their order.
  const sorted = edits.map((edit, at) => ({ ...edit, at })).sort((a, b) => b.from - a.from || b.at - a.at);
  return sorted.reduce((now, { from, to, text: by }) => now.slice(0, from) + by + now.slice(to), text);
}

/** A new line after the last one of the map. */
function added(text: string, map: YAMLMap, line: string, eol: string): Edit {
  const [first, last] = [map.items[0], map.items.at(-1)];
  const start = first ? startOf(first) : 0;
  const indent = text.slice(text.lastIndexOf("\n", start - 1) + 1, start);
  const end = last ? endOfLine(text, endOf(last)) : start;
  return { from: end, to: end, text: `${eol}${indent}${line}` };
}

const pairOf = (map: YAMLMap, key: string): Pair | undefined =>
  map.items.find((item) => isScalar(item.key) && item.key.value === key);

const startOf = ({ key }: Pair) => (isNode(key) ? (key.range?.[0] ?? 0) : 0);

/** The end of the last word of a value. The range of a block also has the comments and empty lines after it. */
function endOf({ key, value }: Pair): number {
  let node = isNode(value) ? value : key;
  while (isCollection(node) && !node.flow && node.items.length > 0) {
    const last: unknown = node.items.at(-1);
    const inner = isNode(last) ? last : ((last as Pair).value ?? (last as Pair).key);
    if (!isNode(inner)) break;
    node = inner;
  }
  return isNode(node) ? (node.range?.[1] ?? 0) : 0;
}

const endOfLine = (text: string, at: number) => {
  const next = text.indexOf("\n", at);
  if (next < 0) return text.length;
  return text[next - 1] === "\r" ? next - 1 : next;
};
const afterLine = (text: string, at: number) => {
  const next = text.indexOf("\n", at);
  return next < 0 ? text.length : next + 1;
};
