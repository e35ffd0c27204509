import { stem } from "../rank/stem.ts";
import { wordsOf } from "../rank/terms.ts";
import type { Chunk, Document } from "./chunk.ts";
import { titleWords } from "./chunk.ts";

/** What the engines index of a passage: three texts of plain words, each with its own weight. */
export type Words = { title: string[]; body: string[]; near: string[] };

/** How much a word counts in a title or heading, in the text, and in what stands around it. */
export const fieldWeights = { title: 1, body: 1, near: 0.4 };

export const wordsIn = (document: Document, chunk: Chunk): Words => ({
  title: wordsOf(titleWords(document, chunk)),
  body: wordsOf(chunk.body),
  near: wordsOf(chunk.near),
});

/**
 * How often a word counts in a passage, by its weights, as PostgreSQL can keep it. A tsvector has no
 * numbers, but one to four positions under one of four labels, and `ts_rank` tells which: its value
 * for a single word is the label's weight times 1 + 1/4 + 1/9 + …, over π²/6. So each pair of label
 * and positions is a level, in the order of what `ts_rank` gives for it. If you change the levels or
 * the weights of fields, all passages are to be indexed again.
 */
const levels = [0.4, 0.8, 1, 1.2, 1.4, 1.6, 1.8, 2, 2.4, 2.8, 3.4, 4, 5, 6.5, 9, 13];
const perLabel = 4;
const labels = "DCBA";
/** In the order in which `ts_rank` takes them. Each is more than the one before it with four positions. */
const labelWeights = [0.2, 0.34, 0.58, 1];

const spellings = levels.map((_, level) => {
  const label = labels[Math.floor(level / perLabel)];
  return Array.from({ length: (level % perLabel) + 1 }, (_, at) => `${at + 1}${label}`).join(",");
});

/** What `ts_rank` gives at each level, each moved to half-way from the one before it; and what it stands for. */
export const rankLevels = (() => {
  const ranks = levels.map((_, level) => {
    const weight = labelWeights[Math.floor(level / perLabel)] ?? 1;
    const sum = Array.from({ length: (level % perLabel) + 1 }, (_, at) => 1 / (at + 1) ** 2).reduce((a, b) => a + b);
    return (weight * sum) / (Math.PI ** 2 / 6);
  });
  return { labelWeights, bounds: ranks.map((rank, at) => (rank + (ranks[at - 1] ?? 0)) / 2), frequencies: levels };
})();

/** The words of a passage in PostgreSQL's own notation: each stem once, with its level. */
export function lexemes(words: Words): string {
  const counted = new Map<string, number>();
  for (const field of ["title", "body", "near"] as const)
    for (const word of words[field]) {
      const key = stem(word);
      counted.set(key, (counted.get(key) ?? 0) + fieldWeights[field]);
    }
  return [...counted].map(([word, count]) => `'${word}':${spellings[levelOf(count)]}`).join(" ");
}

/** The nearest level. */
function levelOf(count: number): number {
  const above = levels.findIndex((level) => level >= count);
  if (above <= 0) return above === 0 ? 0 : levels.length - 1;
  const below = levels[above - 1] ?? 0;
  return count - below < (levels[above] ?? 0) - count ? above - 1 : above;
}

export const lengthOf = ({ title, body, near }: Words) => title.length + body.length + near.length;
