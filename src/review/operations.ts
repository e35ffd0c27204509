import * as z from "zod";
import { collaborators, operation, people } from "../operation.ts";
import { type Caller, nameOf } from "../people/caller.ts";
import { ok, refuse } from "../result.ts";

const id = z.string().max(64).describe("The proposal's id, as `proposal list` shows it");
const note = z.string().trim().max(4000).optional();

const proposal = z.object({
  id: z.string(),
  kind: z.string(),
  subject: z.string(),
  data: z.record(z.string(), z.unknown()),
  proposedBy: z.string().nullable(),
  status: z.enum(["open", "approved", "rejected"]),
  createdAt: z.string(),
  decidedAt: z.string().nullable(),
  decidedBy: z.string().nullable(),
  note: z.string().nullable(),
});

export const listProposals = operation({
  name: "list_proposals",
  summary: "List what waits for a person's decision, newest first.",
  effect: "reads",
  callers: people,
  http: { method: "get", path: "/proposals" },
  input: z.object({ status: z.enum(["open", "approved", "rejected"]).optional() }),
  output: z.object({ proposals: z.array(proposal) }),
  run: async (app, { status }) => ok({ proposals: await app.proposals.list(status) }),
});

export const showProposal = operation({
  name: "show_proposal",
  summary: "Show one proposal with all it would do.",
  effect: "reads",
  callers: people,
  http: { method: "get", path: "/proposals/{id}" },
  input: z.object({ id }),
  output: proposal,
  async run(app, { id }) {
    const found = await app.proposals.find(id);
    return found ? ok(found) : refuse("not_found", `no proposal ${id}; see: scriptorium proposal list`);
  },
});

export const approveProposal = operation({
  name: "approve_proposal",
  summary: "Approve a proposal: what it asks for takes effect now.",
  effect: "writes",
  callers: collaborators,
  http: { method: "post", path: "/proposals/{id}/approve" },
  input: z.object({ id, note: note.describe("What you want to say with it") }),
  output: proposal,
  async run(app, { id, note }, caller) {
    const approved = await app.proposals.approve(id, approver(caller), note);
    if (!approved.ok || approved.value.kind !== "section") return approved;
    // The new section starts as every other: an empty entry of version 1.
    await app.entries.commit(approved.value.subject, "", 0, approver(caller));
    return approved;
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

const approver = (caller: Caller) =>
  caller.kind === "person" && caller.email ? { name: caller.name, email: caller.email } : { name: nameOf(caller) };
