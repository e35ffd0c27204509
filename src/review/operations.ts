import * as z from "zod";
import type { App } from "../app.ts";
import { collaborators, operation, people } from "../operation.ts";
import { type Caller, nameOf } from "../people/caller.ts";
import { ok, refuse } from "../result.ts";
import { approvalCommit } from "./approval.ts";
import { impactOf } from "./impact.ts";
import type { Proposal, WholeProposal } from "./proposals.ts";

const id = z.string().max(64).describe("The proposal's id, as `proposal list` shows it");
const note = z.string().trim().max(4000).optional();
const status = z.enum(["open", "approved", "rejected", "superseded"]);

const proposal = z.object({
  id: z.string(),
  kind: z.string(),
  subject: z.string().describe("For a page its path, for a section its id"),
  data: z.record(z.string(), z.unknown()),
  proposedBy: z.string().nullable().describe("Null when an agent proposed it"),
  status,
  createdAt: z.string(),
  decidedAt: z.string().nullable(),
  decidedBy: z.string().nullable(),
  note: z.string().nullable(),
  topicId: z.string().nullable(),
  revisionNumber: z.int().nullable().describe("Which answer to its topic this is"),
  baseSourceSha: z.string().nullable().describe("The git blob of the page it was made from"),
  jobId: z.string().nullable(),
});

const comment = z.object({
  id: z.string(),
  author: z.string(),
  text: z.string(),
  wantsRevision: z.boolean(),
  at: z.string(),
});

const hunk = z.object({
  oldStart: z.int(),
  oldLines: z.int(),
  newStart: z.int(),
  newLines: z.int(),
  lines: z.array(z.string()),
});

const impact = z.object({
  diff: z.string().describe("For eyes: hidden characters are spelt out"),
  hunks: z.array(hunk),
  added: z.int(),
  removed: z.int(),
  baseMoved: z.boolean(),
  latest: z.string().nullable().describe("The page's blob now; give it as `onto` to approve just what you saw"),
  merge: z.object({ clean: z.boolean(), text: z.string().optional(), diff: z.string().optional() }).nullable(),
  hidden: z.array(z.object({ line: z.int(), characters: z.string() })),
});

export const listProposals = operation({
  name: "list_proposals",
  summary: "List what waits for a person's decision, newest first.",
  effect: "reads",
  callers: people,
  http: { method: "get", path: "/proposals" },
  input: z.object({
    status: status.optional(),
    topic: z.string().max(64).optional().describe("Only the answers to this topic"),
  }),
  output: z.object({ proposals: z.array(proposal) }),
  run: async (app, { status, topic }) => ok({ proposals: await app.proposals.list(status, topic) }),
});

export const showProposal = operation({
  name: "show_proposal",
  summary: "Show one proposal with all it would do.",
  effect: "reads",
  callers: people,
  http: { method: "get", path: "/proposals/{id}" },
  input: z.object({ id }),
  output: proposal.extend({
    text: z.string().optional().describe("The whole proposed text of the page"),
    comments: z.array(comment),
    impact: impact.optional(),
  }),
  async run(app, { id }) {
    const found = await app.proposals.find(id);
    if (!found) return refuse("not_found", `no proposal ${id}; see: scriptorium proposal list`);
    const comments = await app.proposals.comments(id);
    if (found.kind !== "page") return ok({ ...brief(found), comments });
    return ok({ ...brief(found), text: found.text, comments, impact: await foresee(app, found) });
  },
});

/** A decided proposal is shown against what it was made from; what came after it is another matter. */
async function foresee(app: App, proposal: WholeProposal) {
  const { baseText: text, baseSourceSha: blob } = proposal;
  if (proposal.status !== "open") return impactOf(proposal, { text, blob: blob ?? "" });
  const page = await app.pages.read(proposal.subject);
  return impactOf(proposal, page.ok ? page.value : undefined);
}

export const approveProposal = operation({
  name: "approve_proposal",
  summary: "Approve a proposal: what it asks for takes effect now.",
  effect: "writes",
  callers: collaborators,
  http: { method: "post", path: "/proposals/{id}/approve" },
  input: z.object({
    id,
    note: note.describe("What you want to say with it"),
    merge: z.boolean().default(false).describe("The page has moved: approve the merged text that was shown"),
    onto: z.string().max(64).optional().describe("The page's blob that you saw; a conflict when it is another by now"),
  }),
  output: proposal.extend({ commit: z.string().nullable().optional().describe("Where git has it") }),
  async run(app, { id, ...asked }, caller) {
    const approved = await app.proposals.approve(id, approver(caller), asked);
    if (!approved.ok || approved.value.kind !== "page") return approved;
    const commit = await approvalCommit(app.git, approved.value.subject, id);
    return ok({ ...approved.value, commit });
  },
});

export const rejectProposal = operation({
  name: "reject_proposal",
  summary: "Reject a proposal; nothing changes.",
  effect: "writes",
  callers: collaborators,
  http: { method: "post", path: "/proposals/{id}/reject" },
  input: z.object({ id, note: note.describe("Why, for whoever proposed it") }),
  output: proposal,
  run: (app, { id, note }, caller) => app.proposals.reject(id, approver(caller), note),
});

const words = z.string().trim().min(1, "say something").max(20_000);

export const commentProposal = operation({
  name: "comment_proposal",
  summary: "Say something about a proposal without deciding it.",
  effect: "writes",
  callers: collaborators,
  http: { method: "post", path: "/proposals/{id}/comments" },
  input: z.object({ id, text: words.describe("What you have to say, in markdown") }),
  output: comment,
  run: (app, { id, text }, caller) => app.proposals.comment(id, approver(caller), text, false),
});

export const requestRevision = operation({
  name: "request_revision",
  summary: "Ask for another revision of a page's proposal; the next job sees this one and what you say.",
  effect: "writes",
  callers: collaborators,
  http: { method: "post", path: "/proposals/{id}/revision" },
  input: z.object({ id, text: words.describe("What should be different, in markdown") }),
  output: comment,
  run: (app, { id, text }, caller) => app.proposals.comment(id, approver(caller), text, true),
});

const approver = (caller: Caller) =>
  caller.kind === "person" && caller.email ? { name: caller.name, email: caller.email } : { name: nameOf(caller) };

const brief = ({ text: _text, baseText: _baseText, ...rest }: WholeProposal): Proposal => rest;
