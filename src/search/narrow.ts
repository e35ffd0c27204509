import { turns } from "../kernel/turns.ts";
import { passagesByNum } from "../store/queries/search/passages.ts";
import { passagesWith } from "../store/queries/search/ranking.ts";
import type { Reader, Scope } from "../store/queries/search/scope.ts";
import { shortened } from "./notes.ts";
import { hasAnyWord, hasPhrases, type Operators } from "./operators.ts";
import type { Scores } from "./rank/fuse.ts";
import { requirementsOf } from "./rank/terms.ts";

/** Passages with all words of a phrase are read in pages of this size, the newest first, to find those with the phrase. */
const phrasePage = 1000;
const maxReadForPhrase = 20_000;
/** The score of a passage that has the phrase but is not among the best by words. */
const phraseScore = 0.01;
/** With this many passages that have a phrase, no further ones are read. */
const enough = 300;

export function narrower(db: Reader) {
  /** The passages with all of the phrases; undefined, with a note, if there are none. */
  async function withPhrases(
    scores: Scores,
    phrases: string[],
    { scope, notes }: { scope: Scope; notes: string[] },
  ): Promise<Scores | undefined> {
    const has = hasPhrases(phrases);
    const found: Scores = new Map();
    const add = async (nums: number[]) => {
      for (const row of await passagesByNum(db, scope, nums))
        if (has(row)) found.set(row.num, scores.get(row.num) ?? phraseScore);
    };
    await add([...scores.keys()]);
    const required = phrases.flatMap(requirementsOf);
    let isAll = false;
    let before = Number.MAX_SAFE_INTEGER;
    for (let read = 0; read < maxReadForPhrase && found.size < enough && !isAll; read += phrasePage) {
      const nums = await passagesWith(db, scope, required, { before, limit: phrasePage });
      await add(nums.filter((num) => !scores.has(num)));
      before = nums.at(-1) ?? 0;
      isAll = nums.length < phrasePage;
      await turns.next();
    }
    if (found.size > 0) return found;
    const among = isAll ? "no passage has" : `none of the newest ${maxReadForPhrase} passages with its words has`;
    notes.push(`${among} ${named(phrases)}: searched for the words`);
    return undefined;
  }

  /** Only passages with the phrases and without the excluded words; if no passage has a phrase, its words count. */
  return async function narrow(
    scores: Scores,
    { phrases, excluded }: Operators,
    { scope, notes }: { scope: Scope; notes: string[] },
  ): Promise<Scores> {
    const having = phrases.length > 0 ? await withPhrases(scores, phrases, { scope, notes }) : undefined;
    if (excluded.length === 0) return having ?? scores;
    const fitting = having ?? scores;
    const isExcluded = hasAnyWord(excluded);
    const rows = await passagesByNum(db, scope, [...fitting.keys()]);
    const left = rows.filter((row) => !isExcluded(row)).map(({ num }) => num);
    if (fitting.size > 0 && left.length === 0) notes.push("every match has an excluded word");
    return new Map(left.map((num) => [num, fitting.get(num) ?? phraseScore]));
  };
}

/** A note repeats the beginnings of a few phrases: it takes space from the results. */
const maxNamed = 2;

function named(phrases: string[]): string {
  const quotes = phrases.slice(0, maxNamed).map((phrase) => `"${shortened(phrase)}"`);
  const more = phrases.length - quotes.length;
  return `${quotes.join(" and ")}${more > 0 ? ` and ${more} more` : ""}`;
}
