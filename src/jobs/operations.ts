import { join } from "node:path";
import * as z from "zod";
import { noAgent } from "../agents/no-agent.ts";
import { nameOf } from "../kernel/caller.ts";
import { type DestinationUse, destinationUse } from "../kernel/destination-use.ts";
import { collaborators, operation } from "../kernel/operation.ts";
import { ok } from "../kernel/result.ts";
import { parseJsonOr } from "../store/json.ts";
import { noSuch } from "../store/no-such.ts";
import type { Job } from "./job.ts";
import type { JobsApp } from "./jobs-app.ts";
import { checkRequest } from "./material.ts";

const jobKinds = ["incorporate", "perspective", "recheck"] as const satisfies readonly Job["kind"][];
const id = z.string().max(64).describe("Id of the job");
const count = z.number().nullable();

const job = z.object({
  id: z.string(),
  kind: z.enum(jobKinds),
  source_path: z.string(),
  topic_id: z.string().nullable(),
  persona_name: z.string().nullable(),
  passage: z.string().nullable().describe("The passage that is checked"),
  status: z.enum(["queued", "running", "succeeded", "failed", "timed_out"]),
  message: z.string().nullable().describe("What happened, in one sentence"),
  created_at: z.string(),
  created_by: z.string(),
  started_at: z.string().nullable(),
  completed_at: z.string().nullable(),
  exit_code: z.int().nullable(),
  cost_usd: count.describe("Cost that the agent reported; null if it reported none"),
});

const whole = job.extend({
  error_tail: z.string().nullable().describe("The end of the agent's stderr, or why it did not start"),
  cancelled_by: z.string().nullable(),
  usage: z.object({
    input_tokens: count,
    output_tokens: count,
    cache_read_tokens: count,
    cache_write_tokens: count,
    tool_calls: count,
    messages: count,
  }),
  duration_ms: count,
  destinations: z
    .array(destinationUse)
    .nullable()
    .describe("Where the agent connected to, or tried to; null if it ran without a sandbox"),
  log: z.string().nullable().describe("File with the agent's output"),
});

export const startJob = operation({
  name: "start_job",
  summary: "Start an agent that turns a topic into a proposal, rewrites a page for a persona, or checks a passage.",
  effect: "writes",
  touches: ["job"],
  callers: collaborators,
  group: "review",
  http: { method: "post", path: "/agent/jobs" },
  input: z.object({
    kind: z
      .enum(jobKinds)
      .describe(
        "incorporate needs topic_id; perspective needs source_path and persona_name; recheck needs source_path and passage",
      ),
    source_path: z.string().max(1000).optional().describe("Path of the page; not needed with topic_id"),
    topic_id: z.string().max(64).optional().describe("Id of the topic"),
    persona_name: z.string().max(100).optional().describe("Name of the persona"),
    passage: z.string().min(6).max(64).optional().describe("Id of the passage, as get_trust lists it"),
  }),
  output: z.object({ job_id: z.string() }),
  async run(app: JobsApp, asked, caller) {
    if (!app.config.agent) return noAgent();
    const trusted = app.config.trust.check("agents");
    if (!trusted.ok) return trusted;
    const request = await checkRequest(app, asked);
    if (!request.ok) return request;
    const started = await app.jobs.start({ ...request.value, by: nameOf(caller) });
    return started.ok ? ok({ job_id: started.value.id }) : started;
  },
});

export const listJobs = operation({
  name: "list_jobs",
  summary: "List the latest jobs, newest first.",
  effect: "reads",
  reads: ["job"],
  callers: collaborators,
  group: "review",
  http: { method: "get", path: "/agent/jobs" },
  input: z.object({
    source_path: z.string().max(1000).optional().describe("Only jobs of this page"),
    limit: z.int().min(1).max(200).default(20).describe("Maximum number of jobs"),
  }),
  output: z.object({ jobs: z.array(job) }),
  run: async (app: JobsApp, { source_path, limit }) =>
    ok({ jobs: (await app.jobs.list(source_path, limit)).map(briefly) }),
});

export const showJob = operation({
  name: "show_job",
  summary: "Show a job: outcome, end of stderr and usage.",
  effect: "reads",
  reads: ["job"],
  callers: collaborators,
  group: "review",
  http: { method: "get", path: "/agent/jobs/{id}" },
  input: z.object({ id }),
  output: whole,
  async run(app: JobsApp, { id }) {
    const found = await app.jobs.find(id);
    return found ? ok(wholly(app, found)) : noSuch(app.db.read, "job", id);
  },
});

export const cancelJob = operation({
  name: "cancel_job",
  summary: "Cancel a queued or running job.",
  effect: "writes",
  touches: ["job"],
  callers: collaborators,
  group: "review",
  http: { method: "post", path: "/agent/jobs/{id}/cancel" },
  input: z.object({ id }),
  output: whole,
  async run(app: JobsApp, { id }, caller) {
    const cancelled = await app.jobs.cancel(id, nameOf(caller));
    return cancelled.ok ? ok(wholly(app, cancelled.value)) : cancelled;
  },
});

const number = (value: number | null) => (value === null ? null : Number(value));

const briefly = (row: Job): z.infer<typeof job> => ({
  id: row.id,
  kind: row.kind,
  source_path: row.source_path,
  topic_id: row.topic_id,
  persona_name: row.persona_name,
  passage: row.passage,
  status: row.status,
  message: row.message,
  created_at: row.created_at,
  created_by: row.created_by,
  started_at: row.started_at,
  completed_at: row.completed_at,
  exit_code: row.exit_code,
  cost_usd: number(row.cost_usd),
});

const wholly = (app: JobsApp, row: Job): z.infer<typeof whole> => ({
  ...briefly(row),
  error_tail: row.error_tail,
  cancelled_by: row.cancelled_by,
  usage: {
    input_tokens: number(row.input_tokens),
    output_tokens: number(row.output_tokens),
    cache_read_tokens: number(row.cache_read_tokens),
    cache_write_tokens: number(row.cache_write_tokens),
    tool_calls: number(row.tool_calls),
    messages: number(row.messages),
  },
  duration_ms: number(row.duration_ms),
  destinations: parseJsonOr<DestinationUse[] | null>(row.destinations ?? "null", null),
  log: row.started_at && app.config.agent?.logDir ? join(app.config.agent.logDir, `${row.id}.log`) : null,
});
