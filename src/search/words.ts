import type { Chunk, Document } from "./chunk.ts";
import { titleWords } from "./chunk.ts";
import { stem } from "./stem.ts";
import { wordsOf } from "./terms.ts";

/** What the engines index of a passage: three texts of plain words, each with its own weight. */
export type Words = { title: string[]; body: string[]; near: string[] };

export const wordsIn = (document: Document, chunk: Chunk): Words => ({
  title: wordsOf(titleWords(document, chunk)),
  body: wordsOf(chunk.body),
  near: wordsOf(chunk.near),
});

/** Beyond this PostgreSQL keeps no more positions of a word, and they would tell nothing new. */
const mostPositions = 60;
const lastPosition = 16_000;

/** The same for PostgreSQL, as its own notation has it: each stem with its places, A in titles, B in the text, C around it. */
export function lexemes(words: Words): string {
  const places = new Map<string, string[]>();
  let position = 0;
  for (const [letter, list] of [
    ["A", words.title],
    ["B", words.body],
    ["C", words.near],
  ] as const) {
    for (const word of list) {
      const key = stem(word);
      const at = places.get(key) ?? [];
      position = Math.min(position + 1, lastPosition);
      if (at.length < mostPositions) at.push(`${position}${letter}`);
      places.set(key, at);
    }
  }
  return [...places].map(([word, at]) => `'${word}':${at.join(",")}`).join(" ");
}

export const lengthOf = ({ title, body, near }: Words) => title.length + body.length + near.length;
