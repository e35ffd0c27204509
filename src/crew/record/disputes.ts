import type { Statement } from "../../store/crew-tables.ts";
import type { CrewApp } from "./crew-app.ts";

const mostStatements = 20;
const mostPassages = 20;
const longestQuery = 500;
const longestSaid = 300;
/** The share of a quotation's words that another sentence must contain to be about the same. */
const sameWords = 0.75;
const fewestWords = 3;

export type Passage = { id: string; body: string };
type Sentence = { text: string; words: Set<string>; numbers: string[] };

/** Statements whose evidence another source contradicts with other numbers: an issue for the verifier (T3). */
export async function disputesOf(app: CrewApp, statements: Statement[]): Promise<string[]> {
  const found: string[] = [];
  const withNumbers = statements.filter((one) => /\d/.test(one.evidence)).slice(0, mostStatements);
  for (const { statement, evidence } of withNumbers) {
    const { hits } = await app.search.find.passages(evidence.slice(0, longestQuery), {
      scope: { kinds: ["source"] },
      limit: mostPassages,
      without: ["meaning", "links"],
    });
    const other = contradiction(evidence, hits);
    if (other) found.push(`${statement} (its evidence is disputed: ${other.id} says "${other.says}")`);
  }
  return found;
}

/** A passage that says the same with other numbers, unless it also says it with the same numbers. Pure. */
export function contradiction(evidence: string, passages: Passage[]): { id: string; says: string } | undefined {
  const quoted = sentencesOf(evidence).filter(({ numbers, words }) => numbers.length > 0 && words.size >= fewestWords);
  const told = passages.map(({ id, body }) => ({ id, sentences: sentencesOf(body) }));
  for (const sentence of quoted) {
    const alike = told.map(({ id, sentences }) => ({ id, same: sentences.filter((one) => isAlike(sentence, one)) }));
    const agreeing = new Set(alike.flatMap(({ id, same }) => (same.some((one) => agrees(sentence, one)) ? id : [])));
    const other = alike.find(({ id, same }) => !agreeing.has(id) && same.length > 0);
    if (other) return { id: other.id, says: other.same[0]?.text.slice(0, longestSaid) ?? "" };
  }
  return undefined;
}

/** About the same subject: it contains most of the words, and numbers. */
function isAlike(quoted: Sentence, other: Sentence): boolean {
  if (other.numbers.length === 0) return false;
  const shared = [...quoted.words].filter((word) => other.words.has(word)).length;
  return shared >= quoted.words.size * sameWords;
}

const agrees = (quoted: Sentence, other: Sentence) => quoted.numbers.every((number) => other.numbers.includes(number));

const sentencesOf = (text: string): Sentence[] =>
  text
    .split(/(?<=[.!?])\s+|\n+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== "")
    .map((sentence) => ({
      text: sentence,
      words: new Set(sentence.toLowerCase().match(/\p{L}{2,}/gu) ?? []),
      numbers: (sentence.match(/\d(?:[\d.,]*\d)?/g) ?? []).map((number) => number.replaceAll(",", "")),
    }));
