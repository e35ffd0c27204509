import * as z from "zod";
import { type Caller, nameOf } from "../../kernel/caller.ts";
import { collaborators, operation, people, writers } from "../../kernel/operation.ts";
import { ok } from "../../kernel/result.ts";
import { snakeKeys } from "../../kernel/wire.ts";
import { noSuch } from "../../store/no-such.ts";
import type { ReviewApp } from "../review-app.ts";
import { previewTopics, refindTopics } from "../topics/refind-topics.ts";
import { impactOf } from "./impact.ts";
import { approvalCommit } from "./page-effect.ts";
import type { Proposal, WholeProposal } from "./proposal.ts";
import { proposePage } from "./propose.ts";

const id = z.string().max(64).describe("Id of the proposal, such as p-…");
const note = z.string().trim().max(4000).optional();
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

const comment = z.object({
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
  added: z.int(),
  removed: z.int(),
  base_moved: z.boolean(),
  source_sha: z
    .string()
    .nullable()
    .describe("Git blob of the current page; pass it as `onto` to approve exactly what you saw"),
  merge: z.object({ clean: z.boolean(), text: z.string().optional(), diff: z.string().optional() }).nullable(),
  hidden: z.array(z.object({ line: z.int(), characters: z.string() })),
  topics: z.array(foreseenTopic).describe("Anchors of the open topics after approval"),
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
  output: z.object({ proposals: z.array(proposal) }),
  run: async (app: ReviewApp, { status, topic_id }) =>
    ok({ proposals: (await app.proposals.list(status, topic_id)).map(snakeKeys) }),
});

export const showProposal = operation({
  name: "show_proposal",
  summary: "Show a proposal with its diff and effects.",
  effect: "reads",
  reads: ["proposal", "entry", "page", "topic", "job"],
  callers: people,
  group: "review",
  http: { method: "get", path: "/proposals/{id}" },
  input: z.object({ id }),
  output: proposal.extend({
    content: z.string().optional().describe("The entire proposed content of the page"),
    comments: z.array(comment),
    impact: impact.optional(),
  }),
  async run(app: ReviewApp, { id }) {
    const found = await app.proposals.find(id);
    if (!found) return noSuch(app.db.read, "proposal", id);
    const comments = (await app.proposals.comments(id)).map(snakeKeys);
    if (found.kind !== "page") return ok({ ...brief(found), comments });
    return ok({ ...brief(found), content: found.text, comments, impact: await foresee(app, found) });
  },
});

/** A decided proposal is compared with its base; an open one with the present page. */
async function foresee(app: ReviewApp, proposal: WholeProposal) {
  const { baseText, baseSourceSha, subject } = proposal;
  if (proposal.status !== "open") {
    return { ...shownImpact(impactOf(proposal, { text: baseText, blob: baseSourceSha ?? "" })), topics: [] };
  }
  const page = await app.pages.read(subject);
  const impact = impactOf(proposal, page.ok ? page.value : undefined);
  const topics = page.ok ? await topicsAfter(app, subject, impact.merge?.text ?? proposal.text) : [];
  return { ...shownImpact(impact), topics };
}

const shownImpact = ({ hunks, latest, ...rest }: ReturnType<typeof impactOf>) => ({
  ...snakeKeys(rest),
  source_sha: latest,
  hunks: hunks.map(snakeKeys),
});

const topicsAfter = async (app: ReviewApp, path: string, text: string) =>
  (await previewTopics(app, path, text)).map(({ id, quote, from, to }) => ({ id, quote, from, to }));

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
      .regex(/^[0-9a-f]{40}$/, "expected the 40 hexadecimal digits of a git blob")
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
    const lost = (await topicsAfter(app, topic.path, text)).filter(
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
    onto: z.string().max(64).optional().describe("The source_sha that you saw; a different one is a conflict"),
  }),
  output: proposal.extend({ commit: z.string().nullable().optional().describe("Id of the git commit") }),
  async run(app: ReviewApp, { id, ...asked }, caller) {
    const approved = await app.proposals.approve(id, approver(caller), asked);
    if (!approved.ok) return approved;
    if (approved.value.kind !== "page") return ok(snakeKeys(approved.value));
    await refindTopics(app, approved.value.subject);
    const commit = await approvalCommit(app.git, approved.value.subject, id);
    return ok({ ...snakeKeys(approved.value), commit });
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

export const requestRevision = operation({
  name: "request_revision",
  summary: "Request another revision of a page's proposal; the next job sees this proposal and the comment.",
  effect: "writes",
  touches: ["proposal"],
  callers: collaborators,
  group: "review",
  http: { method: "post", path: "/proposals/{id}/revision" },
  input: z.object({ id, content: words.describe("What should be different, in markdown") }),
  output: comment,
  async run(app: ReviewApp, { id, content }, caller) {
    const made = await app.proposals.comment(id, approver(caller), content, true);
    return made.ok ? ok(snakeKeys(made.value)) : made;
  },
});

const approver = (caller: Caller) =>
  caller.kind === "person" && caller.email ? { name: caller.name, email: caller.email } : { name: nameOf(caller) };

const brief = ({ text: _text, baseText: _baseText, ...rest }: WholeProposal) => snakeKeys<Proposal>(rest);
