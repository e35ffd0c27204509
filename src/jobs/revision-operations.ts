import * as z from "zod";
import { noAgent } from "../agents/no-agent.ts";
import { nameOf } from "../kernel/caller.ts";
import { collaborators, operation } from "../kernel/operation.ts";
import { ok, type Result } from "../kernel/result.ts";
import { snakeKeys } from "../kernel/wire.ts";
import { comment } from "../review/proposals/operations.ts";
import type { Job } from "./job.ts";
import type { JobsApp } from "./jobs-app.ts";
import { checkRequest } from "./material.ts";

export const requestRevision = operation({
  name: "request_revision",
  summary:
    "Return a page's proposal with a note; the note becomes a message of its topic, and an agent revises the text.",
  effect: "writes",
  touches: ["proposal", "topic", "job"],
  callers: collaborators,
  group: "review",
  http: { method: "post", path: "/proposals/{id}/revision" },
  input: z.object({
    id: z.string().max(64).describe("Id of the proposal, such as p-…"),
    content: z
      .string()
      .trim()
      .min(1, "must not be empty")
      .max(20_000)
      .describe("What should be different, in markdown"),
  }),
  output: comment.extend({
    job_id: z.string().nullable().describe("Id of the job that writes the next revision; null if none was started"),
    not_started: z.string().nullable().describe("Why no job was started; the note is saved"),
  }),
  async run(app: JobsApp, { id, content }, caller) {
    const by = nameOf(caller);
    const made = await app.proposals.comment(id, { name: by }, content, true);
    if (!made.ok) return made;
    const topic = (await app.proposals.find(id))?.topicId ?? "";
    const started = await startRevision(app, topic, by);
    const job = started.ok
      ? { job_id: started.value.id, not_started: null }
      : { job_id: null, not_started: started.problem.message };
    return ok({ ...snakeKeys(made.value), ...job });
  },
});

async function startRevision(app: JobsApp, topic: string, by: string): Promise<Result<Job>> {
  if (!app.config.agent) return noAgent();
  const trusted = app.config.trust.check("agents");
  if (!trusted.ok) return trusted;
  const request = await checkRequest(app, { kind: "incorporate", topic_id: topic });
  return request.ok ? app.jobs.start({ ...request.value, by }) : request;
}
