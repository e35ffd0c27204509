import type { ThreadTask } from "../../kernel/threads/threads.ts";
import { mergeByHeading } from "./merge.ts";
import { mergeLines } from "./merge-lines.ts";

export type ThreeTexts = { base: string; theirs: string; yours: string };

const size = ({ base, theirs, yours }: ThreeTexts) => base.length + theirs.length + yours.length;

export const mergeLinesTask: ThreadTask<ThreeTexts, string | undefined> = {
  name: "merge-lines",
  doing: "merging the two changes",
  size,
  run: ({ base, theirs, yours }) => mergeLines(base, theirs, yours),
};

export const mergeByHeadingTask: ThreadTask<ThreeTexts, string | undefined> = {
  name: "merge-by-heading",
  doing: "merging the two changes",
  size,
  run: ({ base, theirs, yours }) => mergeByHeading(base, theirs, yours),
};
