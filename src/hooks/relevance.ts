import { isStopWord, wordsOf } from "../search/rank/terms.ts";
import { stem } from "../store/queries/search/stem.ts";

/**
 * Decides which passages are about a prompt. Search ranks passages but always has a best one; a prompt needs a
 * passage only if they share enough distinctive words.
 */

/** Words of instructions to a coding agent: they say what to do, how much and in which order, not about what. */
const instructionWords = new Set(
  (
    "add again another ask back best better bit both bug build change check clean code commit continue correct create delete describe " +
    "different do done each enough even every example explain few file find fine first fix follow function get give go good great help " +
    "here idea implement improve instead issue keep kind know last let like line list little long look lot make many maybe mean method " +
    "move much name need new next nice now ok okay old once one only open other part place please point possible problem put question " +
    "quick read really refactor remove rename repo repository replace result right run same second see set short show simple start step " +
    "still stop sure take tell test thank thing think three todo together too try two type update use value version very want way well " +
    "without word work write wrong yes yet"
  )
    .split(" ")
    .map(stem),
);

const token = /[\p{L}\p{N}_]+/gu;
/** The weight of a name or an identifier; other words have 1. */
const nameWeight = 2;

/** The distinctive words of a prompt with their weights, stemmed. */
export function distinctiveWords(prompt: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const { 0: raw, index } of prompt.matchAll(token)) {
    const words = wordsOf(raw);
    // The last one is the identifier as a whole; its parts are too common.
    const word = words.at(-1);
    if (word === undefined || word.length < 3 || isStopWord(word)) continue;
    const key = stem(word);
    if (instructionWords.has(key)) continue;
    const weight = words.length > 1 || isName(prompt, raw, index) ? nameWeight : 1;
    weights.set(key, Math.max(weight, weights.get(key) ?? 0));
  }
  return weights;
}

/** Capitalized within a sentence, or with digits. */
const isName = (prompt: string, raw: string, index: number) =>
  (/\p{L}/u.test(raw) && /\p{N}/u.test(raw)) ||
  (/^\p{Lu}/u.test(raw) && /[\p{L}\p{N},;)] $/u.test(prompt.slice(0, index)));

/** The passages that share enough of the prompt's distinctive words, in their order. */
export function relevant<T extends { title: string; heading: string; body: string }>(prompt: string, hits: T[]): T[] {
  const wanted = distinctiveWords(prompt);
  const needed = neededWeight(wanted.size);
  return hits.filter(({ title, heading, body }) => {
    const present = new Set(wordsOf(`${title} ${heading} ${body}`).map(stem));
    let weight = 0;
    for (const [word, value] of wanted) if (present.has(word)) weight += value;
    return weight >= needed;
  });
}

/** The more words a prompt has, the more of them occur in a passage by chance. */
const neededWeight = (words: number) => (words <= 1 ? 1 : words <= 5 ? 2 : words <= 10 ? 3 : 4);
