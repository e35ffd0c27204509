import { createHash } from "node:crypto";
import type { Readable } from "../../kinds.ts";
import { type Chunk, chunk, type Document } from "../chunk.ts";
import { linksIn } from "../links.ts";
import { type Words, wordsIn } from "../words.ts";

/** A passage as it is to be kept. `hash` names what is embedded of it, `state` all that is indexed. */
export type Part = Chunk & { words: Words; hash: string; state: string; links: string[] };

/** A thing, cut into its parts. */
export type Prepared = { about: Readable; parts: Part[] };

export function prepare(found: Readable): Prepared {
  const document: Document = { title: clean(found.title), text: clean(found.text) };
  const parts = chunk(document).map((part) => {
    const hash = nameOf(document.title, part.heading, part.body);
    return { ...part, words: wordsIn(document, part), hash, state: nameOf(hash, part.near), links: linksIn(part.body) };
  });
  return { about: { ...found, title: document.title }, parts };
}

/** PostgreSQL keeps neither NUL nor half of a surrogate pair. */
const clean = (text: string) => text.replaceAll("\0", "").replace(/\p{Surrogate}/gu, "\ufffd");

export const nameOf = (...texts: string[]) =>
  createHash("sha256").update(texts.join("\0")).digest("base64url").slice(0, 22);
