/**
 * Views of a markdown source: as it is, with normalised white space, or as words only. A passage that was
 * re-wrapped or got other markup is equal in one of them.
 */
export type View = {
  text: string;
  /** The range of the view for source[start, end); undefined when it is empty. */
  show(start: number, end: number): Span | undefined;
  /** The range of the source for view[start, end). */
  source(start: number, end: number): Span;
};

export type Span = { start: number; end: number };

export const plainView = (source: string): View => ({
  text: source,
  show: (start, end) => (start < end ? { start, end } : undefined),
  source: (start, end) => ({ start, end }),
});

/** White space, including quote markers at line starts, becomes one space. */
export function spacedView(source: string): View {
  const builder = viewBuilder(source);
  const gaps = /\s+(?:>[ \t]*)*/g;
  let last = 0;
  for (let gap = gaps.exec(source); gap; gap = gaps.exec(source)) {
    builder.copy(last, gap.index);
    builder.space(gap.index);
    last = gaps.lastIndex;
  }
  builder.copy(last, source.length);
  return builder.view();
}

const isListNumber = (match: string) => match.endsWith(".") || match.endsWith(")");

/** Words separated by one space, without markup, punctuation and list numbers. */
export function wordsView(source: string): View {
  const builder = viewBuilder(source);
  const words = /(?<=^|\n)[ \t>]*\d{1,9}[.)](?=[ \t])|[\p{L}\p{M}\p{N}]+/gu;
  for (let word = words.exec(source); word; word = words.exec(source)) {
    if (isListNumber(word[0])) continue;
    builder.space(word.index);
    builder.copy(word.index, words.lastIndex);
  }
  return builder.view();
}

function viewBuilder(source: string) {
  const parts: string[] = [];
  const at = new Uint32Array(source.length * 2 + 1);
  let length = 0;

  return {
    copy(start: number, end: number): void {
      if (start >= end) return;
      parts.push(source.slice(start, end));
      for (let i = start; i < end; i++) at[length++] = i;
    },
    space(start: number): void {
      if (length === 0) return;
      parts.push(" ");
      at[length++] = start;
    },
    view(): View {
      const text = parts.join("");
      const first = (offset: number) => {
        let [low, high] = [0, length];
        while (low < high) {
          const middle = (low + high) >> 1;
          if ((at[middle] ?? 0) < offset) low = middle + 1;
          else high = middle;
        }
        return low;
      };
      return {
        text,
        show(start, end) {
          let [from, to] = [first(start), first(end)];
          while (from < to && text[from] === " ") from++;
          while (from < to && text[to - 1] === " ") to--;
          return from < to ? { start: from, end: to } : undefined;
        },
        source: (start, end) => ({ start: at[start] ?? 0, end: (at[end - 1] ?? 0) + 1 }),
      };
    },
  };
}
