import { hunksBetween, unifiedDiff } from "../../kernel/hunks.ts";
import type { ThreadTask } from "../../kernel/threads/threads.ts";

type Input = {
  before: string;
  after: string;
  /** The names of the two texts in the diff. */
  names: [string, string];
  /** The comparisons that are left; several diffs for one request share them. */
  left: number;
};

/** The unified diff of two versions. */
export const diffTask: ThreadTask<Input, { diff: string; left: number }> = {
  name: "diff",
  doing: "comparing the two versions",
  size: ({ before, after }) => before.length + after.length,
  run({ before, after, names, left }) {
    const budget = { left };
    const diff = unifiedDiff(...names, hunksBetween(before, after, { context: 2, budget }));
    return { diff, left: budget.left };
  },
};
