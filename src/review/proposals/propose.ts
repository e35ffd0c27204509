import type { Caller } from "../../kernel/caller.ts";
import { type Result, refuse } from "../../kernel/result.ts";
import type { Identity } from "../../store/git/git.ts";
import type { ReviewApp } from "../review-app.ts";
import { textNamed } from "./base.ts";
import { type AnsweredTopic, checkProposal, takesProposals } from "./page-proposal.ts";
import type { Proposal } from "./proposal.ts";
import type { NewPageProposal } from "./proposals.ts";

/** Answers a topic with a full new text of its page (R3). The checks are the same for agents and people. */
export async function proposePage(
  app: ReviewApp,
  topic: AnsweredTopic,
  asked: { baseSha: string; text: string },
  caller: Caller,
  more?: Pick<NewPageProposal, "replaces" | "message" | "openTopic"> & { data?: Record<string, unknown> },
): Promise<Result<Proposal>> {
  const { path } = topic;
  const open = takesProposals(topic);
  if (!open.ok) return open;
  if (path.startsWith(`${app.config.sources}/`)) {
    return refuse("refused", `${path} is a source, and sources are immutable; propose a change to a page instead`);
  }
  const schema = await app.schema();
  if (!schema.ok && path.startsWith(`${app.config.wiki}/`)) return schema;
  const page = await app.pages.read(path);
  if (!page.ok) return page;
  const { db, git, entries, files } = app;
  const base = await textNamed({ db, git, entries, onDisk: files !== undefined }, page.value, asked.baseSha);
  if (base === undefined) {
    const message = `base_sha ${asked.baseSha} is not a known version of ${path}; the current version is ${page.value.blob}`;
    return refuse("invalid", `${message}. Start from the current text`, { source_sha: page.value.blob });
  }
  const text = checkProposal(page.value, base, asked.text);
  if (!text.ok) return text;
  const fresh = { path, topicId: topic.id, baseSha: asked.baseSha, baseText: base, text: text.value };
  const by = proposerOf(caller, app.config.agent?.author);
  return app.proposals.openPage({ ...fresh, ...by, ...more, data: { ...by.data, ...more?.data } });
}

/**
 * Agents are not users: `proposedBy` is null for them, and role and run are in `data`. So is the author of their commits,
 * in case scriptorium.yaml names none when the proposal is approved.
 */
function proposerOf(caller: Caller, author: Identity | undefined) {
  if (caller.kind === "person") {
    return { proposedBy: caller.name, jobId: null, data: caller.email ? { email: caller.email } : {} };
  }
  const { role, turn, job } = caller;
  return {
    proposedBy: null,
    jobId: job ?? null,
    data: { role, ...(turn.run ? { run: turn.run } : {}), ...(author ? { author } : {}) },
  };
}
