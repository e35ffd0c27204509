import { isQuoted } from "../../kernel/quote.ts";
import type { Citation, Evidence } from "../../store/crew-tables.ts";
import { parseJsonOr } from "../../store/json.ts";

/** A tool call of the agent that cites it. Input and answer are JSON, and may be cut. */
export type RecordedCall = { id: string; name: string; ok: boolean; input: string; output: string; cut: boolean };

/** The record that citations are resolved against. */
export type Facts = {
  /** The calls of this agent in this attempt, and no others. */
  calls: RecordedCall[];
  /** The checks on this content, by the number of their criterion. */
  checks: Map<number, { passed: boolean; detail: string }>;
  /** The text that was delivered; null if the deliverable is files: the worker's words about them are not evidence. */
  text: string | null;
  /** The content of cited files at the delivered commit; null if the commit has no such file. */
  files: Map<string, string | null>;
};

/** Why a citation is not in the record, or undefined if it is. */
export function unresolved(cited: Citation, facts: Facts): string | undefined {
  if (cited.lines && cited.from !== "file") return "`lines` is only for from: file";
  if (cited.quote.trim() === "") return "the quote is empty";
  switch (cited.from) {
    case "call":
      return inCall(cited, facts);
    case "file":
      return inFile(cited, facts);
    case "output":
      if (facts.text === null) return "the deliverable is files, and the worker's words about them are not evidence";
      return isQuoted(facts.text, cited.quote) ? undefined : `the quote is not in the text. ${quoteRule}`;
    default:
      return `${JSON.stringify(cited.from)} is not a source; use call, file, check or output`;
  }
}

const quoteRule = "Quote it exactly: whole words and numbers, with the same case";

/** Why evidence of a verdict is not in the record, or undefined if it is; `absence.ts` decides about what is missing. */
export function unresolvedEvidence(item: Evidence, facts: Facts): string | undefined {
  if (item.from === "check") return inCheck(item, facts);
  const why = unresolved(item, facts);
  if (why !== undefined || item.from !== "call" || facts.text !== null) return why;
  // The graph and the log have what agents wrote about the files.
  const call = facts.calls.find(({ id }) => id === item.ref);
  return call && isAboutRecord(call.name) ? `${call.name} does not read the delivered files` : undefined;
}

function inCheck({ criterion, met, quote, ref, lines }: Evidence, { checks }: Facts): string | undefined {
  if (lines) return "`lines` is only for from: file";
  const number = ref === "" ? criterion : Number(ref);
  const check = checks.get(number);
  if (!check) return `no check of criterion ${ref || criterion} ran on this content`;
  if (check.passed !== met) return `the check of criterion ${number} ${check.passed ? "passed" : "failed"}`;
  return isQuoted(check.detail, quote) ? undefined : `the quote is not in the check's output. ${quoteRule}`;
}

function inCall({ ref, quote }: Citation, { calls }: Facts): string | undefined {
  const call = calls.find(({ id }) => id === ref);
  if (!call)
    return `you made no call ${JSON.stringify(ref)} in this attempt; the id is in the field \`call\` of an answer`;
  if (!call.ok) return `call ${ref} was refused`;
  if (call.name.startsWith("submit_")) return `call ${ref} is your own submission`;
  const written = calls.filter((one) => one === call || writesFiles(one.name)).filter((one) => !isReading(one.name));
  if (!textsOf(call.output).some((text) => isQuoted(text, quote)))
    return call.cut
      ? `the quote is not in the recorded part of the answer to call ${ref}; make a call with a shorter answer`
      : `the quote is not in the answer to call ${ref}. ${quoteRule}`;
  if (written.some(({ input }) => wordsOf(input).some((text) => isQuoted(text, quote))))
    return "you wrote these words yourself in a tool call; quote what the program added, or cite the file";
  return undefined;
}

const isReading = (name: string) => /^(read|list|search|show|view|fetch|get|memory)_/.test(name);
const writesFiles = (name: string) => !isReading(name) && name !== "run_command" && !name.startsWith("submit_");
const isAboutRecord = (name: string) => /^(memory_|get_task|ask$|append_log$|search_entries$|fetch_entry$)/.test(name);

function inFile({ ref, lines, quote }: Citation, { files }: Facts): string | undefined {
  const found = findFile(ref, lines, files);
  if (found === undefined) return `${ref || "a file without a path"} is not a file at the delivered commit`;
  if (found.lines === "")
    return isQuoted(found.text, quote) ? undefined : `the quote is not in ${found.path}. ${quoteRule}`;
  const range = rangeOf(found.lines);
  if (!range) return `lines ${JSON.stringify(found.lines)} is not a line or a range such as 12-20`;
  const all = found.text.split("\n");
  if (range.to > all.length) return `${found.path} has ${all.length} lines`;
  if (isQuoted(all.slice(range.from - 1, range.to).join("\n"), quote)) return undefined;
  const line = all.findIndex((text) => isQuoted(text, quote)) + 1;
  return `the quote is not in lines ${found.lines} of ${found.path}${line > 0 ? `; line ${line} has it` : ""}`;
}

function findFile(ref: string, lines: string, files: Facts["files"]) {
  const whole = pathOf(ref);
  const text = files.get(whole);
  if (typeof text === "string") return { path: whole, lines, text };
  const [path, own] = withLines(whole) ?? [];
  const other = path === undefined ? undefined : files.get(path);
  return typeof other === "string" && lines === "" ? { path: path ?? "", lines: own ?? "", text: other } : undefined;
}

export const pathOf = (ref: string) => ref.replace(/^\.\//, "");

/** The path and lines of `src/a.ts:12-20`, which agents write for `ref` and `lines`. */
export function withLines(ref: string): [path: string, lines: string] | undefined {
  const [, path, lines] = /^(.+):(\d+(?:-\d+)?)$/.exec(ref) ?? [];
  return path && lines ? [path, lines] : undefined;
}

/** The paths to read before these citations can be resolved. */
export const citedPaths = (citations: readonly Pick<Citation, "from" | "ref">[]): string[] => [
  ...new Set(
    citations.flatMap(({ from, ref }) => {
      const path = pathOf(ref);
      return from === "file" && path !== "" ? [path, ...(withLines(path)?.slice(0, 1) ?? [])] : [];
    }),
  ),
];

export function rangeOf(lines: string): { from: number; to: number } | undefined {
  const [, first, second] = /^(\d+)(?:\s*[-–]\s*(\d+))?$/.exec(lines) ?? [];
  const from = Number(first);
  const to = Number(second ?? first);
  return first !== undefined && from >= 1 && from <= to ? { from, to } : undefined;
}

/** The texts in which an agent saw an answer: each text of its JSON, and the JSON itself. */
export function textsOf(json: string): string[] {
  const value = parseJsonOr<unknown>(json, undefined);
  return value === undefined ? [json, unescaped(json)] : [json, ...leaves(value)];
}

/** The words of an input, also of a command whose words are separate arguments. */
export function wordsOf(json: string): string[] {
  const value = parseJsonOr<unknown>(json, undefined);
  if (value === undefined) return [unescaped(json)];
  const texts = leaves(value);
  return [...texts, texts.join(" ")];
}

function leaves(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (value === null || typeof value !== "object") return [];
  return Object.values(value).flatMap(leaves);
}

/** JSON that was cut cannot be parsed. */
const unescaped = (json: string) =>
  json.replaceAll(/\\(?:u([0-9a-fA-F]{4})|(.))/g, (_all, code, one) =>
    code ? String.fromCharCode(Number.parseInt(code, 16)) : (escapes[one] ?? one),
  );
const escapes: Record<string, string> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" };

/** A citation in words; those of records before 0.2 have only `from`. */
export const placeOf = ({ from, ref, lines }: { from: string; ref?: string; lines?: string }) =>
  `${from}${ref ? ` ${ref}` : ""}${lines ? `:${lines}` : ""}`;
