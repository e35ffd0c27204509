/**
 * Renders untrusted markdown to safe HTML.
 *
 *   text ──cut──▶ ──scan──▶ read ──measure──▶ dress ──▶ sanitise ──▶ html
 *                   │                 │
 *                   └── too tangled ──┴── too big ──▶ the text itself, in a <pre>
 *
 * The scan rejects inputs that are known to be slow to parse. The parser has other quadratic cases, so the work runs
 * in a thread that is stopped at its time limit (renderer.ts). The sanitiser comes last: it alone decides which tags
 * and attributes are output.
 */
import rehypeStringify from "rehype-stringify";
import { unified } from "unified";
import { splitHidden } from "../kernel/hidden.ts";
import { dress, type ImageTo, type LinkTo, type PageTo } from "./markdown/dress.ts";
import { locate } from "./markdown/locate.ts";
import { oversized } from "./markdown/measure.ts";
import { displayFormulas, reader, toHtmlTree, withFormulas } from "./markdown/read.ts";
import { cleaner } from "./markdown/sanitise.ts";
import { tangled } from "./markdown/scan.ts";
import type { Element, HtmlNode, Root } from "./markdown/tree.ts";

const maxBytes = 1024 * 1024;
export const maxHtmlLength = 16 * 1024 * 1024;

const writer = unified().use(rehypeStringify).freeze();

export type Settings = {
  linkTo: LinkTo;
  pageTo?: PageTo | undefined;
  imageTo?: ImageTo | undefined;
  /** Adds source offsets to every text, counted from here. */
  stampFrom?: number | undefined;
};

/** Why a text cannot be rendered. */
export type Trouble = { trouble: string };

/** Safe HTML for any text: never a script, never a remote load. */
export function renderMarkdown(text: string, settings: Settings): string {
  const rendered = unlessTooDeep(() => render(text, settings));
  return "html" in rendered ? rendered.html : plainText(text, rendered.trouble);
}

/** The text in a <pre>, when it cannot be rendered. */
export function plainText(text: string, trouble: string, most = maxBytes): string {
  const { kept, note } = cut(text, most);
  const shown = splitHidden(kept).map(({ text, hidden }) =>
    hidden ? `<span class="hidden-char" title="hidden character">${text}</span>` : escaped(text),
  );
  const why = noteHtml(`This text is shown unformatted because ${trouble}.`);
  return `${note}${why}<pre class="plain-text">${shown.join("")}</pre>`;
}

const escaped = (text: string) => text.replaceAll("&", "&#x26;").replaceAll("<", "&#x3C;");

function render(given: string, settings: Settings): { html: string } | Trouble {
  const parsed = parse(given);
  if ("trouble" in parsed) return parsed;
  const { text, tree, note } = parsed;
  const { stampFrom } = settings;
  if (stampFrom !== undefined) locate(tree, text);
  const toSource = given.includes("\r") ? inSource(given) : (offset: number) => offset;
  const move = stampFrom === undefined ? undefined : (offset: number) => toSource(offset) + stampFrom;
  const html = toHtml(toSafeTree(tree, settings, move).children);
  return html.length > maxHtmlLength ? { trouble: "it is too large" } : { html: note + html };
}

/** The text with \n line ends, as a tree that is not safe yet. */
export type Parsed = { text: string; tree: Root; note: string };

export function parse(given: string): Parsed | Trouble {
  const { kept, note } = cut(given);
  const tangle = tangled(kept);
  if (tangle) return { trouble: tangle };
  const markdown = reader.parse(kept);
  const trouble = oversized(markdown);
  if (!trouble) displayFormulas(markdown, kept);
  return trouble ? { trouble } : { text: kept, tree: toHtmlTree.runSync(markdown), note };
}

type Move = (offset: number) => number;

export function toSafeTree(tree: Root, { linkTo, pageTo, imageTo }: Settings, move?: Move): Root {
  withFormulas.runSync(tree);
  dress(tree, { linkTo, pageTo, imageTo, inLink: false, inCode: false });
  if (move) moveStamps(tree, move);
  return cleaner.runSync(tree);
}

/** HTML of nodes of a safe tree. */
export const toHtml = (children: HtmlNode[]): string => writer.stringify({ type: "root", children });

/** The tree functions are recursive: a text that is nested too deeply exhausts the stack. */
export function unlessTooDeep<T>(work: () => T): T | Trouble {
  try {
    return work();
  } catch (error) {
    if (error instanceof RangeError) return { trouble: "it is nested too deeply" };
    throw error;
  }
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

function cut(whole: string, most = maxBytes): { kept: string; note: string } {
  const text = whole.replaceAll("\r\n", "\n").replaceAll("\r", "\n");
  // A UTF-16 unit takes at least one byte in UTF-8, so the slice bounds what is encoded.
  const bytes = Buffer.from(text.slice(0, most + 1));
  if (bytes.length <= most) return { kept: text, note: "" };

  // In stream mode the decoder drops a character that the cut has split.
  const kept = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(0, most), { stream: true });
  return { kept, note: noteHtml(`Only the first ${most < maxBytes ? `${most / 1024} KiB` : "1 MiB"} is shown.`) };
}

const noteHtml = (text: string) => `<p class="note">${text}</p>\n`;
