import * as z from "zod";
import { findFrontmatter } from "../../kernel/markdown/frontmatter.ts";
import { readYaml } from "../../kernel/yaml.ts";

/**
 * An entry's file: frontmatter between two `---` lines, a blank line, the body. Agents read and write only the
 * body, with LF line ends. Frontmatter, byte order mark and CRLF of a person's editor are preserved.
 */
export type EntryDocument = {
  bom: boolean;
  crlf: boolean;
  /** The YAML between the `---` lines; undefined when the file has no frontmatter. */
  front: string | undefined;
  body: string;
};

const frontmatter = z.looseObject({ title: z.string().optional() });
const frontmatterBytes = 64 * 1024;

export function parseDocument(bytes: Buffer): EntryDocument {
  const raw = bytes.toString("utf8");
  const bom = raw.startsWith("\ufeff");
  const crlf = /^[^\n]*\r\n/.test(raw);
  const text = (bom ? raw.slice(1) : raw).replaceAll("\r\n", "\n");
  const found = findFrontmatter(text);
  return { bom, crlf, front: found?.yaml, body: found ? text.slice(found.bodyStart) : text };
}

/** The title in the frontmatter, or the reason why the frontmatter is invalid; invalid frontmatter is preserved. */
export function readFront(document: EntryDocument, file: string): { title?: string; complaint?: string } {
  if (document.front === undefined) {
    return document.body.startsWith("---\n")
      ? { complaint: `${file}:1:1: the frontmatter has no closing --- line` }
      : {};
  }
  const read = readYaml(document.front, frontmatter, { file, maxBytes: frontmatterBytes });
  if (!read.ok) return { complaint: read.problem.message };
  const { title } = read.value.value;
  return title === undefined ? {} : { title };
}

/** The file's bytes with another body. */
export function withBody(document: EntryDocument, body: string, title: string): Buffer {
  const front = document.front ?? `title: ${JSON.stringify(title)}\n`;
  const lines = body.replaceAll("\r\n", "\n");
  const text = `---\n${front}---\n${lines === "" ? "" : `\n${lines}`}`;
  return Buffer.from((document.bom ? "\ufeff" : "") + (document.crlf ? text.replaceAll("\n", "\r\n") : text));
}

export const emptyDocument: EntryDocument = {
  bom: false,
  crlf: false,
  front: undefined,
  body: "",
};

/** Scripts that are written without spaces between words. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
/** Made when it is needed: that takes longer than starting a command may. */
let segmenter: Intl.Segmenter | undefined;

/**
 * Words between white space. Chinese, Japanese, Thai and other texts without spaces are segmented by dictionary, which
 * takes longer and is done only for the stretches that need it.
 */
export function countWords(text: string): number {
  if (!unspaced.test(text)) return countSpaced(text);
  segmenter ??= new Intl.Segmenter("en", { granularity: "word" });
  let words = 0;
  for (const stretch of text.split(/[\u0000-\u0020]+/)) {
    if (!unspaced.test(stretch)) words += stretch === "" ? 0 : 1;
    else for (const { isWordLike } of segmenter.segment(stretch)) if (isWordLike) words++;
  }
  return words;
}

function countSpaced(text: string): number {
  let words = 0;
  let inside = false;
  for (let i = 0; i < text.length; i++) {
    const space = text.charCodeAt(i) <= 32;
    if (inside && space) words++;
    inside = !space;
  }
  return inside ? words + 1 : words;
}
