import { type CodeFence, fenceAfter } from "../../kernel/markdown/fences.ts";
import type { Name } from "../../people/names.ts";

/** One message notifies at most so many. */
const mostMentions = 50;

/**
 * The names that a message mentions as `@name`, each once. Code is skipped, and so is an @ inside a word, such as that
 * of an e-mail address. Of names that begin alike, the longest that fits counts; upper and lower case do not differ.
 */
export function mentionsIn(text: string, names: readonly Name[]): Name[] {
  const longestFirst = [...names].sort((a, b) => b.name.length - a.name.length);
  const found = new Set<Name>();
  for (const line of proseLines(text)) {
    for (const { index } of line.matchAll(/(?<![\p{L}\p{N}_.+@/-])@/gu)) {
      const rest = line.slice(index + 1);
      const name = longestFirst.find((one) => begins(rest, one.name));
      if (name && found.size < mostMentions) found.add(name);
    }
  }
  return [...found];
}

function begins(rest: string, name: string): boolean {
  if (rest.slice(0, name.length).toLocaleLowerCase() !== name.toLocaleLowerCase()) return false;
  // «@ada.example.org» is a host and «@ada-lovelace» another name, but a name may end a sentence.
  return !/^(?:[\p{L}\p{N}_@]|[.-][\p{L}\p{N}])/u.test(rest.slice(name.length));
}

function proseLines(text: string): string[] {
  let fence: CodeFence | undefined;
  const prose: string[] = [];
  for (const line of text.split("\n")) {
    const before = fence;
    fence = fenceAfter(fence, line);
    if (!before && !fence) prose.push(line);
  }
  // A code span may go over a line break.
  return prose
    .join("\n")
    .replace(/(?<!`)(`+)(?!`)([\s\S]*?[^`])\1(?!`)/g, " ")
    .split("\n");
}
