import { join } from "node:path";
import type { Toolset } from "../agents/runner.ts";
import { type Caller, newTurn } from "../kernel/caller.ts";
import type { Operation } from "../kernel/operation.ts";
import { type Result, refuse } from "../kernel/result.ts";
import type { Job } from "./job.ts";
import type { JobsApp } from "./jobs-app.ts";

/** The operations of each kind of job; the rest of the book is none of its business. */
const toolNames: Record<Job["kind"], readonly string[]> = {
  incorporate: ["get_topic", "list_open_topics", "insert_proposal", "reply_topic"],
  perspective: ["get_persona", "put_perspective"],
};

/** Operations that an agent calls for a job, or for itself without naming a role. */
export const jobOperations: ReadonlySet<string> = new Set(Object.values(toolNames).flat());

type Fields = Record<string, unknown>;

/**
 * The operations of one job, bound to its topic, page and persona, and only while it runs.
 * The same binding stands before the MCP tools of a scratch folder and before `scribe` in a workspace.
 */
export function jobTools(app: JobsApp, job: Job, operations: readonly Operation<JobsApp>[]): Toolset {
  const names = toolNames[job.kind];
  const caller: Caller = { kind: "agent", role: "agent", job: job.id, turn: newTurn(undefined, true) };
  return {
    operations: operations.filter((operation) => names.includes(operation.name)),
    async call(name, raw): Promise<Result<unknown>> {
      const operation = operations.find((known) => known.name === name);
      if (!operation || !names.includes(name)) {
        return refuse("denied", `a job of kind ${job.kind} may not call ${name}; it has ${names.join(", ")}`);
      }
      const now = await app.jobs.find(job.id);
      if (now?.status !== "running") return refuse("denied", `job ${job.id} is over; nothing more is taken from it`);
      const input = named(app, job, { ...(raw as Fields) });
      const stray = strays(name, input, job);
      if (stray) return refuse("denied", stray);
      const result = await operation.perform(app, input, caller);
      const elsewhere = name === "get_topic" && result.ok && isElsewhere(result.value as Fields, job);
      return elsewhere ? refuse("denied", `this job works on ${job.source_path}, not on another page`) : result;
    },
  };
}

/** The prompt gives the page's file; operations know it by its name. */
function named(app: JobsApp, job: Job, input: Fields): Fields {
  const given = input.source_path;
  if (typeof given !== "string" || !given.startsWith("/")) return input;
  const isOurs = given === join(app.config.root, job.source_path) || given.endsWith(`/${job.source_path}`);
  return isOurs ? { ...input, source_path: job.source_path } : input;
}

/** Other topics of its page a job must know; those of other pages it need not. */
const isElsewhere = (topic: Fields, job: Job) => topic.id !== job.topic_id && topic.source_path !== job.source_path;

/** The refusal when the input names another topic, page or persona than the job's. */
function strays(name: string, input: Fields, job: Job): string | undefined {
  const other = (what: string, mine: string | null) => `this job works on ${mine}, not on another ${what}`;
  const topic = input.topic_id ?? (name === "reply_topic" ? input.id : undefined);
  if (topic !== undefined && topic !== job.topic_id) return other("topic", job.topic_id);
  if (input.source_path !== undefined && input.source_path !== job.source_path) return other("page", job.source_path);
  const persona = input.persona ?? (name === "get_persona" ? input.name : undefined);
  if (persona !== undefined && persona !== job.persona_name) return other("persona", job.persona_name);
  return undefined;
}
