import { diffArrays } from "diff";
import { renderMarkdown, type Settings } from "../markdown.ts";
import { reader } from "./read.ts";
import { tangled } from "./scan.ts";

/** Consecutive blocks that both texts have, or only one of them. */
export type Stretch = { kind: "same" | "added" | "removed"; html: string };

const maxCharacters = 400_000;

/** A rendered comparison, block by block; undefined when the texts are too large or too slow to compare. */
export function compareMarkdown(before: string, after: string, settings: Settings): Stretch[] | undefined {
  if (before.length + after.length > maxCharacters || tangled(before) || tangled(after)) return undefined;
  const [old, fresh] = [blocksOf(before), blocksOf(after)];
  const definitions = { old: definitionsIn(old), fresh: definitionsIn(fresh) };
  const changes = diffArrays(old, fresh, { timeout: 2000 });
  return changes?.map(({ added, removed, value }) => {
    const kind = added ? "added" : removed ? "removed" : "same";
    const text = [...value, removed ? definitions.old : definitions.fresh].join("\n\n");
    return { kind, html: renderMarkdown(text, settings) };
  });
}

/** The source of each top-level block; lists are split into items. */
function blocksOf(text: string): string[] {
  return reader.parse(text).children.flatMap((node) => {
    const parts = node.type === "list" ? node.children : [node];
    return parts.map((part) => text.slice(part.position?.start.offset ?? 0, part.position?.end.offset ?? 0));
  });
}

const definitionsIn = (blocks: string[]) => blocks.filter((block) => /^\[[^\]]+\]:/.test(block)).join("\n\n");
