const most = { lines: 50_000, containers: 50, openBrackets: 200, emphasisMarks: 4_000 };

/** One pass over the characters: what the parser would choke on, or undefined. */
export function tangled(text: string): string | undefined {
  let lines = 0;
  let fence = "";
  let brackets = 0;
  let marks = 0;

  for (let start = 0; start <= text.length; ) {
    const newline = text.indexOf("\n", start);
    const end = newline < 0 ? text.length : newline;
    if (++lines > most.lines) return "it has too many lines";

    const prefix = containersAt(text, start, end);
    const opener = text.startsWith("```", prefix.end) ? "```" : text.startsWith("~~~", prefix.end) ? "~~~" : "";
    if (opener && (fence === "" || fence === opener)) fence = fence === "" ? opener : "";
    else if (fence === "") {
      if (prefix.depth > most.containers) return "it is nested too deeply";

      const newBlock = prefix.end === end || prefix.depth > 0 || text[prefix.end] === "|";
      if (newBlock) brackets = marks = 0;
      for (let at = prefix.end; at < end; at++) {
        const char = text[at];
        if (char === "[") brackets++;
        else if (char === "]") brackets = Math.max(0, brackets - 1);
        else if ((char === "*" || char === "_" || char === "~") && char !== text[at - 1]) marks++;
        if (brackets > most.openBrackets) return "it has too many brackets inside each other";
        if (marks > most.emphasisMarks) return "it has too many emphasis marks in one paragraph";
      }
    }
    start = end + 1;
  }
  return undefined;
}

/** How many quotes and lists a line opens or continues, and where its own content begins. */
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
    if (depth > most.containers) break;
  }
  return { depth, end: at };
}

const listMarker = /(?:\d{1,9}[.)]|[-+*])(?=[ \t]|$)/my;

function listMarkerLength(text: string, at: number, end: number): number {
  listMarker.lastIndex = at;
  const length = listMarker.exec(text)?.[0].length ?? 0;
  return at + length <= end ? length : 0;
}
