import { type CodeFence, fenceAfter } from "../../kernel/markdown/fences.ts";
import type { PassageShape } from "../../store/tables.ts";
import { dateWords } from "../rank/dates.ts";

export type Document = { title: string; text: string };

/** A passage of a text. */
export type Chunk = {
  /** The headings above it, outermost first, joined by ›. */
  heading: string;
  /** Its first line, from 1. */
  line: number;
  body: string;
  /** The neighbouring passages under the same headings, so that the words of a question find its answer. */
  near: string;
  shape: PassageShape;
  /** The turn before, which a turn is embedded with. */
  before: string;
};

/** Characters; about as much as a small embedding model reads. */
const targetLength = 1000;
const maxLength = 1600;
const nearCharacters = 400;
const neighbours = 2;
const maxChunks = 20_000;

type Block = { heading: string; line: number; body: string; shape: PassageShape };

/** Splits by headings, then by turns of a conversation or lines of a log, otherwise by paragraphs up to a size. */
export function chunk({ text }: Document): Chunk[] {
  const chunks = blocksOf(text).reduce<Block[]>(pack, []).flatMap(split).slice(0, maxChunks);
  return chunks.map((block, at) => ({
    heading: block.heading,
    line: block.line,
    body: block.body,
    near: around(chunks, at),
    shape: block.shape,
    before: block.shape === "turn" ? bodyBeside(chunks, at, -1) : "",
  }));
}

/** `Ada: yes`, `**Ada**: yes`, `[10:32] Ada: yes`, `10:32 ada: yes`. */
const turn =
  /^(?:\[?\d[\d:., TZ-]{0,40}\]?\s{1,4})?(?:\*\*|<)?[\p{L}][\p{L}\p{N}_. '’-]{0,40}(?:\*\*|>)?\s?(?:\([^)]{1,40}\))?:(?:\*\*)?\s{1,4}\S/u;
/** A line that begins with a date. */
const dated = /^(?:[-*]\s{1,4})?\[?\d{4}-\d\d-\d\d[T\s\]]/;
/** A list item. With a date it is an entry of a log, unrelated to its neighbours. */
const listItem = /^[-*]\s/;

function blocksOf(text: string): Block[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const spoken = isConversation(lines);
  const headings: string[] = [];
  const blocks: Block[] = [];
  let open: { line: number; lines: string[]; shape: PassageShape } | undefined;
  let fence: CodeFence | undefined;

  const close = () => {
    const body = open?.lines.join("\n").trim();
    if (open && body)
      blocks.push({ heading: headings.filter(Boolean).join(" › "), line: open.line, body, shape: open.shape });
    open = undefined;
  };
  for (const [at, line] of lines.entries()) {
    // Trimmed, because code blocks in lists are indented.
    fence = fenceAfter(fence, line.trimStart());
    const fenced = fence !== undefined;
    const heading = fenced ? undefined : headingIn(line);
    if (heading) {
      close();
      const { depth } = heading;
      headings.length = depth - 1;
      headings[depth - 1] = heading.text;
      for (let i = 0; i < depth; i++) headings[i] ??= "";
      continue;
    }
    const shape = fenced ? "text" : shapeOf(line, spoken);
    if (shape !== "text" || (line.trim() === "" && !fenced)) close();
    if (line.trim() === "" && !open) continue;
    open ??= { line: at + 1, lines: [], shape };
    open.lines.push(line);
  }
  close();
  // A text of headings alone still needs one passage to be found by them.
  const last = headings.filter(Boolean).join(" › ");
  if (blocks.length === 0) blocks.push({ heading: last, line: 1, body: "", shape: "text" });
  return blocks;
}

function shapeOf(line: string, spoken: boolean): PassageShape {
  if (spoken && turn.test(line)) return "turn";
  return dated.test(line) ? "log" : "text";
}

/** A longer line is not a heading; the limit also bounds the time of the patterns below on many spaces. */
const maxHeadingLength = 300;

function headingIn(line: string): { depth: number; text: string } | undefined {
  const depth = /^#{1,6}(?=\s)/.exec(line)?.[0].length;
  if (depth === undefined || line.length > maxHeadingLength) return undefined;
  const text = line.slice(depth).trim().replace(/\s#+$/, "").trim();
  return text === "" ? undefined : { depth, text };
}

/** At least half of the lines are turns, and speakers recur. */
function isConversation(lines: string[]): boolean {
  const nonEmpty = lines.filter((line) => line.trim() !== "" && !headingIn(line)).slice(0, 400);
  const speakers = nonEmpty.filter((line) => turn.test(line)).map((line) => line.split(":", 1)[0]);
  return (
    speakers.length >= 3 && speakers.length * 2 >= nonEmpty.length && new Set(speakers).size < speakers.length * 0.7 + 1
  );
}

/** Joins short paragraphs under one heading. */
function pack(packed: Block[], block: Block): Block[] {
  const last = packed.at(-1);
  const fits = last?.shape === "text" && block.shape === "text" && last.heading === block.heading;
  if (fits && last.body.length + block.body.length <= targetLength) last.body += `\n\n${block.body}`;
  else packed.push({ ...block });
  return packed;
}

/** Cuts a long block between lines, sentences or words, in that order of preference. */
function split(block: Block): Block[] {
  if (block.body.length <= maxLength) return [block];
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
  if (text.length - from <= maxLength) return text.length;
  const window = text.slice(from, from + maxLength);
  for (const mark of [/\n(?=[^\n]*$)/, /[.!?][)"'”]?\s(?=[^.!?]*$)/, /\s(?=\S*$)/]) {
    const found = mark.exec(window.slice(targetLength / 2));
    if (found) return from + targetLength / 2 + found.index + found[0].length;
  }
  // Do not cut a surrogate pair.
  return from + maxLength - (/[\ud800-\udbff]$/.test(window) ? 1 : 0);
}

/** A passage as far as its neighbours see it. */
export type Neighbour = Pick<Chunk, "heading" | "body">;

/** The text of a passage beside this one, if it has the same headings. */
const bodyBeside = (chunks: Neighbour[], at: number, step: number) =>
  chunks[at + step]?.heading === chunks[at]?.heading ? (chunks[at + step]?.body ?? "") : "";

/** The words around a passage. It depends on nothing but these: the index computes it again to delete a passage. */
export function around(chunks: Neighbour[], at: number): string {
  const own = chunks[at]?.body ?? "";
  if (dated.test(own) && listItem.test(own)) return "";
  const before: string[] = [];
  const after: string[] = [];
  for (let step = 1; step <= neighbours; step++) {
    before.unshift(bodyBeside(chunks, at, -step));
    after.push(bodyBeside(chunks, at, step));
  }
  return `${before.join("\n").slice(-nearCharacters)}\n${after.join("\n").slice(0, nearCharacters)}`.trim();
}

/** Words by which a passage is found beside its own: title, headings and spelled-out dates. */
export const titleWords = (document: Pick<Document, "title">, chunk: Pick<Chunk, "heading" | "body">) =>
  `${document.title} ${chunk.heading} ${dateWords(`${document.title} ${chunk.heading} ${chunk.body}`)}`;

/** The text that is embedded. A turn has the turn before as context, a log line none, other text its title and headings. */
export function embeddedText(title: string, chunk: Pick<Chunk, "heading" | "body" | "shape" | "before">): string {
  const { shape, heading, before, body } = chunk;
  const context = { turn: [before], log: [], text: [title, heading] }[shape];
  return [...context, body].filter(Boolean).join("\n");
}
