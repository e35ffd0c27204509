import * as z from "zod";
import { boundedDiff } from "../../kernel/bounded-diff.ts";
import { ok, type Result } from "../../kernel/result.ts";
import type { ThreadTask } from "../../kernel/threads/threads.ts";
import { lineCommentsOf } from "../../store/queries/proposals.ts";
import type { ReviewApp } from "../review-app.ts";
import type { WholeProposal } from "./proposal.ts";

export const side = z.enum(["old", "new"]).describe("old: the text it is based on; new: the proposed text");

/** A message of the topic about a line of one revision. */
export const lineComment = z.object({
  seq: z.int().describe("Number of the message in its topic"),
  proposal_id: z.string(),
  revision_number: z.int(),
  side,
  line: z.int().describe("The line in the revision that it was made on"),
  quote: z.string().describe("The beginning of that line"),
  place: z.int().nullable().describe("The line in this revision; null if this revision does not have it"),
  author: z.string(),
  content: z.string(),
  at: z.string(),
  edited_at: z.string().nullable(),
  resolved_by: z.string().nullable(),
  resolved_at: z
    .string()
    .nullable()
    .describe("null while it is open; agents that revise the proposal are sent open comments"),
});

const mostComments = 500;
const longestQuote = 300;

const linesOf = (text: string) => text.split("\n");

/** The beginning of a line; undefined if the text does not have it. */
export const quoteOf = (text: string, line: number): string | undefined =>
  linesOf(text.replace(/\n$/, ""))[line - 1]?.replace(/\r$/, "").slice(0, longestQuote);

type Input = { from: string; to: string; lines: number[] };

/** Where lines of one text are in another; null for those that it does not have unchanged. */
export const placeLinesTask: ThreadTask<Input, (number | null)[]> = {
  name: "place-lines",
  doing: "finding the commented lines in another revision",
  size: ({ from, to }) => from.length + to.length,
  run({ from, to, lines }) {
    const places = new Map<number, number>();
    let [old, now] = [1, 1];
    for (const { kind, items } of boundedDiff(linesOf(from), linesOf(to))) {
      for (const _ of items) {
        if (kind === "same") places.set(old, now);
        if (kind !== "added") old++;
        if (kind !== "removed") now++;
      }
    }
    return lines.map((line) => places.get(line) ?? null);
  },
};

/** The comments on lines of all revisions for the topic, with their places in this one. */
export async function placedComments(
  { db, proposals, threads }: ReviewApp,
  shown: WholeProposal,
): Promise<Result<z.infer<typeof lineComment>[]>> {
  if (shown.topicId === null) return ok([]);
  const comments = await lineCommentsOf(db.read, shown.topicId, mostComments);
  const placed = new Map<number, number | null>();
  for (const id of new Set(comments.map(({ proposal_id }) => proposal_id))) {
    const made = id === shown.id ? shown : await proposals.find(id);
    for (const side of ["old", "new"] as const) {
      const some = comments.filter((one) => one.proposal_id === id && one.side === side);
      if (!made || some.length === 0) continue;
      const [from, to] = side === "old" ? [made.baseText, shown.baseText] : [made.text, shown.text];
      const lines = some.map(({ line }) => line);
      const found = from === to ? ok(lines) : await threads.run(placeLinesTask, { from, to, lines });
      if (!found.ok) return found;
      for (const [at, { seq }] of some.entries()) placed.set(seq, found.value[at] ?? null);
    }
  }
  return ok(
    comments.map(({ text: content, created_at: at, revision_number, ...rest }) => ({
      ...rest,
      revision_number: revision_number ?? 0,
      place: placed.get(rest.seq) ?? null,
      content,
      at,
    })),
  );
}
