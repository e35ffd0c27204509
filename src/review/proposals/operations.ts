import * as z from "zod";
import { type Caller, nameOf } from "../../kernel/caller.ts";
import { collaborators, operation, people, writers } from "../../kernel/operation.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { snakeKeys } from "../../kernel/wire.ts";
import { noSuch } from "../../store/no-such.ts";
import { findUserRow } from "../../store/queries/users.ts";
import type { Page } from "../../wiki/pages/pages.ts";
import type { ReviewApp } from "../review-app.ts";
import { type Preview, previewTopics, refindTopics } from "../topics/refind-topics.ts";
import type { ApprovalOptions } from "./approve.ts";
import { type Impact, impactInput, impactTask } from "./impact.ts";
import { lineComment, placedComments } from "./line-comments.ts";
import { approvalCommit } from "./page-effect.ts";
import type { PendingDecision, PendingDecisions } from "./pending-decisions.ts";
import type { Approver, Proposal, WholeProposal } from "./proposal.ts";
import { proposePage } from "./propose.ts";
import { relations, relationsOf } from "./relations.ts";

const id = z.string().max(64).describe("Id of the proposal, such as p-…");
const note = z.string().trim().max(4000).optional();
const onto = z.string().max(64).optional().describe("The source_sha that you saw; a different one is a conflict");
const acceptHidden = z
  .boolean()
  .default(false)
  .describe("You checked the hidden characters that show_proposal lists; without it a text with new ones is refused");
const status = z.enum(["open", "approved", "rejected", "superseded"]);

export const proposal = z.object({
  id: z.string(),
  kind: z.string(),
  subject: z.string().describe("Path of the page or id of the section"),
  data: z.record(z.string(), z.unknown()),
  proposed_by: z.string().nullable().describe("null if an agent wrote it; for a section, the role that asked"),
  status,
  created_at: z.string(),
  decided_at: z.string().nullable(),
  decided_by: z.string().nullable(),
  note: z.string().nullable(),
  topic_id: z.string().nullable(),
  revision_number: z.int().nullable().describe("Number of this proposal for its topic"),
  base_source_sha: z.string().nullable().describe("Git blob of the page that it is based on"),
  job_id: z.string().nullable(),
});

const pending = z.object({
  decision: z.enum(["approve", "reject"]),
  by: z.string(),
  at: z.string(),
  until: z.string().describe("When it takes effect"),
  remaining_ms: z.int(),
  problem: z.string().nullable().describe("Why it did not take effect; the proposal is open again"),
});

/** A proposal with the decision about it that can still be undone. */
export const listedProposal = proposal.extend({
  pending: pending.nullable().describe("A decision made in a browser of this server that has not taken effect yet"),
});

export const comment = z.object({
  id: z.string(),
  author: z.string(),
  content: z.string(),
  wants_revision: z.boolean(),
  at: z.string(),
});

const hunk = z.object({
  old_start: z.int(),
  old_lines: z.int(),
  new_start: z.int(),
  new_lines: z.int(),
  lines: z.array(z.string()),
});

const anchorState = z.enum(["anchored", "moved", "needs-review", "orphaned"]);
const foreseenTopic = z.object({ id: z.string(), quote: z.string(), from: anchorState, to: anchorState });

const impact = z.object({
  diff: z.string().describe("For display: hidden characters are escaped"),
  hunks: z.array(hunk),
  omitted_lines: z.int().describe("Lines of a very large change that diff and hunks leave out; content has them"),
  changes: z
    .array(z.object({ number: z.int(), line: z.int() }))
    .describe("Runs of changed lines with their first line in the base text; take_changes takes some of them"),
  added: z.int(),
  removed: z.int(),
  base_moved: z.boolean(),
  source_sha: z
    .string()
    .nullable()
    .describe("Git blob of the current page; pass it as `onto` to approve exactly what you saw"),
  merge: z.object({ clean: z.boolean(), text: z.string().optional(), diff: z.string().optional() }).nullable(),
  hidden: z.array(z.object({ line: z.int(), characters: z.string() })),
  topics: z.array(foreseenTopic).describe("Anchors of the open topics after approval, lost ones first; at most 100"),
  topics_cursor: z.string().optional().describe("Pass it as `cursor` for the next 100 topics"),
  topic_counts: z
    .object({ anchored: z.int(), moved: z.int(), needs_review: z.int(), orphaned: z.int() })
    .describe("How many open topics are in each state after approval"),
  relations: relations.nullable().describe("Links and other open proposals; null for a decided proposal"),
  uncommitted: z.boolean().describe("true if the page has changes that are not committed: commit or stash them first"),
});

export const listProposals = operation({
  name: "list_proposals",
  summary: "List proposals, newest first.",
  effect: "reads",
  reads: ["proposal", "job"],
  callers: people,
  group: "review",
  http: { method: "get", path: "/proposals" },
  input: z.object({
    status: status.optional(),
    topic_id: z.string().max(64).optional().describe("Only proposals for this topic"),
  }),
  output: z.object({ proposals: z.array(listedProposal) }),
  run: async (app: ReviewApp, { status, topic_id }) =>
    ok({ proposals: (await app.proposals.list(status, topic_id)).map((one) => withPending(app, one)) }),
});

const mostSummarized = 50;

export const summarizeProposals = operation({
  name: "summarize_proposals",
  summary: "Summarize the newest open proposals: topic, size of the change, and conflicts with the page.",
  effect: "reads",
  reads: ["proposal", "entry", "page", "topic"],
  callers: people,
  group: "review",
  http: { method: "get", path: "/inbox/proposals" },
  input: z.object({}),
  output: z.object({
    proposals: z.array(
      z.object({
        id: z.string(),
        title: z.string().nullable().describe("First heading of the page"),
        topic: z
          .object({ quote: z.string().nullable(), content: z.string().describe("Beginning of its first message") })
          .nullable(),
        change: z
          .object({
            added: z.int(),
            removed: z.int(),
            base_moved: z.boolean(),
            source_sha: z
              .string()
              .nullable()
              .describe("Git blob of the page; pass it as `onto` to approve what you saw"),
            conflict: z.boolean().describe("The page changed since, in the same lines"),
            hidden: z.boolean().describe("The change adds hidden characters"),
          })
          .nullable()
          .describe("null for sections, and if the comparison failed"),
      }),
    ),
  }),
  async run(app: ReviewApp) {
    const open = (await app.proposals.list("open")).slice(0, mostSummarized);
    return ok({ proposals: await Promise.all(open.map((one) => app.proposalSummaries.of(one))) });
  },
});

export const showProposal = operation({
  name: "show_proposal",
  summary: "Show a proposal with its diff and effects.",
  effect: "reads",
  reads: ["proposal", "entry", "page", "topic", "job"],
  callers: people,
  group: "review",
  http: { method: "get", path: "/proposals/{id}" },
  input: z.object({
    id,
    cursor: z
      .string()
      .max(100)
      .regex(/^(?:orphaned|needs-review|moved|anchored)\/t-/, "expected the topics_cursor of an earlier answer")
      .optional()
      .describe("topics_cursor of an earlier answer, for the next 100 topics"),
  }),
  output: listedProposal.extend({
    content: z.string().optional().describe("The entire proposed content of the page"),
    comments: z.array(comment),
    line_comments: z.array(lineComment).describe("Comments on lines of this and other revisions for the topic"),
    impact: impact.optional(),
  }),
  async run(app: ReviewApp, { id, cursor }) {
    await followPage(app, id);
    const found = await app.proposals.find(id);
    if (!found) return noSuch(app.db.read, "proposal", id);
    const comments = (await app.proposals.comments(id)).map(snakeKeys);
    if (found.kind !== "page") return ok({ ...withPending(app, brief(found)), comments, line_comments: [] });
    const impact = await foresee(app, found, cursor);
    if (!impact.ok) return impact;
    const lines = await placedComments(app, found);
    if (!lines.ok) return lines;
    const shown = { ...withPending(app, brief(found)), content: found.text, comments, line_comments: lines.value };
    return ok({ ...shown, impact: impact.value });
  },
});

/** A decided proposal is compared with its base; an open one with the present page. */
async function foresee(
  app: ReviewApp,
  proposal: WholeProposal,
  cursor: string | undefined,
): Promise<Result<z.infer<typeof impact>>> {
  const { baseText, baseSourceSha, subject } = proposal;
  const isOpen = proposal.status === "open";
  const read = isOpen ? await app.pages.read(subject) : undefined;
  const page = read?.ok ? read.value : undefined;
  const base = { text: baseText, blob: baseSourceSha ?? "" };
  const found = await app.threads.run(impactTask, impactInput(proposal, isOpen ? page : base));
  if (!found.ok) return found;
  const text = found.value.merge?.text ?? proposal.text;
  const after = page ? await previewTopics(app, subject, text) : ok([]);
  if (!after.ok) return after;
  const uncommitted = page !== undefined && found.value.baseMoved && (await hasUncommitted(app, page));
  const relations = page ? await relationsOf(app, proposal, { before: page.text, after: text }) : null;
  return ok({ ...shownImpact(found.value), ...foreseen(after.value, cursor), relations, uncommitted });
}

/** An approval of a page with uncommitted changes is refused, merged or not. */
async function hasUncommitted({ files, git }: ReviewApp, { path, text, entry }: Page): Promise<boolean> {
  if (entry && !files) return false;
  return !(await git.isCommitted(path, Buffer.from(text)).catch(() => true));
}

/** Lets an open proposal follow its page, if that was renamed since. */
async function followPage(app: ReviewApp, id: string): Promise<void> {
  const found = await app.proposals.find(id);
  if (found?.kind === "page" && found.status === "open") await refindTopics(app, found.subject);
}

const shownImpact = ({ hunks, latest, ...rest }: Impact) => ({
  ...snakeKeys(rest),
  source_sha: latest,
  hunks: hunks.map(snakeKeys),
});

const mostForeseen = 100;
const worstFirst = ["orphaned", "needs-review", "moved", "anchored"] as const;

/** The topics after the cursor, which names the last one of the page before: topics may come and go in between. */
function foreseen(
  topics: Preview[],
  cursor: string | undefined,
): Pick<z.infer<typeof impact>, "topics" | "topic_counts" | "topics_cursor"> {
  const countOf = (state: Preview["to"]) => topics.filter(({ to }) => to === state).length;
  const counts = {
    orphaned: countOf("orphaned"),
    needs_review: countOf("needs-review"),
    moved: countOf("moved"),
    anchored: countOf("anchored"),
  };
  const byId = [...topics].sort((a, b) => (a.id < b.id ? -1 : 1));
  const ranked = worstFirst.flatMap((state) => byId.filter(({ to }) => to === state));
  const rest = cursor === undefined ? ranked : ranked.filter((topic) => isAfter(topic, cursor));
  const page = rest.slice(0, mostForeseen);
  const last = rest.length > page.length ? page.at(-1) : undefined;
  const told = page.map(({ id, quote, from, to }) => ({ id, quote: quote.slice(0, longestQuote), from, to }));
  return { topics: told, topic_counts: counts, ...(last ? { topics_cursor: `${last.to}/${last.id}` } : {}) };
}

/** Topics are in the order of their states, and of their ids within a state. */
function isAfter({ id, to }: Preview, cursor: string): boolean {
  const [state = "", last = ""] = cursor.split("/");
  const [mine, theirs] = [worstFirst.indexOf(to), worstFirst.indexOf(state as Preview["to"])];
  return mine > theirs || (mine === theirs && id > last);
}

const mostTold = 20;
const longestQuote = 200;

export const insertProposal = operation({
  name: "insert_proposal",
  summary: "Propose new content of a topic's page for a person to approve.",
  guidance:
    "Send the entire content, not a diff, and change only what the topic asks for. `endangers` lists other topics whose quoted words your content lost: restore them if you can and propose again; the last proposal counts. " +
    "Answer a topic of kind question with reply_topic instead.",
  effect: "writes",
  touches: ["proposal"],
  callers: writers,
  group: "crew",
  audience: "job",
  http: { method: "post", path: "/proposals" },
  input: z.object({
    topic_id: z.string().max(64).describe("Id of the topic"),
    base_sha: z
      .string()
      .regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, "expected the 40 or 64 hexadecimal digits of a git blob")
      .describe("Git blob of the page that you started from: source_sha of get_topic"),
    content: z.string().describe("The entire new content of the page, frontmatter included"),
  }),
  output: z.object({
    id: z.string(),
    status: z.literal("open"),
    topic_id: z.string(),
    source_path: z.string(),
    revision_number: z.int(),
    base_moved: z.boolean().describe("true if the page changed since base_sha"),
    endangers: z
      .array(z.object({ id: z.string(), quote: z.string(), to: anchorState }))
      .describe("Other open topics whose passage was not found for certain"),
  }),
  async run(app: ReviewApp, { topic_id, base_sha, content: text }, caller) {
    const topic = await app.topics.find(topic_id);
    if (!topic) return noSuch(app.db.read, "topic", topic_id);
    const made = await proposePage(app, topic, { baseSha: base_sha, text }, caller);
    if (!made.ok) return made;
    const page = await app.pages.read(topic.path);
    // The proposal is saved: without a preview, the person who reviews it still sees the effect.
    const after = await previewTopics(app, topic.path, text);
    const lost = (after.ok ? after.value : []).filter(
      ({ id, to }) => id !== topic_id && (to === "needs-review" || to === "orphaned"),
    );
    return ok({
      id: made.value.id,
      status: "open" as const,
      topic_id,
      source_path: topic.path,
      revision_number: made.value.revisionNumber ?? 1,
      base_moved: page.ok && page.value.blob !== base_sha,
      endangers: lost.slice(0, mostTold).map(({ id, quote, to }) => ({ id, quote: quote.slice(0, longestQuote), to })),
    });
  },
});

export const approveProposal = operation({
  name: "approve_proposal",
  summary: "Approve a proposal and apply it.",
  effect: "writes",
  touches: ["proposal", "page", "entry", "section", "topic"],
  callers: collaborators,
  group: "review",
  http: { method: "post", path: "/proposals/{id}/approve" },
  decision: true,
  input: z.object({
    id,
    note: note.describe("A note for the record"),
    merge: z.boolean().default(false).describe("The page changed since: approve the merged text that was shown"),
    onto,
    accept_hidden: acceptHidden,
  }),
  output: proposal.extend({ commit: z.string().nullable().optional().describe("Id of the git commit") }),
  run: (app: ReviewApp, { id, accept_hidden, ...asked }, caller) =>
    approve(app, id, approver(caller), { ...asked, acceptHidden: accept_hidden }),
});

async function approve(app: ReviewApp, id: string, by: Approver, options: ApprovalOptions) {
  await followPage(app, id);
  const approved = await app.proposals.approve(id, by, options);
  if (!approved.ok) return approved;
  if (approved.value.kind !== "page") return ok(snakeKeys(approved.value));
  await refindTopics(app, approved.value.subject);
  const commit = await approvalCommit(app.git, approved.value.subject, id, app.config.bookBranch);
  return ok({ ...snakeKeys(approved.value), commit });
}

const heldDecision = z.object({ id: z.string(), pending });

export const decideProposal = operation({
  name: "decide_proposal",
  summary: "Approve or reject a proposal after 10 seconds, unless undo_decision cancels it.",
  guidance:
    "The browser decides this way. The server keeps the decision in memory: if it restarts, the proposal waits again.",
  effect: "writes",
  touches: ["proposal", "page", "entry", "section", "topic"],
  callers: collaborators,
  group: "review",
  http: { method: "post", path: "/proposals/{id}/decision" },
  decision: true,
  input: z.object({
    id,
    decision: z.enum(["approve", "reject"]),
    note: note.describe("A note for the record, or the reason for the author"),
    merge: z.boolean().default(false).describe("The page changed since: approve the merged text that was shown"),
    onto,
    accept_hidden: acceptHidden,
  }),
  output: heldDecision,
  async run(app: ReviewApp, { id, decision, note, merge, onto, accept_hidden }, caller) {
    const by = approver(caller);
    if (decision === "reject") {
      const found = await app.proposals.findOpen(id);
      if (!found.ok) return found;
      return held(app, id, {
        decision,
        by: by.name,
        apply: () => ifStillAllowed(app, caller, () => app.proposals.reject(id, by, note)),
      });
    }
    await followPage(app, id);
    const options = { note, merge, onto, acceptHidden: accept_hidden };
    const found = await app.proposals.checkApproval(id, by, options);
    if (!found.ok) return found;
    const { kind, subject } = found.value;
    const page = kind === "page" && onto === undefined ? await app.pages.read(subject) : undefined;
    // Ten seconds are long enough for another change of the page, which nobody would have seen.
    const pinned = page?.ok ? { ...options, onto: page.value.blob } : options;
    const apply = () => ifStillAllowed(app, caller, () => approve(app, id, by, pinned));
    return held(app, id, { decision, by: by.name, apply });
  },
});

/** The rank may have changed while the decision waited; the owner and holders of tokens without a user have none. */
async function ifStillAllowed<T>(app: ReviewApp, caller: Caller, decide: () => Promise<Result<T>>): Promise<Result<T>> {
  if (caller.kind === "person" && !caller.isOwner) {
    const user = await findUserRow(app.db.read, caller.name);
    if (user?.removed_at) return refuse("denied", `${caller.name} was removed and may no longer decide`);
    if (user?.role === "reader") return refuse("denied", `${caller.name} is now a reader and may no longer decide`);
  }
  return decide();
}

async function held(app: ReviewApp, id: string, decision: Parameters<PendingDecisions["hold"]>[1]) {
  const made = await app.pendingDecisions.hold(id, decision);
  return made.ok ? ok({ id, pending: shownPending(made.value) }) : made;
}

export const undoDecision = operation({
  name: "undo_decision",
  summary: "Undo a decision of decide_proposal before it takes effect.",
  effect: "writes",
  touches: ["proposal"],
  callers: collaborators,
  group: "review",
  http: { method: "delete", path: "/proposals/{id}/decision" },
  decision: true,
  input: z.object({ id }),
  output: heldDecision,
  async run(app: ReviewApp, { id }, caller) {
    const found = await app.proposals.find(id);
    if (!found) return noSuch(app.db.read, "proposal", id);
    const undone = await app.pendingDecisions.undo(id, nameOf(caller));
    return undone.ok ? ok({ id, pending: shownPending(undone.value) }) : undone;
  },
});

export const rejectProposal = operation({
  name: "reject_proposal",
  summary: "Reject a proposal.",
  effect: "writes",
  touches: ["proposal"],
  callers: collaborators,
  group: "review",
  http: { method: "post", path: "/proposals/{id}/reject" },
  decision: true,
  input: z.object({ id, note: note.describe("The reason, for the author") }),
  output: proposal,
  async run(app: ReviewApp, { id, note }, caller) {
    const rejected = await app.proposals.reject(id, approver(caller), note);
    return rejected.ok ? ok(snakeKeys(rejected.value)) : rejected;
  },
});

const words = z.string().trim().min(1, "must not be empty").max(20_000);

export const commentProposal = operation({
  name: "comment_proposal",
  summary: "Comment on a proposal without deciding it.",
  effect: "writes",
  touches: ["proposal"],
  callers: collaborators,
  group: "review",
  http: { method: "post", path: "/proposals/{id}/comments" },
  input: z.object({ id, content: words.describe("The comment, in markdown") }),
  output: comment,
  async run(app: ReviewApp, { id, content }, caller) {
    const made = await app.proposals.comment(id, approver(caller), content, false);
    return made.ok ? ok(snakeKeys(made.value)) : made;
  },
});

const approver = (caller: Caller) =>
  caller.kind === "person" && caller.email ? { name: caller.name, email: caller.email } : { name: nameOf(caller) };

const brief = ({ text: _text, baseText: _baseText, ...rest }: WholeProposal): Proposal => rest;

const shownPending = ({ problem, ...rest }: PendingDecision): z.infer<typeof pending> => ({
  ...snakeKeys(rest),
  problem: problem?.message ?? null,
});

export function withPending(app: ReviewApp, one: Proposal): z.infer<typeof listedProposal> {
  const found = app.pendingDecisions.of(one.id);
  // The proposal is decided before the last steps of its approval are done.
  const pending = found && (one.status === "open" || found.problem) ? shownPending(found) : null;
  return { ...snakeKeys(one), pending };
}
