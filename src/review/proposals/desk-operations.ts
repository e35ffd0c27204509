import * as z from "zod";
import { nameOf } from "../../kernel/caller.ts";
import { collaborators, operation } from "../../kernel/operation.ts";
import { ok, refuse } from "../../kernel/result.ts";
import { noSuch } from "../../store/no-such.ts";
import type { ReviewApp } from "../review-app.ts";
import { type Change, takeSome } from "./changes.ts";
import { lineComment, placedComments, quoteOf, side } from "./line-comments.ts";
import { proposePage } from "./propose.ts";

const id = z.string().max(64).describe("Id of the proposal, such as p-…");

export const commentOnLine = operation({
  name: "comment_on_line",
  summary: "Comment on a line of a page's proposal; the comment becomes a message of its topic.",
  effect: "writes",
  touches: ["proposal", "topic"],
  callers: collaborators,
  group: "review",
  http: { method: "post", path: "/proposals/{id}/lines" },
  input: z.object({
    id,
    side: side.default("new"),
    line: z.int().min(1).describe("Number of the line on that side"),
    content: z.string().trim().min(1, "must not be empty").max(20_000).describe("The comment, in markdown"),
  }),
  output: lineComment,
  async run(app: ReviewApp, { id, side, line, content }, caller) {
    const found = await app.proposals.find(id);
    if (!found) return noSuch(app.db.read, "proposal", id);
    if (found.kind !== "page") return refuse("invalid", `proposal ${id} is for a ${found.kind}, which has no lines`);
    const quote = quoteOf(side === "old" ? found.baseText : found.text, line);
    if (quote === undefined) return refuse("invalid", `line: the ${side} text of proposal ${id} has no line ${line}`);
    const by = { name: nameOf(caller) };
    const made = await app.proposals.commentOnLine(found, by, { side, line, quote, content });
    if (!made.ok) return made;
    return ok({
      ...{ seq: made.value.seq, proposal_id: id, revision_number: found.revisionNumber ?? 0 },
      ...{ side, line, quote, place: line, author: by.name, content, at: made.value.at, edited_at: null },
      ...{ resolved_by: null, resolved_at: null },
    });
  },
});

export const resolveLineComment = operation({
  name: "resolve_line_comment",
  summary: "Resolve a comment on a line of a page's proposal, or open it again.",
  guidance: "An agent that revises the proposal is sent the open comments only.",
  effect: "writes",
  touches: ["proposal"],
  callers: collaborators,
  group: "review",
  http: { method: "post", path: "/proposals/{id}/lines/{seq}/resolution" },
  input: z.object({
    id,
    seq: z.coerce.number().int().min(1).describe("seq of the comment, from line_comments of show_proposal"),
    resolved: z.boolean().default(true).describe("false opens it again"),
  }),
  output: lineComment,
  async run(app: ReviewApp, { id, seq, resolved }, caller) {
    const found = await app.proposals.find(id);
    if (!found) return noSuch(app.db.read, "proposal", id);
    await app.proposals.resolveLineComment(found, { name: nameOf(caller) }, seq, resolved);
    const comments = await placedComments(app, found);
    if (!comments.ok) return comments;
    const comment = comments.value.find((one) => one.seq === seq);
    return comment
      ? ok(comment)
      : refuse("not_found", `seq: message ${seq} is not a comment on a line of proposal ${id}`);
  },
});

const mostTaken = 1000;

export const takeChanges = operation({
  name: "take_changes",
  summary: "Make a new revision of a page's proposal, by you, with only some of its changes, or with edited ones.",
  guidance: "The revision then waits for approval like any other. The record names the changes that were left out.",
  effect: "writes",
  touches: ["proposal", "topic"],
  callers: collaborators,
  group: "review",
  http: { method: "post", path: "/proposals/{id}/changes" },
  input: z.object({
    id,
    changes: z
      .array(
        z.object({
          number: z.int().min(1).describe("Number of the change, from impact.changes of show_proposal"),
          content: z.string().max(1_000_000).optional().describe("Lines to write instead of the proposed ones"),
        }),
      )
      .min(1, "choose at least one change, or reject the proposal")
      .max(mostTaken)
      .describe("The changes to take; the others are left out"),
    note: z
      .string()
      .trim()
      .max(4000)
      .optional()
      .describe("What should be different in the others; a message of the topic with their lines"),
  }),
  output: z.object({
    id: z.string(),
    revision_number: z.int(),
    left_out: z.array(z.int()),
    edited: z.array(z.int()),
  }),
  async run(app: ReviewApp, { id, changes, note }, caller) {
    const found = await app.proposals.findOpen(id);
    if (!found.ok) return found;
    const { kind, baseText, text, topicId, baseSourceSha, revisionNumber } = found.value;
    if (kind !== "page") return refuse("invalid", `proposal ${id} is for a ${kind}, which is taken whole`);
    const waiting = app.pendingDecisions.of(id);
    if (waiting && waiting.problem === null)
      return refuse("conflict", `${waiting.by} just decided proposal ${id}; undo that first`);
    const topic = await app.topics.find(topicId ?? "");
    if (!topic) return noSuch(app.db.read, "topic", topicId ?? "");
    const part = takeSome(baseText, text, changes);
    if (!part.ok) return part;
    const { edited, leftOut } = part.value;
    const left_out = leftOut.map(({ number }) => number);
    const message = note ? noteAbout(note, leftOut, revisionNumber ?? 0) : undefined;
    const made = await proposePage(app, topic, { baseSha: baseSourceSha ?? "", text: part.value.text }, caller, {
      replaces: id,
      data: { taken_from: id, left_out, edited },
      ...(message ? { message } : {}),
    });
    if (!made.ok) return made;
    return ok({ id: made.value.id, revision_number: made.value.revisionNumber ?? 0, left_out, edited });
  },
});

const mostQuoted = 8000;

/** The note with the lines that it is about, so that the next agent reads both in the topic. */
function noteAbout(note: string, leftOut: Change[], revision: number): string {
  if (leftOut.length === 0) return note;
  const lines = leftOut.flatMap(({ number, line, removed, added }) => [
    `Change ${number}, line ${line}:`,
    ...[...removed.map((one) => `-${one}`), ...added.map((one) => `+${one}`)].map((one) => `    ${one.trimEnd()}`),
    "",
  ]);
  const quoted = lines.join("\n");
  const shown = quoted.length > mostQuoted ? `${quoted.slice(0, mostQuoted)} …` : quoted;
  return `${note}\n\nLeft out of revision ${revision}:\n\n${shown}`.trimEnd();
}
