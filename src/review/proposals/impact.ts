import { newBudget } from "../../kernel/bounded-diff.ts";
import { removeHidden, spellHidden, splitHidden } from "../../kernel/hidden.ts";
import { type Hunk, hunksBetween, unifiedDiff } from "../../kernel/hunks.ts";
import type { ThreadTask } from "../../kernel/threads/threads.ts";
import { mergeLines } from "../../wiki/merge/merge-lines.ts";
import { type Change, changesBetween } from "./changes.ts";
import type { WholeProposal } from "./proposal.ts";

/** The effect of approving a proposal, computed before anyone decides (R3). */
export type Impact = {
  /** For display: hidden characters are replaced by their code points. */
  diff: string;
  hunks: Hunk[];
  /** Lines of a very large change that `diff` and `hunks` leave out. */
  omittedLines: number;
  /** The runs of changed lines, each of which a person can take or leave out. */
  changes: Pick<Change, "number" | "line">[];
  added: number;
  removed: number;
  /** True when the page has changed since the proposal was made. */
  baseMoved: boolean;
  /** The page's blob at the time of the computation; null when the page is gone. */
  latest: string | null;
  /** Only when the base moved: whether both changes merge, and the merged text. */
  merge: { clean: boolean; text?: string; diff?: string } | null;
  /** Invisible characters in the new lines (T35). */
  hidden: { line: number; characters: string }[];
};

const mostHidden = 100;

type Input = {
  proposal: Pick<WholeProposal, "baseText" | "text" | "subject" | "baseSourceSha">;
  page: { text: string; blob: string } | undefined;
};

export const impactTask: ThreadTask<Input, Impact> = {
  name: "impact",
  doing: "comparing the proposal with its page",
  size: ({ proposal, page }) => proposal.baseText.length + proposal.text.length + (page?.text.length ?? 0),
  run: impactOf,
};

/** The task's input without what a thread does not need. */
export const impactInput = ({ baseText, text, subject, baseSourceSha }: WholeProposal, page: Input["page"]): Input => ({
  proposal: { baseText, text, subject, baseSourceSha },
  page: page && { text: page.text, blob: page.blob },
});

function impactOf({ proposal, page }: Input): Impact {
  const { baseText, text, subject } = proposal;
  const budget = newBudget();
  const all = hunksBetween(baseText, text, { budget });
  const { hunks, omittedLines } = firstLines(all);
  const baseMoved = page?.blob !== proposal.baseSourceSha;
  const merged = page && baseMoved ? mergeLines(baseText, page.text, text, budget) : undefined;
  const mergedDiff =
    merged === undefined || !page
      ? {}
      : { diff: spell(subject, firstLines(hunksBetween(page.text, merged, { budget })).hunks) };
  return {
    diff: spell(subject, hunks),
    hunks,
    omittedLines,
    changes: changesBetween(baseText, text)
      .slice(0, mostChanges)
      .map(({ number, line }) => ({ number, line })),
    added: count(all, "+"),
    removed: count(all, "-"),
    baseMoved,
    latest: page?.blob ?? null,
    merge: baseMoved
      ? { clean: merged !== undefined, ...(merged === undefined ? {} : { text: merged }), ...mergedDiff }
      : null,
    hidden: removeHidden(text) === text ? [] : hiddenIn(all),
  };
}

const mostChanges = 1000;

/** More than a person reads, and little enough to send and to draw. */
const mostLines = 5_000;

function firstLines(hunks: Hunk[]): { hunks: Hunk[]; omittedLines: number } {
  let room = mostLines;
  const kept: Hunk[] = [];
  for (const hunk of hunks) {
    if (room > 0) kept.push(hunk.lines.length <= room ? hunk : cut(hunk, room));
    room -= hunk.lines.length;
  }
  return { hunks: kept, omittedLines: Math.max(0, -room) };
}

function cut(hunk: Hunk, most: number): Hunk {
  const lines = hunk.lines.slice(0, most);
  const without = (sign: string) => lines.filter((line) => !line.startsWith(sign) && !line.startsWith("\\")).length;
  return { ...hunk, lines, oldLines: without("+"), newLines: without("-") };
}

const count = (hunks: Hunk[], sign: string) =>
  hunks.reduce((sum, hunk) => sum + hunk.lines.filter((line) => line.startsWith(sign)).length, 0);

const spell = (path: string, hunks: Hunk[]) => spellHidden(unifiedDiff(`a/${path}`, `b/${path}`, hunks));

function hiddenIn(hunks: Hunk[]): Impact["hidden"] {
  const found: Impact["hidden"] = [];
  for (const hunk of hunks) {
    let line = hunk.newStart - 1;
    for (const text of hunk.lines) {
      if (text.startsWith("-") || text.startsWith("\\")) continue;
      line++;
      if (!text.startsWith("+")) continue;
      const characters = splitHidden(text.slice(1)).flatMap((piece) => (piece.hidden ? [piece.text] : []));
      if (characters.length > 0 && found.length < mostHidden) found.push({ line, characters: characters.join(" ") });
    }
  }
  return found;
}
