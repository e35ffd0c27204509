import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Page } from "../../wiki/pages/pages.ts";
import { textNamed } from "../proposals/base.ts";
import type { ReviewApp } from "../review-app.ts";
import type { Span } from "./anchor/views.ts";
import { type Anchor, anchorAt, type Refound } from "./anchor.ts";
import { refindTask } from "./refind-task.ts";

export const longestQuote = 20_000;

/** Offsets in the text of the page that has this blob. */
export type Passage = Span & { source_sha: string };

/** "lost": the page never had that text, or neither git, the database nor this process has it. */
export type Located = Refound | { state: "lost" };

/** Finds a passage of an earlier text of the page in its present text. */
export async function locatePassage(app: ReviewApp, page: Page, passage: Passage): Promise<Result<Located>> {
  const { start, end, source_sha: blob } = passage;
  const before = await textOf(app, page, blob);
  app.topics.recent.add(page);
  if (before === undefined) return ok({ state: "lost" });
  if (start >= end || end > before.length) {
    return refuse("invalid", `start must be before end, and end at most ${before.length}, the length of the page`);
  }
  if (end - start > longestQuote)
    return refuse("invalid", `the passage is longer than ${longestQuote} characters; select less`);
  const anchor = anchorAt(before, start, end, blob);
  if (blob === page.blob) return ok({ state: "anchored", anchor, how: "same", score: 1 });
  const request = { before, after: page.text, blob: page.blob, anchors: [JSON.stringify(anchor)], since: undefined };
  const refound = await app.threads.run(refindTask, request);
  if (!refound.ok) return refound;
  return ok(JSON.parse(refound.value[0] ?? "null") ?? { state: "orphaned", anchor, how: "gone", score: 0 });
}

function textOf(app: ReviewApp, page: Page, blob: string): Promise<string | undefined> | string | undefined {
  if (blob === page.blob) return page.text;
  const { db, git, entries, files } = app;
  // git would read anything else as an option or a revision.
  if (!/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(blob)) return undefined;
  return (
    app.topics.recent.get(page.path, blob) ?? textNamed({ db, git, entries, onDisk: files !== undefined }, page, blob)
  );
}

/**
 * The anchor of a passage in the present text. If the page has changed since the passage was selected, only a certain
 * place is taken; otherwise the person is asked: offsets of one text are different words in another.
 */
export async function anchorOfPassage(app: ReviewApp, page: Page, passage: Passage): Promise<Result<Anchor>> {
  const located = await locatePassage(app, page, passage);
  if (!located.ok) return located;
  const found = located.value;
  if (found.state === "anchored" || found.state === "moved") return ok(found.anchor);
  const changed = `${page.path} changed since you selected the passage`;
  if (found.state !== "needs-review")
    return refuse("conflict", `${changed}, and the passage was not found; select it again`, { source_sha: page.blob });
  const { start, end } = found.place;
  const details = { source_sha: page.blob, place: { start, end, text: page.text.slice(start, end) } };
  return refuse("conflict", `${changed}, and its new place is uncertain; select it again`, details);
}
