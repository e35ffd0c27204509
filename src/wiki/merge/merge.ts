import { type CodeFence, fenceAfter } from "../../kernel/markdown/fences.ts";

/** The order of headings takes quadratic time. */
const maxHeadings = 2_000;

/**
 * Three-way merge of an entry by headings: the text that was read, the present one, the one of a stale commit.
 * Changes under different headings are merged; under the same heading a person or agent has to choose.
 */
export function mergeByHeading(base: string, theirs: string, yours: string): string | undefined {
  const b = chunks(base);
  const t = chunks(theirs);
  const y = chunks(yours);
  if (!b || !t || !y || t.size + y.size > maxHeadings) return undefined;

  const merged = new Map<string, string>();
  for (const key of orderOf(t, y)) {
    const [before, their, your] = [b.get(key), t.get(key), y.get(key)];
    const kept = your === before ? their : their === before || their === your ? your : null;
    if (kept === null) return undefined;
    if (kept !== undefined) merged.set(key, kept);
  }
  // The last chunk may lack a line break and needs one when another chunk now follows it.
  const parts = [...merged.values()];
  return parts.map((part, index) => (index < parts.length - 1 && !part.endsWith("\n") ? `${part}\n` : part)).join("");
}

/** The keys of both sides in order; a key that only `yours` has keeps its predecessor. */
function orderOf(theirs: Map<string, string>, yours: Map<string, string>): string[] {
  const order = [...theirs.keys()];
  let previous = -1;
  for (const key of yours.keys()) {
    const found = order.indexOf(key);
    if (found >= 0) previous = found;
    else order.splice(++previous, 0, key);
  }
  return order;
}

/** Splits the text before each heading; keys are heading paths. Undefined when two are equal. */
function chunks(text: string): Map<string, string> | undefined {
  const found = new Map<string, string>();
  const path: string[] = [];
  let key = "";
  let fence: CodeFence | undefined;
  for (const line of text.split(/(?<=\n)/)) {
    fence = fenceAfter(fence, line);
    const heading = fence ? undefined : /^(#{1,6})\s+(.*)$/m.exec(line);
    if (heading) {
      const depth = heading[1]?.length ?? 1;
      path.length = Math.min(path.length, depth - 1);
      path[depth - 1] = heading[2]?.trim() ?? "";
      key = `${depth} ${path.join("\u0000")}`;
      if (found.has(key)) return undefined;
    }
    found.set(key, (found.get(key) ?? "") + line);
  }
  return found;
}
