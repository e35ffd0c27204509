import { fresh, join, replace, slice, type Tracked, tracked, whereabouts } from "../../test/support/tracked-text.ts";
import { word } from "../support/text.ts";

export type Span = { start: number; end: number };
export type Chance = () => number;
type Edit = (page: Tracked, passage: Span, chance: Chance) => Tracked;

/** What people and agents do to a page, each with the passage in the midst of it. */
export const edits: Record<string, Edit> = {
  "edit elsewhere": (page, passage, chance) => {
    const others = paragraphs(page.text).filter((p) => p.end <= passage.start || p.start >= passage.end);
    const chosen = others.filter(() => chance() < 0.3).reverse();
    return chosen.reduce((text, p) => rewordIn(text, p, chance, 0.5), page);
  },
  "move its section": (page, passage, chance) =>
    moveBlock(page, sectionOf(page.text, passage), sections(page.text), chance),
  "move its paragraph": (page, passage, chance) =>
    moveBlock(page, blockOf(paragraphs(page.text), passage), paragraphs(page.text), chance),
  "swap with its twin": (page, passage) => swapTwins(page, passage),
  "reword around": (page, passage, chance) => {
    const block = blockOf(paragraphs(page.text), passage);
    const after = rewordIn(page, { start: passage.end, end: block.end }, chance, 0.6);
    return rewordIn(after, { start: block.start, end: passage.start }, chance, 0.6);
  },
  "reword inside": (page, passage, chance) => rewordIn(page, passage, chance, 0.15, 1),
  "reword inside, much": (page, passage, chance) => rewordIn(page, passage, chance, 0.5, 1),
  split: (page, passage, chance) => {
    const block = blockOf(paragraphs(page.text), passage);
    const gaps = [...page.text.slice(block.start, block.end).matchAll(/ /g)].map((gap) => block.start + gap.index);
    const at = gaps[Math.floor(chance() * gaps.length)];
    return at === undefined ? page : replace(page, at, at + 1, "\n\n");
  },
  merge: (page, passage) => {
    const blocks = paragraphs(page.text);
    const block = blockOf(blocks, passage);
    const next = blocks.find((p) => p.start >= block.end);
    const before = blocks.findLast((p) => p.end <= block.start);
    const below = next ? replace(page, block.end, next.start, " ") : page;
    return before ? replace(below, before.end, block.start, " and also ") : below;
  },
  "delete it": (page, passage) => replace(page, passage.start, passage.end, ""),
  "delete its paragraph": (page, passage) => remove(page, blockOf(paragraphs(page.text), passage)),
  "delete its section": (page, passage) => remove(page, sectionOf(page.text, passage)),
  "delete, and use its words elsewhere": (page, passage, chance) => {
    const words = page.text.slice(passage.start, passage.end).replace(/\s+/g, " ");
    const at = cut(page, passage, chance);
    if (at === undefined) return page;
    const gone = remove(page, blockOf(paragraphs(page.text), passage));
    const spot = whereabouts(gone, at, page.text.length)?.start ?? gone.text.length;
    return replace(gone, spot, spot, `${invented(chance, 5)} ${words} ${invented(chance, 5)}.\n\n`);
  },
  reformat: (page) => {
    const markings: [RegExp, (match: RegExpExecArray) => [number, number, string][]][] = [
      [
        /\*\*([^*\n]+)\*\*/g,
        ({ 0: all }) => [
          [all.length - 2, all.length, "__"],
          [0, 2, "__"],
        ],
      ],
      [/^- /gm, () => [[0, 1, "*"]]],
      [/^\d+\. /gm, ({ 0: all }) => [[0, all.length, `${(all.length * 7) % 9}. `]]],
      [/\| /g, () => [[0, 2, "|  "]]],
      [/\n\n## /g, () => [[0, 2, "\n\n\n"]]],
    ];
    return markings.reduce(
      (text, [pattern, change]) =>
        [...text.text.matchAll(pattern)]
          .reverse()
          .reduce(
            (changed, match) =>
              change(match).reduce(
                (parts, [start, end, by]) => replace(parts, match.index + start, match.index + end, by),
                changed,
              ),
            text,
          ),
      page,
    );
  },
  "re-wrap": (page) =>
    paragraphs(page.text)
      .filter((p) => /^[^#|`\n-]/.test(page.text.slice(p.start)))
      .reverse()
      .reduce((text, p) => replace(text, p.start, p.end, rewrapped(slice(text, p.start, p.end), 60)), page),
  "rewrite the page": (page, passage, chance) => {
    const kinds = [
      "edit elsewhere",
      "reword around",
      "merge",
      "move its section",
      "re-wrap",
      "split",
      "edit elsewhere",
    ];
    return kinds.reduce((text, kind) => {
      const now = chance() < 0.7 ? whereabouts(text, passage.start, passage.end) : undefined;
      const edit = edits[kind] as Edit;
      return now ? edit(text, now, chance) : text;
    }, page);
  },
};

export const edited = (kind: string, text: string, passage: Span, chance: Chance): Tracked =>
  (edits[kind] as Edit)(tracked(text), passage, chance);

/** Blocks between blank lines. */
export function paragraphs(text: string): Span[] {
  return [...text.matchAll(/[^\n]+(?:\n[^\n]+)*/g)].map((match) => ({
    start: match.index,
    end: match.index + match[0].length,
  }));
}

function sections(text: string): Span[] {
  const starts = [...text.matchAll(/^#{1,6} /gm)].map((match) => match.index);
  if (starts[0] !== 0) starts.unshift(0);
  return starts.map((start, i) => ({ start, end: starts[i + 1] ?? text.length }));
}

const sectionOf = (text: string, passage: Span) => blockOf(sections(text), passage);

/** All the blocks that a passage touches, as one. */
function blockOf(blocks: Span[], passage: Span): Span {
  const touched = blocks.filter((block) => block.start < passage.end && block.end > passage.start);
  return { start: touched[0]?.start ?? passage.start, end: touched.at(-1)?.end ?? passage.end };
}

function moveBlock(page: Tracked, block: Span, blocks: Span[], chance: Chance): Tracked {
  const others = blocks.filter((other) => other.end <= block.start || other.start >= block.end);
  const target = others[Math.floor(chance() * others.length)];
  if (!target) return page;
  const moved = join(slice(page, block.start, block.end), fresh("\n\n"));
  if (target.start < block.start) {
    return join(slice(page, 0, target.start), moved, slice(page, target.start, block.start), slice(page, block.end));
  }
  return join(slice(page, 0, block.start), slice(page, block.end, target.start), moved, slice(page, target.start));
}

/** When the words stand in two paragraphs, those change places. */
function swapTwins(page: Tracked, passage: Span): Tracked {
  const quote = page.text.slice(passage.start, passage.end);
  const blocks = paragraphs(page.text);
  const own = blockOf(blocks, passage);
  const same = (a: Span, b: Span) => page.text.slice(a.start, a.end) === page.text.slice(b.start, b.end);
  const twin = blocks.find(
    (p) =>
      (p.end <= own.start || p.start >= own.end) && page.text.slice(p.start, p.end).includes(quote) && !same(p, own),
  );
  if (!twin) return page;
  const [first, second] = own.start < twin.start ? [own, twin] : [twin, own];
  return join(
    slice(page, 0, first.start),
    slice(page, second.start, second.end),
    slice(page, first.end, second.start),
    slice(page, first.start, first.end),
    slice(page, second.end),
  );
}

function remove(page: Tracked, { start, end }: Span): Tracked {
  const after = /^\n*/.exec(page.text.slice(end))?.[0].length ?? 0;
  return replace(page, start, end + after, "");
}

/** A place for a new paragraph, well away from the one that the passage is in. */
function cut(page: Tracked, passage: Span, chance: Chance): number | undefined {
  const own = blockOf(paragraphs(page.text), passage);
  const blocks = paragraphs(page.text);
  const others = [
    ...blocks.filter((p) => p.end < own.start).slice(0, -4),
    ...blocks.filter((p) => p.start > own.end).slice(4),
  ];
  return others[Math.floor(chance() * others.length)]?.start;
}

const invented = (chance: Chance, count: number) =>
  Array.from({ length: count }, () => word(Math.floor(chance() * 5000))).join(" ");

function rewordIn(page: Tracked, { start, end }: Span, chance: Chance, share: number, least = 0): Tracked {
  const words = [...page.text.slice(start, end).matchAll(/[\p{L}]{3,}/gu)];
  const chosen = words.filter(() => chance() < share);
  while (chosen.length < Math.min(least, words.length)) {
    const more = words[Math.floor(chance() * words.length)];
    if (more && !chosen.includes(more)) chosen.push(more);
  }
  chosen.sort((a, b) => b.index - a.index);
  return chosen.reduce((text, match) => {
    const at = start + match.index;
    return replace(text, at, at + match[0].length, invented(chance, 1));
  }, page);
}

function rewrapped(block: Tracked, width: number): Tracked {
  const parts: Tracked[] = [];
  let column = 0;
  for (const match of block.text.matchAll(/\S+/g)) {
    const length = match[0].length;
    if (parts.length > 0) parts.push(fresh(column + 1 + length > width ? "\n" : " "));
    column = column + 1 + length > width ? length : column + 1 + length;
    parts.push(slice(block, match.index, match.index + length));
  }
  return join(...parts);
}
