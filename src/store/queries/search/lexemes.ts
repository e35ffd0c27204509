import { stem } from "./stem.ts";

/** The words of a passage by field, as both engines index them. */
export type PassageWords = { title: string[]; body: string[]; near: string[] };

/** Weight of a word in the title or headings, in the text, and in the neighbouring passages. */
export const fieldWeights = { title: 2, body: 1, near: 0.4 };

export const countWords = ({ title, body, near }: PassageWords) => title.length + body.length + near.length;

/**
 * Term frequencies inside a tsvector. A tsvector has no room for numbers, but a word may have one to four positions
 * under one of four labels, and `ts_rank` tells them apart: for a single word it returns the label's weight times
 * 1 + 1/4 + 1/9 + … over π²/6. Each pair of label and number of positions is a level, ordered by what `ts_rank`
 * returns, and stands for one of these weighted frequencies. Changing the levels or `fieldWeights` requires a rebuild
 * of the index.
 */
const levels = [0.4, 0.8, 1, 1.2, 1.4, 1.6, 1.8, 2, 2.4, 2.8, 3.4, 4, 5, 6.5, 9, 13];
const levelsPerLabel = 4;
const labels = "DCBA";
/** In the order that `ts_rank` takes them. Each exceeds the previous label's value with four positions. */
const labelWeights = [0.2, 0.34, 0.58, 1];

const positions = levels.map((_, level) => {
  const label = labels[Math.floor(level / levelsPerLabel)];
  return Array.from({ length: (level % levelsPerLabel) + 1 }, (_, at) => `${at + 1}${label}`).join(",");
});

/** For reading levels back: a result of `ts_rank` in bucket n of `bounds` stands for frequency n. */
export const rankLevels = (() => {
  const ranks = levels.map((_, level) => {
    const weight = labelWeights[Math.floor(level / levelsPerLabel)] ?? 1;
    const terms = Array.from({ length: (level % levelsPerLabel) + 1 }, (_, at) => 1 / (at + 1) ** 2);
    return (weight * terms.reduce((a, b) => a + b)) / (Math.PI ** 2 / 6);
  });
  return { labelWeights, bounds: ranks.map((rank, at) => (rank + (ranks[at - 1] ?? 0)) / 2), frequencies: levels };
})();

/** A tsvector literal with each stem once, at the level of its weighted frequency. */
export function lexemes(words: PassageWords): string {
  const frequencies = new Map<string, number>();
  for (const field of ["title", "body", "near"] as const)
    for (const word of words[field]) {
      const key = stem(word);
      frequencies.set(key, (frequencies.get(key) ?? 0) + fieldWeights[field]);
    }
  return [...frequencies].map(([word, frequency]) => `'${word}':${positions[nearestLevel(frequency)]}`).join(" ");
}

function nearestLevel(frequency: number): number {
  const above = levels.findIndex((level) => level >= frequency);
  if (above <= 0) return above === 0 ? 0 : levels.length - 1;
  const below = levels[above - 1] ?? 0;
  return frequency - below < (levels[above] ?? 0) - frequency ? above - 1 : above;
}
