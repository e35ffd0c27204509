import { ok, type Result, refuse } from "../../kernel/result.ts";
import { checkText } from "../../wiki/contract.ts";
import { keepsLog } from "../../wiki/log.ts";
import type { Page } from "../../wiki/pages/pages.ts";
import { parseDocument, readFront } from "../../wiki/stores/document.ts";
import type { ApprovalOptions } from "./approve.ts";
import type { WholeProposal } from "./proposal.ts";

/** The rules for proposed texts, as pure functions. */

export type AnsweredTopic = { id: string; path: string; kind: string; status: string };

/** Whether this topic may be answered with a proposal. */
export function takesProposals(topic: AnsweredTopic): Result<true> {
  if (topic.kind === "question") {
    return refuse("refused", `topic ${topic.id} is a question; it needs an answer, not a change to the page`, {
      next: [{ operation: "reply_topic", input: { id: topic.id }, to: "answer it" }],
    });
  }
  if (topic.status !== "open") {
    return refuse("conflict", `topic ${topic.id} is ${topic.status}`, {
      next: [{ operation: "reopen_topic", input: { id: topic.id }, to: "reopen it" }],
    });
  }
  return ok(true);
}

/** Returns the text as it would be written, with the line ends and byte order mark of the page. */
export function checkProposal(page: Page, base: string, text: string): Result<string> {
  if (/\p{Surrogate}/u.test(text))
    return refuse("invalid", "the text contains an invalid character (a lone surrogate); send UTF-8");
  const kept = inStyleOf(base, text);
  if (kept.trim() === "") return refuse("invalid", "the text is empty; send the whole new text of the page");
  if (kept === base) return refuse("invalid", `the text is identical to ${page.path}; change what the topic asks for`);
  return fitsPage(page, base, kept);
}

/** Checks the size and, for an entry, that a log only grows and that the frontmatter is valid. */
function fitsPage(page: Page, before: string, after: string): Result<string> {
  const sound = checkText(after);
  if (!sound.ok) return sound;
  if (!page.entry) return ok(after);
  const document = parseDocument(Buffer.from(after));
  if (page.entry.mode === "log" && !keepsLog(parseDocument(Buffer.from(before)).body, document.body)) {
    return refuse("denied", `${page.entry.id} is a log: keep every existing line and add new ones at the end`);
  }
  const { complaint } = readFront(document, page.path);
  return complaint ? refuse("invalid", complaint) : ok(after);
}

/** Whether the page has changed since the proposal was made, to another text than the proposed one. */
export const needsMerge = (proposal: WholeProposal, page: Page) =>
  page.blob !== proposal.baseSourceSha && page.text !== proposal.text;

/**
 * The text that an approval writes. When the page has changed since the proposal was made, the proposed text
 * is never written, and the merged text only on request. `merged` is undefined when the two cannot be merged.
 */
export function approvedText(
  proposal: WholeProposal,
  page: Page,
  { merge, onto }: Pick<ApprovalOptions, "merge" | "onto">,
  merged: string | undefined,
): Result<string> {
  const { path, blob } = page;
  if (onto !== undefined && onto !== blob) {
    return refuse("conflict", `${path} changed since you opened the proposal`, {
      source_sha: blob,
      next: [{ operation: "show_proposal", input: { id: proposal.id }, to: "review it again" }],
    });
  }
  if (blob === proposal.baseSourceSha) return fitsPage(page, page.text, proposal.text);
  if (page.text === proposal.text) {
    return refuse("conflict", `${path} already has this text`, {
      next: [{ operation: "reject_proposal", input: { id: proposal.id }, to: "close the proposal" }],
    });
  }
  const moved = `${path} changed since proposal ${proposal.id} was made`;
  const details = {
    base_moved: true,
    base_source_sha: proposal.baseSourceSha,
    source_sha: blob,
    merges_cleanly: merged !== undefined,
  };
  if (merged === undefined) {
    return refuse("conflict", `${moved}, in the same lines, so the two cannot be merged`, {
      ...details,
      next: [{ operation: "request_revision", input: { id: proposal.id }, to: "request a new revision" }],
    });
  }
  if (!merge) {
    return refuse("conflict", `${moved}; the two changes merge cleanly`, {
      ...details,
      next: [
        { operation: "show_proposal", input: { id: proposal.id }, to: "review the merged text" },
        { operation: "approve_proposal", input: { id: proposal.id, merge: true }, to: "approve the merged text" },
      ],
    });
  }
  return fitsPage(page, page.text, merged);
}

/** The reason why a name must not be in a commit: a line break in it would forge a trailer. */
export function nameProblem({ name, email = "" }: { name: string; email?: string }): string | undefined {
  if (name.trim() === "") return "the author has no name; set one with: git config user.name";
  const bad = [name, email].find((text) => /[\p{Cc}\p{Zl}\p{Zp}<>]/u.test(text));
  return bad === undefined
    ? undefined
    : `${JSON.stringify(bad)} cannot be the author of a commit: it contains a line break, a control character, < or >`;
}

function inStyleOf(base: string, text: string): string {
  const lines = text.replace(/^\ufeff/, "").replaceAll("\r\n", "\n");
  const crlf = /^[^\n]*\r\n/.test(base);
  return (base.startsWith("\ufeff") ? "\ufeff" : "") + (crlf ? lines.replaceAll("\n", "\r\n") : lines);
}
