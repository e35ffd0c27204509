import { ok, type Result, refuse } from "../kernel/result.ts";
import { personaOf } from "../review/perspectives/personas.ts";
import { noSuch } from "../store/no-such.ts";
import { hasPerspectiveOfJob } from "../store/queries/perspectives.ts";
import { commentsOn, hasProposalOfJob, lastRevision, lineCommentsOf } from "../store/queries/proposals.ts";
import { hasRecheckOfJob } from "../store/queries/rechecks.ts";
import { findTopic, hasAgentReply } from "../store/queries/topics.ts";
import { passageOf } from "../trust/operations.ts";
import type { Job, JobResult } from "./job.ts";
import type { JobsApp } from "./jobs-app.ts";

const mostComments = 500;

/** The input of a job, as it was when the job began. */
export type Material = {
  result: JobResult;
  /** The page's text and its git blob name. */
  text: string;
  sha: string;
  personaSha?: string;
  /** The number of the topic's last message. */
  lastMessage: number;
  /** The last revision for this topic, with people's comments on it. */
  earlier?: string;
};

type Request = {
  kind: Job["kind"];
  source_path?: string;
  topic_id?: string;
  persona_name?: string;
  passage?: string;
};
type CheckedRequest = Pick<Job, "kind" | "source_path" | "topic_id" | "persona_name" | "passage">;

/** Checks a request and completes it to a job. */
export async function checkRequest(app: JobsApp, asked: Request): Promise<Result<CheckedRequest>> {
  if (asked.kind !== "recheck" && asked.passage)
    return refuse("invalid", `passage: a job of kind ${asked.kind} has no passage`);
  if (asked.kind === "recheck") return checkRecheck(app, asked);
  if (asked.kind === "incorporate") {
    if (!asked.topic_id) return refuse("invalid", "topic_id: missing; a job of kind incorporate needs a topic");
    if (asked.persona_name) return refuse("invalid", "persona_name: a job of kind incorporate has no persona");
    const topic = await topicOf(app, asked.topic_id);
    if (!topic.ok) return topic;
    const { path, status } = topic.value;
    if (status !== "open") {
      return refuse("conflict", `topic ${asked.topic_id} is ${status}`, {
        next: [{ operation: "reopen_topic", input: { id: asked.topic_id }, to: "reopen it" }],
      });
    }
    if (asked.source_path !== undefined && asked.source_path !== path) {
      return refuse("invalid", `source_path: topic ${asked.topic_id} is about ${path}, not ${asked.source_path}`);
    }
    const page = await app.pages.read(path);
    const { kind, topic_id } = asked;
    return page.ok ? ok({ kind, source_path: path, topic_id, persona_name: null, passage: null }) : page;
  }
  if (!asked.persona_name) return refuse("invalid", "persona_name: missing; a job of kind perspective needs a persona");
  if (!asked.source_path) return refuse("invalid", "source_path: missing; a job of kind perspective needs a page");
  if (asked.topic_id) return refuse("invalid", "topic_id: a job of kind perspective has no topic");
  const persona = await personaOf(app, asked.source_path, asked.persona_name);
  if (!persona.ok) return persona;
  const { kind, source_path, persona_name } = asked;
  return ok({ kind, source_path, topic_id: null, persona_name, passage: null });
}

async function checkRecheck(app: JobsApp, asked: Request): Promise<Result<CheckedRequest>> {
  const { kind, source_path, passage } = asked;
  if (!source_path) return refuse("invalid", "source_path: missing; a job of kind recheck needs a page");
  if (!passage) return refuse("invalid", "passage: missing; a job of kind recheck needs a passage");
  if (asked.topic_id) return refuse("invalid", "topic_id: a job of kind recheck has no topic");
  if (asked.persona_name) return refuse("invalid", "persona_name: a job of kind recheck has no persona");
  const found = await passageOf(app, source_path, passage);
  if (!found.ok) return found;
  return ok({ kind, source_path: found.value.path, topic_id: null, persona_name: null, passage: found.value.hash });
}

export async function readMaterial(app: JobsApp, job: Job): Promise<Result<Material>> {
  const page = await app.pages.read(job.source_path);
  if (!page.ok) return page;
  const { text, blob: sha } = page.value;
  if (job.kind === "perspective") {
    const persona = await personaOf(app, job.source_path, job.persona_name ?? "");
    if (!persona.ok) return persona;
    return ok({ result: "perspective", text, sha, personaSha: persona.value.sha, lastMessage: 0 });
  }
  if (job.kind === "recheck") {
    const passage = await passageOf(app, job.source_path, job.passage ?? "");
    return passage.ok ? ok({ result: "finding", text, sha, lastMessage: 0 }) : passage;
  }
  const topic = await topicOf(app, job.topic_id ?? "");
  if (!topic.ok) return topic;
  const result = topic.value.kind === "question" ? "reply" : "proposal";
  const earlier = await earlierRevision(app, topic.value.id);
  return ok({ result, text, sha, lastMessage: topic.value.messages, ...(earlier ? { earlier } : {}) });
}

async function earlierRevision(app: JobsApp, topic: string): Promise<string | undefined> {
  const last = await lastRevision(app.db.read, topic);
  if (!last) return undefined;
  const comments = await commentsOn(app.db.read, last.id, mostComments);
  const onLines = (await lineCommentsOf(app.db.read, topic, mostComments)).filter(
    ({ resolved_at }) => resolved_at === null,
  );
  return [
    `Revision ${last.revision_number}, ${last.status}${last.decided_by ? ` by ${last.decided_by}` : ""}.`,
    ...(last.note ? [`Note: ${last.note}`] : []),
    ...comments.map(({ author, text }) => `${author} wrote: ${text}`),
    ...onLines.map(
      ({ author, side, line, quote, text, proposal_id, revision_number }) =>
        `${author} wrote on line ${line} of the ${side === "new" ? "proposed" : "earlier"} text${proposal_id === last.id ? "" : ` of revision ${revision_number}`}, ${JSON.stringify(quote)}: ${text}`,
    ),
    "The text that it proposed follows, to the end of this file.",
    "",
    last.text ?? "",
  ].join("\n");
}

/** Whether the agent produced, through an operation, the result that the job asks for. */
export async function hasProduced(app: JobsApp, job: Job, material: Material): Promise<boolean> {
  const { read } = app.db;
  if (material.result === "proposal") return hasProposalOfJob(read, job.id);
  if (material.result === "perspective") return hasPerspectiveOfJob(read, job.id);
  if (material.result === "finding") return hasRecheckOfJob(read, job.id);
  return hasAgentReply(read, job.topic_id ?? "", material.lastMessage);
}

async function topicOf(app: JobsApp, id: string) {
  const topic = await findTopic(app.db.read, id);
  return topic ? ok(topic) : noSuch(app.db.read, "topic", id);
}
