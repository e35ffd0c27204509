import { hasText } from "../../kernel/quote.ts";
import type { Evidence } from "../../store/crew-tables.ts";
import { parseJsonOr } from "../../store/json.ts";
import { type Facts, pathOf, type RecordedCall, withLines, wordsOf } from "./evidence.ts";

/** A text to look for at the delivered commit, in one file or folder or (path "") in all files. */
export type Search = { path: string; text: string };

/** `exists`: whether the commit has this file or folder. `found`: the first file that has the text. */
export type SearchResult = { exists: boolean; found: { path: string; certain: boolean } | null };

export type AbsenceFacts = Facts & {
  /** By `searchKey`. */
  searches: Map<string, SearchResult>;
  /** Files that the deliverable added, changed or deleted. */
  changed: Set<string>;
};

export const searchKey = ({ path, text }: Search) => `${path}\n${text}`;

/** The searches that decide whether what these citations call absent is absent. */
export function searchesFor(evidence: readonly Evidence[]): Search[] {
  const wanted = evidence.filter(({ absent, from }) => absent && (from === "call" || from === "file"));
  const all = wanted.flatMap((item) => placesOf(item).map((path) => ({ path, text: item.quote.trim() })));
  return [...new Map(all.map((search) => [searchKey(search), search])).values()];
}

/** A call says what was searched for, not where: an agent could search where there is nothing to find. */
function placesOf({ from, ref }: Pick<Evidence, "from" | "ref">): string[] {
  if (from === "call") return [""];
  const path = pathOf(ref).replace(/\/$/, "");
  return [path, ...(withLines(path)?.slice(0, 1) ?? [])];
}

/**
 * Why a citation that something is missing does not hold, or undefined if it does. The system itself searches the
 * delivered commit, or the text: a search of the agent may have had a narrower scope or another pattern, or have read
 * files that the agent had changed in its scratch copy.
 */
export function notAbsent(item: Evidence, facts: AbsenceFacts): string | undefined {
  const { from, quote } = item;
  if (from === "check") return "a check cannot show that something is absent; leave out `absent` and quote its output";
  if (quote.trim() === "")
    return from === "file" ? notMissing(item, facts) : "the quote is empty; quote the text that is absent";
  if (from === "call") {
    const why = noSearch(item, facts);
    if (why !== undefined) return why;
  }
  if (looksLikePattern(quote) && !searchedAsText(item, facts))
    return "the quote looks like a regular expression; quote plain text, each alternative by itself. If it is plain text, search for it with search_files and literal: true, and cite that call";
  if (from === "file") return inFiles(item, facts);
  if (facts.text !== null) return hasText(facts.text, quote) ? "the text contains the quote" : undefined;
  return from === "call" ? inFiles({ ...item, ref: "" }, facts) : `the deliverable is files; ${citeFile}`;
}

const citeFile = 'cite the file or folder that must not have it with from: "file"';

function inFiles({ from, ref, quote }: Evidence, { searches }: AbsenceFacts): string | undefined {
  const result = resultOf({ from, ref, quote }, searches);
  if (!result) return `${ref} is not a file or folder at the delivered commit; leave the quote empty`;
  if (result.found === null) return undefined;
  const { path, certain } = result.found;
  const has = certain
    ? `${path} contains the quote at the delivered commit`
    : `${path} has the words of the quote and is too large to search for all of it; quote one word`;
  return ref === "" ? `${has}; ${citeFile}` : has;
}

/** A file that does not exist. For a criterion that is met the deliverable must have deleted it: anyone can name others. */
function notMissing({ from, ref, met }: Evidence, { searches, changed }: AbsenceFacts): string | undefined {
  if (ref === "") return "name the missing file in `ref`";
  if (resultOf({ from, ref, quote: "" }, searches)) return `${ref} exists at the delivered commit`;
  if (!met || changed.has(pathOf(ref))) return undefined;
  return `${ref} does not exist, but the deliverable did not delete it`;
}

const resultOf = ({ from, ref, quote }: Pick<Evidence, "from" | "ref" | "quote">, searches: AbsenceFacts["searches"]) =>
  placesOf({ from, ref })
    .map((path) => searches.get(searchKey({ path, text: quote.trim() })))
    .find((result) => result?.exists);

function noSearch({ ref, quote }: Evidence, { calls }: Facts): string | undefined {
  const call = calls.find(({ id }) => id === ref);
  if (!call) return `you made no call ${JSON.stringify(ref)} in this attempt`;
  if (!call.ok) return `call ${ref} was refused`;
  if (call.name !== "search_files" && call.name !== "run_command")
    return `${call.name} does not search the deliverable for text; ${citeFile}`;
  return searchedFor(call, quote) ? undefined : `call ${ref} did not search for the quote; ${citeFile}`;
}

/** Whether the words of a call have the quote, also with the escapes of a pattern. */
const searchedFor = ({ input }: RecordedCall, quote: string) =>
  wordsOf(input).some((text) =>
    [text, text.replaceAll(/\\(?=[^\p{L}\p{N}\s])/gu, "")].some((one) =>
      hasText(one.toLowerCase(), quote.toLowerCase()),
    ),
  );

/** Absence of a pattern as text says nothing about what it matches: `eval\(x\)` is in no file that calls `eval(x)`. */
const looksLikePattern = (quote: string) =>
  /\\[bBdDsSwWpux]|\\[.()[\]{}|*+?^$/-]|\.[*+]|\(\?[:=!<]|\p{L}\|\p{L}|\[\^?\w-\w|\[(\p{L})\1\]|^\s*\^|\$\s*$/iu.test(
    quote,
  );

function searchedAsText({ from, ref, quote }: Evidence, { calls }: Facts): boolean {
  const call = calls.find(({ id, name }) => from === "call" && id === ref && name === "search_files");
  const { pattern, literal } = parseJsonOr<{ pattern?: unknown; literal?: unknown }>(call?.input ?? "", {});
  return literal === true && typeof pattern === "string" && pattern.trim() === quote.trim();
}
