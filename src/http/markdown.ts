/**
 * Renders untrusted markdown to safe HTML.
 *
 *   text ──cut──▶ ──scan──▶ read ──measure──▶ dress ──▶ sanitise ──▶ html
 *                   │                 │          │
 *                   └── too tangled ──┴── too big┴── too slow ──▶ the text itself, in a <pre>
 *
 * The scan rejects inputs that are known to be slow to parse. The parser has other quadratic cases, so the work also
 * runs under a time limit. The sanitiser comes last: it alone decides which tags and attributes are output.
 */
import { runInNewContext } from "node:vm";
import rehypeStringify from "rehype-stringify";
import { unified } from "unified";
import { dress, type LinkTo, type PageTo } from "./markdown/dress.ts";
import { locate } from "./markdown/locate.ts";
import { oversized } from "./markdown/measure.ts";
import { reader, toHtmlTree, withFormulas } from "./markdown/read.ts";
import { cleaner } from "./markdown/sanitise.ts";
import { tangled } from "./markdown/scan.ts";
import { type Element, element, type Root, revealed } from "./markdown/tree.ts";

const max = { bytes: 1024 * 1024, htmlLength: 16 * 1024 * 1024, milliseconds: 4_000 };

const writer = unified().use(rehypeStringify).freeze();

export type Settings = {
  linkTo: LinkTo;
  pageTo?: PageTo | undefined;
  /** Adds source offsets to every text, counted from here. */
  stampFrom?: number | undefined;
};

/** Safe HTML for any text: never a script, never a remote load, never unbounded work. */
export function renderMarkdown(text: string, settings: Settings): string {
  const { kept, note } = cut(text);
  const trouble = tangled(kept);
  const toSource = text.includes("\r") ? inSource(text) : (offset: number) => offset;
  const rendered = trouble ? { trouble } : withinTime(() => render(kept, settings, toSource));
  return note + ("html" in rendered ? rendered.html : withoutLayout(kept, rendered.trouble));
}

/** The text in a <pre>, when it cannot be rendered. */
export function plainText(text: string, trouble: string): string {
  const { kept, note } = cut(text);
  return note + withoutLayout(kept, trouble);
}

type Rendered = { html: string } | { trouble: string };

type Move = (offset: number) => number;

function render(text: string, { linkTo, pageTo, stampFrom }: Settings, toSource: Move): Rendered {
  const markdown = reader.parse(text);
  const trouble = oversized(markdown);
  if (trouble) return { trouble };

  const tree = toHtmlTree.runSync(markdown);
  if (stampFrom !== undefined) locate(tree, text);
  withFormulas.runSync(tree);
  dress(tree, { linkTo, pageTo, inLink: false, inCode: false });
  if (stampFrom !== undefined) moveStamps(tree, (offset) => toSource(offset) + stampFrom);
  const html = writer.stringify(cleaner.runSync(tree));
  return html.length > max.htmlLength ? { trouble: "it is too large" } : { html };
}

function moveStamps(parent: Root | Element, move: Move): void {
  for (const child of parent.children) {
    if (child.type !== "element") continue;
    const { dataS, dataE } = child.properties;
    if (typeof dataS === "number") child.properties.dataS = move(dataS);
    if (typeof dataE === "number") child.properties.dataE = move(dataE);
    moveStamps(child, move);
  }
}

/** Maps an offset in the text with \n line ends to one in the original text. */
function inSource(given: string): Move {
  const breaks = [...given.matchAll(/\r\n/g)].map((match, before) => match.index - before);
  return (offset) => {
    let low = 0;
    let high = breaks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((breaks[middle] ?? 0) < offset) low = middle + 1;
      else high = middle;
    }
    return offset + low;
  };
}

function cut(whole: string): { kept: string; note: string } {
  const text = whole.replaceAll("\r\n", "\n").replaceAll("\r", "\n");
  // A UTF-16 unit takes at least one byte in UTF-8, so the slice bounds what is encoded.
  const bytes = Buffer.from(text.slice(0, max.bytes + 1));
  if (bytes.length <= max.bytes) return { kept: text, note: "" };

  // In stream mode the decoder drops a character that the cut has split.
  const kept = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(0, max.bytes), { stream: true });
  return { kept, note: noteHtml("Only the first 1 MiB is shown.") };
}

// V8 aborts the work at the time limit, even inside a regular expression. Without this, a few kilobytes such as
// `[a](` repeated would take minutes.
function withinTime(work: () => Rendered): Rendered {
  try {
    return runInNewContext("work()", { work }, { timeout: max.milliseconds }) as Rendered;
  } catch (error) {
    // Not instanceof: the timeout error is of another context's Error class.
    if ((error as { code?: unknown }).code === "ERR_SCRIPT_EXECUTION_TIMEOUT") {
      return { trouble: "rendering takes too long" };
    }
    if (error instanceof RangeError) return { trouble: "it is nested too deeply" };
    throw error;
  }
}

function withoutLayout(text: string, trouble: string): string {
  const tree: Root = { type: "root", children: [element("pre", { className: ["plain-text"] }, revealed(text))] };
  return noteHtml(`This text is shown unformatted because ${trouble}.`) + writer.stringify(tree);
}

const noteHtml = (text: string) => `<p class="note">${text}</p>\n`;
