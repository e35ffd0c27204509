import { dateWords } from "../rank/dates.ts";

/** A text to be found by its parts. */
export type Document = { title: string; text: string };

/** A piece of a text that can be read by itself, and where it stands. */
export type Chunk = {
  /** The headings above it, the outermost first. */
  heading: string;
  /** The line on which it begins, from 1. */
  line: number;
  body: string;
  /** What stands around it under the same headings: a question finds its answer, an answer its question. */
  near: string;
};

/** About what a small embedding model reads of one text. */
const usual = 1000;
const most = 1600;
const nearCharacters = 400;
const neighbours = 2;
const mostChunks = 20_000;

type Block = { heading: string; line: number; body: string; alone: boolean };

/** By headings, then by turns of a conversation or lines of a log, else by paragraphs up to a size. */
export function chunk({ text }: Document): Chunk[] {
  const chunks = blocksOf(text).reduce<Block[]>(pack, []).flatMap(split).slice(0, mostChunks);
  return chunks.map((block, at) => ({
    heading: block.heading,
    line: block.line,
    body: block.body,
    near: around(chunks, at),
  }));
}

const fence = /^\s*(```|~~~)/;
/** `Ada: yes`, `**Ada**: yes`, `[10:32] Ada: yes`, `10:32 ada: yes`. */
const turn =
  /^(?:\[?\d[\d:., TZ-]{0,40}\]?\s{1,4})?(?:\*\*|<)?[\p{L}][\p{L}\p{N}_. '’-]{0,40}(?:\*\*|>)?\s?(?:\([^)]{1,40}\))?:(?:\*\*)?\s{1,4}\S/u;
/** A log line, or any other that begins with when. */
const dated = /^(?:[-*]\s{1,4})?\[?\d{4}-\d\d-\d\d[T\s\]]/;
/** An item that begins with when, as in the logs of a workspace: each is of another matter. */
const recorded = /^[-*]\s/;

function blocksOf(text: string): Block[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const spoken = isConversation(lines);
  const headings: string[] = [];
  const blocks: Block[] = [];
  let open: { line: number; lines: string[]; alone: boolean } | undefined;
  let fenced = false;

  const close = () => {
    const body = open?.lines.join("\n").trim();
    if (open && body)
      blocks.push({ heading: headings.filter(Boolean).join(" › "), line: open.line, body, alone: open.alone });
    open = undefined;
  };
  for (const [at, line] of lines.entries()) {
    if (fence.test(line)) fenced = !fenced;
    const heading = fenced ? undefined : headingIn(line);
    if (heading) {
      close();
      const { depth } = heading;
      headings.length = depth - 1;
      headings[depth - 1] = heading.text;
      for (let i = 0; i < depth; i++) headings[i] ??= "";
      continue;
    }
    const begins = !fenced && (dated.test(line) || (spoken && turn.test(line)));
    if (begins || (line.trim() === "" && !fenced)) close();
    if (line.trim() === "" && !open) continue;
    open ??= { line: at + 1, lines: [], alone: begins };
    open.lines.push(line);
  }
  close();
  // What has only a title, or headings, is found by those.
  const last = headings.filter(Boolean).join(" › ");
  if (blocks.length === 0) blocks.push({ heading: last, line: 1, body: "", alone: false });
  return blocks;
}

/** Longer ones are no headings. Beside that, a pattern that looks for the end of a line takes too long over many spaces. */
const longestHeading = 300;

function headingIn(line: string): { depth: number; text: string } | undefined {
  const depth = /^#{1,6}(?=\s)/.exec(line)?.[0].length;
  if (depth === undefined || line.length > longestHeading) return undefined;
  const text = line.slice(depth).trim().replace(/\s#+$/, "").trim();
  return text === "" ? undefined : { depth, text };
}

/** Most of its lines are somebody speaking, and the same voices come again. */
function isConversation(lines: string[]): boolean {
  const full = lines.filter((line) => line.trim() !== "" && !headingIn(line)).slice(0, 400);
  const voices = full.filter((line) => turn.test(line)).map((line) => line.split(":", 1)[0]);
  return voices.length >= 3 && voices.length * 2 >= full.length && new Set(voices).size < voices.length * 0.7 + 1;
}

/** Short paragraphs under one heading belong together. */
function pack(packed: Block[], block: Block): Block[] {
  const last = packed.at(-1);
  const fits = last && !last.alone && !block.alone && last.heading === block.heading;
  if (fits && last.body.length + block.body.length <= usual) last.body += `\n\n${block.body}`;
  else packed.push({ ...block });
  return packed;
}

/** A long paragraph is cut between sentences, or lines, or at worst words. */
function split(block: Block): Block[] {
  if (block.body.length <= most) return [block];
  const pieces: Block[] = [];
  let from = 0;
  let line = block.line;
  while (from < block.body.length) {
    const to = cutAfter(block.body, from);
    const body = block.body.slice(from, to);
    if (body.trim()) pieces.push({ ...block, line, body: body.trim() });
    line += body.split("\n").length - 1;
    from = to;
  }
  return pieces;
}

function cutAfter(text: string, from: number): number {
  if (text.length - from <= most) return text.length;
  const window = text.slice(from, from + most);
  for (const mark of [/\n(?=[^\n]*$)/, /[.!?][)"'”]?\s(?=[^.!?]*$)/, /\s(?=\S*$)/]) {
    const found = mark.exec(window.slice(usual / 2));
    if (found) return from + usual / 2 + found.index + found[0].length;
  }
  // Never between the halves of one character.
  return from + most - (/[\ud800-\udbff]$/.test(window) ? 1 : 0);
}

function around(chunks: Block[], at: number): string {
  const own = chunks[at]?.body ?? "";
  if (dated.test(own) && recorded.test(own)) return "";
  const before: string[] = [];
  const after: string[] = [];
  const bodyAt = (index: number) => (chunks[index]?.heading === chunks[at]?.heading ? (chunks[index]?.body ?? "") : "");
  for (let step = 1; step <= neighbours; step++) {
    before.unshift(bodyAt(at - step));
    after.push(bodyAt(at + step));
  }
  return `${before.join("\n").slice(-nearCharacters)}\n${after.join("\n").slice(0, nearCharacters)}`.trim();
}

/** What a passage is found by beside its own words: where it stands, and when it was, as people say it. */
export const titleWords = (document: Document, chunk: Pick<Chunk, "heading" | "body">) =>
  `${document.title} ${chunk.heading} ${dateWords(`${document.title} ${chunk.heading} ${chunk.body.slice(0, 200)}`)}`;

/** What a model is given of a passage: a turn or a line of a log speaks for itself, all else needs to know what it is about. */
export const embeddedText = (title: string, { heading, body }: Pick<Chunk, "heading" | "body">) =>
  turn.test(body) || dated.test(body) ? body : [title, heading, body].filter(Boolean).join("\n");
