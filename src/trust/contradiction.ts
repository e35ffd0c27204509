import { withoutLogPrefix } from "./passages.ts";

/** A text that may contradict another one. */
export type Told = { id: string; body: string };

type Sentence = { text: string; words: Set<string>; values: Map<string, Set<string>> };

/** The share of a sentence's words that another one must contain to be about the same. */
const sameWords = 0.75;
const fewestWords = 3;
const longestSaid = 300;

/**
 * A text that says the same as `said` with other values, unless it also says it with the same values. Values are
 * numbers, dates, versions, named settings (`log_level: debug`) and words such as enabled and disabled.
 */
export function contradiction(said: string, texts: Told[]): { id: string; says: string } | undefined {
  const own = sentencesOf(said).filter(({ values, words }) => values.size > 0 && words.size >= fewestWords);
  if (own.length === 0) return undefined;
  const told = texts.map(({ id, body }) => ({ id, sentences: sentencesOf(body) }));
  for (const sentence of own) {
    for (const { id, sentences } of told) {
      const alike = sentences.filter((one) => isAlike(sentence, one));
      const [first] = alike;
      if (first && !alike.some((one) => agrees(sentence, one))) return { id, says: first.text.slice(0, longestSaid) };
    }
  }
  return undefined;
}

/** Whether a text has values that another one could contradict. */
export const hasValues = (text: string) =>
  sentencesOf(text).some(({ values, words }) => values.size > 0 && words.size >= fewestWords);

/**
 * About the same: it has most of the words and values of the same kind. Words that only one of the two has add to it;
 * if each has words of its own, they are about different things ("retries of jobs", "retries of mails").
 */
function isAlike(own: Sentence, other: Sentence): boolean {
  if (![...own.values.keys()].some((kind) => other.values.has(kind))) return false;
  const missing = [...own.words].filter((word) => !other.words.has(word));
  if (missing.length > own.words.size * (1 - sameWords)) return false;
  return !missing.some(isTelling) || ![...other.words].some((word) => !own.words.has(word) && isTelling(word));
}

const agrees = (own: Sentence, other: Sentence) =>
  [...own.values].every(([kind, values]) => {
    const others = other.values.get(kind);
    return others === undefined || [...values].every((value) => others.has(value));
  });

const sentencesOf = (text: string): Sentence[] =>
  withIsoDates(withoutLogPrefix(text))
    .split(/(?<=[.!?])\s+|\n+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== "")
    .map((sentence) => ({
      text: sentence,
      words: new Set((sentence.toLowerCase().match(/\p{L}{2,}/gu) ?? []).filter((word) => !opposites.has(word))),
      values: valuesIn(sentence),
    }));

function valuesIn(sentence: string): Sentence["values"] {
  const values: Sentence["values"] = new Map();
  const add = (kind: string, value: string) => values.set(kind, (values.get(kind) ?? new Set()).add(value));
  // Issue numbers, line numbers and ids of links are not what a sentence says.
  const plain = sentence.replaceAll(
    /\[\[[^[\]\n]*\]\]|\]\([^()\n]{0,1000}\)|`[^`\n]{0,300}:\d{1,9}(?:-\d{1,9})?`/g,
    " ",
  );
  for (const number of plain.match(/\d(?:[\d.,]*\d)?/g) ?? []) add("number", number.replaceAll(",", ""));
  for (const [, name = "", value = ""] of plain.matchAll(setting))
    if (!/^\d/.test(value)) add(`setting ${name.toLowerCase()}`, value.toLowerCase());
  for (const word of plain.toLowerCase().match(/\p{L}{2,}/gu) ?? []) {
    const kind = opposites.get(word);
    if (kind) add(kind, word);
  }
  return values;
}

/** `log_level: debug`, `log_level=debug`, LOG_LEVEL=debug, `log_level` is `debug`. */
const setting =
  /(?<![\w/])`?([A-Za-z][\w.-]{2,60})`?(?:\s?=\s?|:\s(?=[^\s]+`)|`\s(?:is|defaults to|is set to)\s`)`?([\w./-]{2,60})/g;

/** Words that say the opposite of each other. */
const opposites = new Map(
  [
    ["enabled", "disabled"],
    ["on", "off"],
    ["true", "false"],
    ["allowed", "forbidden"],
    ["required", "optional"],
    ["always", "never"],
    ["synchronous", "asynchronous"],
    ["public", "private"],
  ].flatMap((pair) => pair.map((word) => [word, pair.join("/")] as const)),
);

const months = "january february march april may june july august september october november december".split(" ");
const monthPattern = months.map((name) => `${name.slice(0, 3)}(?:${name.slice(3)})?`).join("|");
const dayFirst = new RegExp(`\\b(\\d{1,2})\\s(${monthPattern})\\s(\\d{4})\\b`, "gi");
const monthFirst = new RegExp(`\\b(${monthPattern})\\s(\\d{1,2}),?\\s(\\d{4})\\b`, "gi");

/** Dates in words as ISO dates: the two forms say the same. */
function withIsoDates(text: string): string {
  const iso = (year: string, month: string, day: string) => {
    const number = months.findIndex((name) => name.startsWith(month.toLowerCase().slice(0, 3))) + 1;
    return `${year}-${String(number).padStart(2, "0")}-${day.padStart(2, "0")}`;
  };
  return text
    .replaceAll(dayFirst, (_all, day: string, month: string, year: string) => iso(year, month, day))
    .replaceAll(monthFirst, (_all, month: string, day: string, year: string) => iso(year, month, day));
}

/** Words that say what a sentence is about. */
const isTelling = (word: string) => !fillers.has(word);
const fillers = new Set(
  "the an and or of to in on at by for from with as is are was were be been it its this that which now also still since then than has have had not no so we our will must should can may about around only just other another per set see".split(
    " ",
  ),
);
