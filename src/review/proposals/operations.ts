import * as z from "zod";
import { jobAgents } from "../../kernel/audience.ts";
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

const id = z.string().max(64).describe("The proposal's id, as `proposal list` shows it");
const note = z.string().trim().max(4000).optional();
const status = z.enum(["open", "approved", "rejected", "superseded"]);

export const proposal = z.object({
  id: z.string(),
  kind: z.string(),
  subject: z.string().describe("For a page its path, for a section its id"),
  data: z.record(z.string(), z.unknown()),
  proposed_by: z.string().nullable().describe("Null when an agent wrote the text; for a section, the role that asked"),
  status,
  created_at: z.string(),
  decided_at: z.string().nullable(),
  decided_by: z.string().nullable(),
  note: z.string().nullable(),
  topic_id: z.string().nullable(),
  revision_number: z.int().nullable().describe("Which answer to its topic this is"),
  base_source_sha: z.string().nullable().describe("The git blob of the page it was made from"),
  job_id: z.string().nullable(),
});

const comment = z.object({
  id: z.string(),
  author: z.string(),
  text: z.string(),
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
  diff: z.string().describe("For eyes: hidden characters are spelt out"),
  hunks: z.array(hunk),
  added: z.int(),
  removed: z.int(),
  base_moved: z.boolean(),
  source_sha: z.string().nullable().describe("The page's text now; give it as `onto` to approve just what you saw"),
  merge: z.object({ clean: z.boolean(), text: z.string().optional(), diff: z.string().optional() }).nullable(),
  hidden: z.array(z.object({ line: z.int(), characters: z.string() })),
  topics: z.array(foreseenTopic).describe("Where the open topics of the page would be afterwards"),
});

export const listProposals = operation({
  name: "list_proposals",
  summary: "List what waits for a person's decision, newest first.",
  effect: "reads",
  reads: ["proposal", "job"],
  callers: people,
  http: { method: "get", path: "/proposals" },
  input: z.object({
    status: status.optional(),
    topic_id: z.string().max(64).optional().describe("Only the answers to this topic"),
  }),
  output: z.object({ proposals: z.array(proposal) }),
  run: async (app: ReviewApp, { status, topic_id }) =>
    ok({ proposals: (await app.proposals.list(status, topic_id)).map(snakeKeys) }),
});

export const showProposal = operation({
  name: "show_proposal",
  summary: "Show one proposal with all it would do.",
  effect: "reads",
  reads: ["proposal", "entry", "page", "topic", "job"],
  callers: people,
  http: { method: "get", path: "/proposals/{id}" },
  input: z.object({ id }),
  output: proposal.extend({
    text: z.string().optional().describe("The whole proposed text of the page"),
    comments: z.array(comment),
    impact: impact.optional(),
  }),
  async run(app: ReviewApp, { id }) {
    const found = await app.proposals.find(id);
    if (!found) return noSuch(app.db.read, "proposal", id);
    const comments = (await app.proposals.comments(id)).map(snakeKeys);
    if (found.kind !== "page") return ok({ ...brief(found), comments });
    return ok({ ...brief(found), text: found.text, comments, impact: await foresee(app, found) });
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
  summary: "Answer a topic with a whole new text of its page, for a person to decide on.",
  guidance:
    "Send the whole text, frontmatter included, not a diff, and as base_sha the git blob of the text you started from. Change what the topic asks for and nothing else. " +
    "`endangers` names other topics whose words your text lost: bring them back if you can and propose again; the last revision counts. " +
    "A topic of kind question takes no proposal: answer it with reply_topic. Nothing changes until a person approves.",
  effect: "writes",
  touches: ["proposal"],
  callers: writers,
  visibleTo: jobAgents,
  http: { method: "post", path: "/proposals" },
  input: z.object({
    topic_id: z.string().max(64).describe("The topic that this answers"),
    base_sha: z
      .string()
      .regex(/^[0-9a-f]{40}$/, "expected the 40 hexadecimal digits of a git blob")
      .describe("The git blob of the page's text that you started from"),
    text: z.string().describe("The whole new text of the page"),
  }),
  output: z.object({
    id: z.string(),
    status: z.literal("open"),
    topic_id: z.string(),
    source_path: z.string(),
    revision_number: z.int(),
    base_moved: z.boolean().describe("True when the page has changed since base_sha"),
    endangers: z
      .array(z.object({ id: z.string(), quote: z.string(), to: anchorState }))
      .describe("Other open topics whose passage could not be found again for sure"),
  }),
  async run(app: ReviewApp, { topic_id, base_sha, text }, caller) {
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
  summary: "Approve a proposal: what it asks for takes effect now.",
  effect: "writes",
  touches: ["proposal", "page", "entry", "section", "topic"],
  callers: collaborators,
  http: { method: "post", path: "/proposals/{id}/approve" },
  input: z.object({
    id,
    note: note.describe("What you want to say with it"),
    merge: z.boolean().default(false).describe("The page has moved: approve the merged text that was shown"),
    onto: z.string().max(64).optional().describe("The source_sha that you saw; a conflict when it is another by now"),
  }),
  output: proposal.extend({ commit: z.string().nullable().optional().describe("Where git has it") }),
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
  summary: "Reject a proposal; nothing changes.",
  effect: "writes",
  touches: ["proposal"],
  callers: collaborators,
  http: { method: "post", path: "/proposals/{id}/reject" },
  input: z.object({ id, note: note.describe("Why, for whoever proposed it") }),
  output: proposal,
  async run(app: ReviewApp, { id, note }, caller) {
    const rejected = await app.proposals.reject(id, approver(caller), note);
    return rejected.ok ? ok(snakeKeys(rejected.value)) : rejected;
  },
});

const words = z.string().trim().min(1, "must not be empty").max(20_000);

export const commentProposal = operation({
  name: "comment_proposal",
  summary: "Say something about a proposal without deciding it.",
  effect: "writes",
  touches: ["proposal"],
  callers: collaborators,
  http: { method: "post", path: "/proposals/{id}/comments" },
  input: z.object({ id, text: words.describe("What you have to say, in markdown") }),
  output: comment,
  async run(app: ReviewApp, { id, text }, caller) {
    const made = await app.proposals.comment(id, approver(caller), text, false);
    return made.ok ? ok(snakeKeys(made.value)) : made;
  },
});

export const requestRevision = operation({
  name: "request_revision",
  summary: "Ask for another revision of a page's proposal; the next job sees this one and what you say.",
  effect: "writes",
  touches: ["proposal"],
  callers: collaborators,
  http: { method: "post", path: "/proposals/{id}/revision" },
  input: z.object({ id, text: words.describe("What should be different, in markdown") }),
  output: comment,
  async run(app: ReviewApp, { id, text }, caller) {
    const made = await app.proposals.comment(id, approver(caller), text, true);
    return made.ok ? ok(snakeKeys(made.value)) : made;
  },
});

const approver = (caller: Caller) =>
  caller.kind === "person" && caller.email ? { name: caller.name, email: caller.email } : { name: nameOf(caller) };

const brief = ({ text: _text, baseText: _baseText, ...rest }: WholeProposal) => snakeKeys<Proposal>(rest);
