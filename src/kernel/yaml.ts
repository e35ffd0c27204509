import { type Document, isAlias, isNode, isPair, LineCounter, parseDocument, visit } from "yaml";
import type { z } from "zod";
import { issueText } from "./issue-text.ts";
import { jsonSchema } from "./json-schema.ts";
import type { JsonSchema } from "./operation-description.ts";
import { ok, type Problem, type Result, refuse } from "./result.ts";

export type Complaint = { file: string; line: number; column: number; message: string };

type Options = { file: string; maxBytes: number };
type Parsed<T> = { value: T; document: Document };

/**
 * Parses and validates YAML from people and agents. Every error names its line and column. Aliases, tags and
 * deep nesting are refused: our files do not need them, and each lets a small file use much memory or time.
 */
export function readYaml<T>(text: string, schema: z.ZodType<T>, options: Options): Result<Parsed<T>> {
  const { file } = options;
  if (Buffer.byteLength(text) > options.maxBytes) {
    return complain([at(file, 1, 1, `larger than ${options.maxBytes} bytes`)]);
  }
  const lines = new LineCounter();
  const document = parse(text, lines);
  if (!document) return complain([at(file, 1, 1, "nested too deeply")]);
  const where = (offset: number, message: string) => {
    const { line, col } = lines.linePos(offset);
    return at(file, line, col, message);
  };

  const broken = [...document.errors, ...document.warnings].map((e) =>
    where(e.pos[0], e.message.split(" at line ")[0] ?? ""),
  );
  if (broken.length > 0) return complain(broken);
  const unwanted = findUnwanted(document);
  if (unwanted) return complain([where(unwanted.offset, unwanted.message)]);

  const parsed = schema.safeParse(document.toJS({ maxAliasCount: 0 }) ?? {}, { reportInput: true });
  if (parsed.success) return ok({ value: parsed.data, document });
  return complain(
    parsed.error.issues.flatMap(oneKeyEach).map((issue) => {
      const path = issue.path.filter((part): part is string | number => typeof part !== "symbol");
      const unknown = issue.code === "unrecognized_keys" ? issue.keys[0] : undefined;
      const offset = offsetOf(document, unknown === undefined ? path : [...path, unknown]);
      const message = issueText(issue, unknown === undefined ? [] : keysAt(schema, path));
      return where(offset, `${path.length > 0 ? `${spell(path)}: ` : ""}${message}`);
    }),
  );
}

/** Zod reports all unknown keys of an object at once, but each is on a line of its own. */
const oneKeyEach = (issue: z.core.$ZodIssue): z.core.$ZodIssue[] =>
  issue.code === "unrecognized_keys" ? issue.keys.map((key) => ({ ...issue, keys: [key] })) : [issue];

/** The keys that the schema allows at a path. */
function keysAt(schema: z.ZodType, path: (string | number)[]): string[] {
  let here: JsonSchema | undefined = jsonSchema(schema);
  for (const part of path) {
    const next: unknown =
      typeof part === "number" ? here?.items : (here?.properties?.[part] ?? here?.additionalProperties);
    here = next !== null && typeof next === "object" && !Array.isArray(next) ? (next as JsonSchema) : undefined;
  }
  return Object.keys(here?.properties ?? {});
}

export const sayComplaint = (c: Complaint) => `${c.file}:${c.line}:${c.column}: ${c.message}`;

/** In the order of lines, whatever found them. */
export function complain(found: Complaint[]): { ok: false; problem: Problem } {
  const complaints = found.toSorted((a, b) => a.line - b.line || a.column - b.column);
  return refuse("invalid", complaints.map(sayComplaint).join("\n"), { complaints });
}

/** Thousands of open brackets overflow the parser's stack; that is reported as an error in the file. */
function parse(text: string, lineCounter: LineCounter): Document | undefined {
  try {
    return parseDocument(text, { lineCounter, version: "1.2", schema: "core", uniqueKeys: true });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

const at = (file: string, line: number, column: number, message: string) => ({ file, line, column, message });

/** The position of the value at `path`, or of its nearest existing parent. */
export function offsetOf(document: Document, path: (string | number)[]): number {
  for (let length = path.length; length > 0; length--) {
    const parent = document.getIn(path.slice(0, length - 1), true);
    const last = path[length - 1];
    if (isNode(parent) && "items" in parent) {
      for (const item of parent.items as unknown[]) {
        if (isPair(item) && isNode(item.key) && String(item.key) === String(last)) return item.key.range?.[0] ?? 0;
      }
    }
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return node.range[0];
  }
  return isNode(document.contents) ? (document.contents.range?.[0] ?? 0) : 0;
}

const spell = (path: (string | number)[]) =>
  path.reduce<string>(
    (text, part) => (typeof part === "number" ? `${text}[${part}]` : text ? `${text}.${part}` : part),
    "",
  );

function findUnwanted(document: Document): { offset: number; message: string } | undefined {
  let found: { offset: number; message: string } | undefined;
  visit(document, {
    Node(_key, node, path) {
      const offset = node.range?.[0] ?? 0;
      if (path.length > 40) found = { offset, message: "nested more than 20 levels deep" };
      else if (isAlias(node)) found = { offset, message: "aliases (*name) are not allowed here" };
      else if (node.tag?.startsWith("!")) found = { offset, message: `the tag ${node.tag} is not allowed here` };
      return found ? visit.BREAK : undefined;
    },
    Pair(_key, pair) {
      if (isNode(pair.key) && String(pair.key) === "__proto__") {
        found = { offset: pair.key.range?.[0] ?? 0, message: "__proto__ is not a key" };
        return visit.BREAK;
      }
      return undefined;
    },
  });
  return found;
}
