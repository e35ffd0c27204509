import { fenceAfter } from "../../kernel/markdown/fences.ts";
import { containers } from "../../kernel/markdown/links.ts";

/** A line with links whose targets were changed. */
export type RewrittenLine = { line: number; before: string; after: string };

type Rewrite = {
  /** The new address of a markdown link, an image or a definition. */
  address(given: string): string;
  /** The new inside of `[[ ]]`. */
  wiki(given: string): string;
};

/**
 * Changes the targets of links outside fenced code and nothing else in the text. It finds usual ways to write a link;
 * the caller compares the targets with those of `linkTargets` to see whether one was missed.
 */
export function rewriteLinks(text: string, { address, wiki }: Rewrite): { text: string; links: number } {
  let links = 0;
  const put = (change: (given: string) => string) => (match: string, start: string, given: string) => {
    const after = change(given);
    if (after === given) return match;
    links++;
    return start + after + match.slice(start.length + given.length);
  };
  const changed = proseAndCode(text).map(({ isProse, block }) =>
    isProse
      ? forms.reduce((now, form) => now.replace(form, put(address)), block).replace(wikiForm, put(wiki))
      : block,
  );
  return { text: changed.join(""), links };
}

/** The lines that differ; a rewrite neither adds nor removes lines. */
export function rewrittenLines(before: string, after: string): RewrittenLine[] {
  const now = after.split("\n");
  return before.split("\n").flatMap((line, at) => {
    const next = now[at] ?? "";
    return line === next ? [] : [{ line: at + 1, before: clipped(line, next), after: clipped(next, line) }];
  });
}

const longestLine = 300;

/** The part of a long line around the first difference. */
function clipped(line: string, other: string): string {
  const text = line.replace(/\r$/, "");
  if (text.length <= longestLine) return text;
  let same = 0;
  while (same < text.length && text[same] === other[same]) same++;
  const from = Math.max(0, same - longestLine / 3);
  return `${from > 0 ? "…" : ""}${text.slice(from, from + longestLine)}${from + longestLine < text.length ? "…" : ""}`;
}

/** Each with the text before the address, and the address. */
const forms = [
  /(\]\([ \t\r\n]{0,9}<)([^<>\n]{1,400})(?=>)/g,
  /(\]\([ \t\r\n]{0,9})([^\s<>()]{1,400})(?=[\s)])/g,
  /(^ {0,3}\[[^\]\n[]{1,400}\]:[ \t]{0,9}<?)([^\s<>]{1,400})/gm,
  /(<(?:a|img)\s[^<>]{0,400}?(?:href|src)=")([^"<>\n]{1,400})(?=")/gi,
];
const wikiForm = /(\[\[)([^[\]\n`]{1,400})(?=\]\](?!\())/g;

/** The text in pieces: runs of lines outside fenced code, and the fenced ones. */
function proseAndCode(text: string): { isProse: boolean; block: string }[] {
  const pieces: { isProse: boolean; lines: string[] }[] = [];
  let fence: ReturnType<typeof fenceAfter>;
  for (const whole of text.split(/(?<=\n)/)) {
    const line = whole.replace(/\r?\n$/, "");
    const before = fence;
    fence = fenceAfter(fence, line.slice(containers.exec(line)?.[0].length ?? 0));
    const isProse = !before && !fence;
    const last = pieces.at(-1);
    if (last?.isProse === isProse) last.lines.push(whole);
    else pieces.push({ isProse, lines: [whole] });
  }
  return pieces.map(({ isProse, lines }) => ({ isProse, block: lines.join("") }));
}
