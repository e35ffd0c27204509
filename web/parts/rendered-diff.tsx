import { useQuery } from "@tanstack/react-query";
import { diffWordsWithSpace } from "diff";
import { useLayoutEffect, useRef } from "react";
import type { Stretch } from "../../src/http/markdown/compare.ts";
import { ask, Refusal } from "../client/call.ts";
import { Rendered } from "./rendered.tsx";
import { SourceDiff } from "./source-diff.tsx";
import { Failed, Loading } from "./state.tsx";

/** `path`: the file that relative links and images start from. */
type Props = { before: string; after: string; path: string };

/** Two texts as the page people read, with what was taken away and what came. */
export function RenderedDiff({ before, after, path }: Props) {
  const compared = useQuery({
    queryKey: ["compared", path, before, after],
    queryFn: async ({ signal }) =>
      ((await ask("/api/rendered/comparison", "post", { before, after, path }, signal)) as { stretches: Stretch[] })
        .stretches,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const reason = compared.error instanceof Refusal ? compared.error.details.reason : undefined;
  if (typeof reason === "string") {
    return (
      <>
        <p className="note">The source diff is shown because {reason}.</p>
        <SourceDiff before={before} after={after} />
      </>
    );
  }
  if (compared.error) return <Failed error={compared.error} again={() => void compared.refetch()} />;
  if (!compared.data) return <Loading />;
  const stretches = compared.data;
  if (stretches.every(({ kind }) => kind === "same")) return <p className="note">No differences.</p>;
  return (
    <div className="rendered-diff">
      {stretches.map((stretch, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: stretches of one comparison never move
        <Part key={at} stretch={stretch} before={stretches[at - 1]} after={stretches[at + 1]} />
      ))}
    </div>
  );
}

function Part({
  stretch,
  before,
  after,
}: {
  stretch: Stretch;
  before: Stretch | undefined;
  after: Stretch | undefined;
}) {
  const body = useRef<HTMLDivElement>(null);
  const other =
    stretch.kind === "removed" && after?.kind === "added"
      ? after
      : stretch.kind === "added" && before?.kind === "removed"
        ? before
        : undefined;
  useLayoutEffect(() => {
    if (body.current && other) return markWords(body.current, other.html, stretch.kind === "added");
    return undefined;
  });
  if (stretch.kind === "same" && stretch.html.length > 1500) {
    return (
      <details className="same">
        <summary>Unchanged text</summary>
        <Rendered html={stretch.html} />
      </details>
    );
  }
  const word = stretch.kind === "added" ? "Added" : stretch.kind === "removed" ? "Removed" : undefined;
  return (
    <div className={stretch.kind}>
      {word && <span className="sr-only">{word}: </span>}
      <Rendered html={stretch.html} body={body} />
    </div>
  );
}

/** Texts that differ in more words are painted as a whole; finding the words would block the page. */
const maxWordEdits = 1000;

/** Paints the words that the other side does not have, without touching the document. */
function markWords(root: HTMLElement, otherHtml: string, isAdded: boolean): () => void {
  if (!("highlights" in CSS)) return () => undefined;
  const other = new DOMParser().parseFromString(otherHtml, "text/html").body.textContent ?? "";
  const own = root.textContent ?? "";
  if (own.length + other.length > 40_000) return () => undefined;
  const [old, fresh] = isAdded ? [other, own] : [own, other];
  const changes = diffWordsWithSpace(old, fresh, { maxEditLength: maxWordEdits });
  if (!changes) return () => undefined;
  const name = isAdded ? "word-added" : "word-removed";
  const painted = CSS.highlights.get(name) ?? new Highlight();
  CSS.highlights.set(name, painted);
  const ranges: Range[] = [];
  let at = 0;
  for (const { added, removed, value } of changes) {
    if (isAdded ? added : removed) ranges.push(rangeOf(root, at, at + value.length));
    if (isAdded ? !removed : !added) at += value.length;
  }
  for (const range of ranges) painted.add(range);
  return () => {
    for (const range of ranges) painted.delete(range);
  };
}

function rangeOf(root: HTMLElement, from: number, to: number): Range {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  range.selectNodeContents(root);
  let passed = 0;
  let begun = false;
  while (walker.nextNode()) {
    const { length } = walker.currentNode as Text;
    if (!begun && from < passed + length) {
      range.setStart(walker.currentNode, from - passed);
      begun = true;
    }
    if (begun && to <= passed + length) {
      range.setEnd(walker.currentNode, to - passed);
      break;
    }
    passed += length;
  }
  return range;
}
