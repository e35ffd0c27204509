import { createHash } from "node:crypto";
import type { Folders } from "../../kernel/markdown/links.ts";
import { turns } from "../../kernel/turns.ts";
import type { PassageWords } from "../../store/queries/search/lexemes.ts";
import type { Readable } from "../kinds.ts";
import { wordsOf } from "../rank/terms.ts";
import { around, type Chunk, chunk, type Document, embeddedText, type Neighbour, titleWords } from "./chunk.ts";
import { linksIn } from "./links.ts";

/** A passage to be indexed. `hash` identifies the text that is embedded, `state` everything that is indexed. */
export type PreparedPassage = Chunk & { words: PassageWords; hash: string; state: string; links: string[] };

export type PreparedThing = { about: Readable; passages: PreparedPassage[] };

export async function prepare(
  name: { kind: string; id: string },
  found: Readable,
  folders: Folders,
): Promise<PreparedThing> {
  const document: Document = { title: replaceInvalid(found.title), text: replaceInvalid(found.text) };
  const passages: PreparedPassage[] = [];
  for (const part of chunk(document)) {
    const hash = hashOf(embeddedText(document.title, part));
    passages.push({
      ...part,
      words: wordsIn(document, part),
      hash,
      state: hashOf(document.title, part.heading, part.body, part.near, part.shape, part.before),
      links: linksIn(part.body, name, folders),
    });
    await turns.next();
  }
  return { about: { ...found, title: document.title }, passages };
}

/** The words that passages of a thing were indexed with, from what is stored of them. */
export const indexedWords = (title: string, passages: Neighbour[], at: number): PassageWords =>
  wordsIn({ title }, { heading: "", body: "", ...passages[at], near: around(passages, at) });

const wordsIn = (document: Pick<Document, "title">, chunk: Pick<Chunk, "heading" | "body" | "near">): PassageWords => ({
  title: wordsOf(titleWords(document, chunk)),
  body: wordsOf(chunk.body),
  near: wordsOf(chunk.near),
});

/** PostgreSQL rejects NUL and unpaired surrogates. */
const replaceInvalid = (text: string) => text.replaceAll("\0", "").replace(/\p{Surrogate}/gu, "\ufffd");

export const hashOf = (...texts: string[]) =>
  createHash("sha256").update(texts.join("\0")).digest("base64url").slice(0, 22);
