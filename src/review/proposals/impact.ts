import { newBudget } from "../../kernel/bounded-diff.ts";
import { removeHidden, spellHidden, splitHidden } from "../../kernel/hidden.ts";
import { type Hunk, hunksBetween, unifiedDiff } from "../../kernel/hunks.ts";
import { mergeLines } from "../../wiki/merge/merge-lines.ts";
import type { WholeProposal } from "./proposal.ts";

/** The effect of approving a proposal, computed before anyone decides (R3). */
export type Impact = {
  /** For display: hidden characters are replaced by their code points. */
  diff: string;
  hunks: Hunk[];
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

export function impactOf(proposal: WholeProposal, page: { text: string; blob: string } | undefined): Impact {
  const { baseText, text, subject } = proposal;
  const budget = newBudget();
  const hunks = hunksBetween(baseText, text, { budget });
  const baseMoved = page?.blob !== proposal.baseSourceSha;
  const merged = page && baseMoved ? mergeLines(baseText, page.text, text, budget) : undefined;
  const mergedDiff =
    merged === undefined || !page ? {} : { diff: spell(subject, hunksBetween(page.text, merged, { budget })) };
  return {
    diff: spell(subject, hunks),
    hunks,
    added: count(hunks, "+"),
    removed: count(hunks, "-"),
    baseMoved,
    latest: page?.blob ?? null,
    merge: baseMoved
      ? { clean: merged !== undefined, ...(merged === undefined ? {} : { text: merged }), ...mergedDiff }
      : null,
    hidden: removeHidden(text) === text ? [] : hiddenIn(hunks),
  };
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
