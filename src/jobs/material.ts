import { ok, type Result, refuse } from "../kernel/result.ts";
import { personaOf } from "../review/perspectives/personas.ts";
import { findTopic } from "../store/queries/topics.ts";
import type { Job, Wanted } from "./job.ts";
import type { JobsApp } from "./jobs-app.ts";

/** What a job is about, as it was when the job began. */
export type Material = {
  wanted: Wanted;
  /** The page's text, and git's name for it. */
  text: string;
  sha: string;
  personaSha?: string;
  /** The number of the topic's last message. */
  lastMessage: number;
  /** The last revision for this topic and what people said about it, when there is one. */
  earlier?: string;
};

type Request = { kind: Job["kind"]; source_path?: string; topic_id?: string; persona_name?: string };
type Checked = Pick<Job, "kind" | "source_path" | "topic_id" | "persona_name">;

/** What was asked for, as a job that makes sense. */
export async function checkRequest(app: JobsApp, asked: Request): Promise<Result<Checked>> {
  if (asked.kind === "incorporate") {
    if (!asked.topic_id) return refuse("invalid", "name the topic to incorporate: topic_id");
    if (asked.persona_name) return refuse("invalid", "a job that incorporates a topic takes no persona_name");
    const topic = await topicOf(app, asked.topic_id);
    if (!topic.ok) return topic;
    const { path, status } = topic.value;
    if (status !== "open") return refuse("conflict", `topic ${asked.topic_id} is ${status}; reopen it first`);
    if (asked.source_path !== undefined && asked.source_path !== path) {
      return refuse("invalid", `topic ${asked.topic_id} is about ${path}, not about ${asked.source_path}`);
    }
    const page = await app.pages.read(path);
    return page.ok ? ok({ kind: asked.kind, source_path: path, topic_id: asked.topic_id, persona_name: null }) : page;
  }
  if (!asked.persona_name) return refuse("invalid", "name the persona to write for: persona_name");
  if (!asked.source_path) return refuse("invalid", "name the page to re-tell: source_path");
  if (asked.topic_id) return refuse("invalid", "a job that writes a perspective takes no topic_id");
  const persona = await personaOf(app, asked.source_path, asked.persona_name);
  if (!persona.ok) return persona;
  return ok({ kind: asked.kind, source_path: asked.source_path, topic_id: null, persona_name: asked.persona_name });
}

export async function readMaterial(app: JobsApp, job: Job): Promise<Result<Material>> {
  const page = await app.pages.read(job.source_path);
  if (!page.ok) return page;
  const { text, blob: sha } = page.value;
  if (job.kind === "perspective") {
    const persona = await personaOf(app, job.source_path, job.persona_name ?? "");
    if (!persona.ok) return persona;
    return ok({ wanted: "perspective", text, sha, personaSha: persona.value.sha, lastMessage: 0 });
  }
  const topic = await topicOf(app, job.topic_id ?? "");
  if (!topic.ok) return topic;
  const wanted = topic.value.kind === "question" ? "reply" : "proposal";
  const earlier = await earlierRevision(app, topic.value.id);
  return ok({ wanted, text, sha, lastMessage: topic.value.messages, ...(earlier ? { earlier } : {}) });
}

async function earlierRevision(app: JobsApp, topic: string): Promise<string | undefined> {
  const last = await app.db.read
    .selectFrom("proposals")
    .select(["id", "revision_number", "status", "decided_by", "note", "text"])
    .where("topic_id", "=", topic)
    .where("kind", "=", "page")
    .orderBy("revision_number", "desc")
    .limit(1)
    .executeTakeFirst();
  if (!last) return undefined;
  const comments = await app.db.read
    .selectFrom("proposal_comments")
    .select(["author", "text"])
    .where("proposal_id", "=", last.id)
    .orderBy("at")
    .execute();
  return [
    `Revision ${last.revision_number}, ${last.status}${last.decided_by ? ` by ${last.decided_by}` : ""}.`,
    ...(last.note ? [`Note: ${last.note}`] : []),
    ...comments.map(({ author, text }) => `${author} wrote: ${text}`),
    "What it proposed follows, to the end of this file.",
    "",
    last.text ?? "",
  ].join("\n");
}

/** Whether the agent wrote, through an operation, what its job was for. */
export async function hasProduced(app: JobsApp, job: Job, material: Material): Promise<boolean> {
  const found = {
    proposal: () => app.db.read.selectFrom("proposals").select("id").where("job_id", "=", job.id).limit(1),
    perspective: () => app.db.read.selectFrom("perspectives").select("path").where("job_id", "=", job.id).limit(1),
    reply: () =>
      app.db.read
        .selectFrom("messages")
        .select("seq")
        .where("topic_id", "=", job.topic_id ?? "")
        .where("author_kind", "=", "agent")
        .where("seq", ">", material.lastMessage)
        .limit(1),
  };
  return (await found[material.wanted]().execute()).length > 0;
}

async function topicOf(app: JobsApp, id: string) {
  const topic = await findTopic(app.db.read, id);
  return topic ? ok(topic) : refuse("not_found", `no topic ${id}; see: scriptorium topic list`);
}
