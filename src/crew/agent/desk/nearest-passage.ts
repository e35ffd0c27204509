const mostLines = 12;
const mostFileLines = 20_000;

/** Where a passage that was not found most likely is, with the lines that differ, white space made visible. */
export function nearestPassage(text: string, passage: string): string {
  const lines = text.split("\n").slice(0, mostFileLines);
  const wanted = passage.replace(/^\n+|\n+$/g, "").split("\n");
  const at = bestPlace(lines, wanted);
  if (at === undefined) return "no line of it occurs there; read the file and copy the passage exactly";
  const there = lines.slice(at, at + wanted.length);
  const isWhiteSpace = there.every((line, i) => squeezed(line) === squeezed(wanted[i] ?? ""));
  const what = isWhiteSpace ? "the nearest differs in white space only" : "the nearest differs";
  const diff = wanted.flatMap((line, i) => (line === there[i] ? [] : [`- ${seen(line)}`, `+ ${seen(there[i] ?? "")}`]));
  const cut = diff.length > 2 * mostLines ? [...diff.slice(0, 2 * mostLines), "…"] : diff;
  const last = at + there.length;
  return [`${what} and is at lines ${at + 1} to ${last} (- yours, + the file, · space, → tab):`, ...cut].join("\n");
}

/** The place where most lines of the passage are the same but for white space; else the line with most words of its first. */
function bestPlace(lines: readonly string[], wanted: readonly string[]): number | undefined {
  const places = new Map<string, number[]>();
  for (const [at, line] of lines.entries()) {
    const key = squeezed(line);
    if (key !== "") places.set(key, [...(places.get(key) ?? []).slice(0, 50), at]);
  }
  const votes = new Map<number, number>();
  for (const [i, line] of wanted.slice(0, 200).entries()) {
    for (const at of places.get(squeezed(line)) ?? []) votes.set(at - i, (votes.get(at - i) ?? 0) + 1);
  }
  const most = best([...votes]);
  if (most !== undefined) return Math.max(0, most);
  const words = new Set(wordsOf(wanted.find((line) => line.trim() !== "") ?? ""));
  const shared = lines.map((line, at): [number, number] => {
    const found = new Set(wordsOf(line).filter((word) => words.has(word)));
    return [at, found.size];
  });
  return best(shared.filter(([, count]) => count > 0 && 2 * count >= words.size));
}

const best = (scored: [number, number][]) =>
  scored.reduce<[number, number] | undefined>((top, one) => (top && top[1] >= one[1] ? top : one), undefined)?.[0];

const squeezed = (line: string) => line.replace(/\s+/g, " ").trim();
const wordsOf = (line: string) => line.slice(0, 500).match(/\w+/g) ?? [];
const seen = (line: string) => line.slice(0, 300).replace(/ /g, "·").replace(/\t/g, "→").replace(/\r/g, "␍");
