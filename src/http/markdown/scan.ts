import { type CodeFence, fenceAfter } from "../../kernel/markdown/fences.ts";

const max = { lines: 50_000, containers: 50, openBrackets: 200, emphasisMarks: 4_000 };

/** Why a text would take the parser too long; undefined if it would not. One pass over the characters. */
export function tangled(text: string): string | undefined {
  let lines = 0;
  let fence: CodeFence | undefined;
  let brackets = 0;
  let marks = 0;

  for (let start = 0; start <= text.length; ) {
    const newline = text.indexOf("\n", start);
    const end = newline < 0 ? text.length : newline;
    if (++lines > max.lines) return "it has too many lines";

    const prefix = containersAt(text, start, end);
    const wasOpen = fence !== undefined;
    if (text[prefix.end] === "`" || text[prefix.end] === "~") fence = fenceAfter(fence, text.slice(prefix.end, end));
    if (!wasOpen && !fence) {
      if (prefix.depth > max.containers) return "it is nested too deeply";

      const newBlock = prefix.end === end || prefix.depth > 0 || text[prefix.end] === "|";
      if (newBlock) brackets = marks = 0;
      for (let at = prefix.end; at < end; at++) {
        const char = text[at];
        if (char === "[") brackets++;
        else if (char === "]") brackets = Math.max(0, brackets - 1);
        else if ((char === "*" || char === "_" || char === "~") && char !== text[at - 1]) marks++;
        if (brackets > max.openBrackets) return "it has too many nested brackets";
        if (marks > max.emphasisMarks) return "it has too many emphasis marks in one paragraph";
      }
    }
    start = end + 1;
  }
  return undefined;
}

/** The number of quotes and lists that a line opens or continues, and where its content begins. */
function containersAt(text: string, start: number, end: number): { depth: number; end: number } {
  let at = start;
  let depth = 0;
  let indent = 0;
  for (; at < end; at++) {
    const char = text[at];
    if (char === " ") indent++;
    else if (char === "\t") indent += 4;
    else if (char === ">") depth++;
    else {
      const marker = listMarkerLength(text, at, end);
      if (marker === 0) break;
      depth += 1 + Math.floor(indent / 2);
      indent = 0;
      at += marker - 1;
    }
    if (depth > max.containers) break;
  }
  return { depth, end: at };
}

const listMarker = /(?:\d{1,9}[.)]|[-+*])(?=[ \t]|$)/my;

function listMarkerLength(text: string, at: number, end: number): number {
  listMarker.lastIndex = at;
  const length = listMarker.exec(text)?.[0].length ?? 0;
  return at + length <= end ? length : 0;
}
