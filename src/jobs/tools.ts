import { join } from "node:path";
import type { Toolset } from "../agents/runner.ts";
import { type Caller, newTurn } from "../kernel/caller.ts";
import type { Operation } from "../kernel/operation.ts";
import { onlySteps, type Result, refuse } from "../kernel/result.ts";
import type { Job } from "./job.ts";
import type { JobsApp } from "./jobs-app.ts";

/** The operations that each kind of job may call. */
const toolNames: Record<Job["kind"], readonly string[]> = {
  incorporate: ["get_topic", "list_open_topics", "insert_proposal", "reply_topic"],
  perspective: ["get_persona", "put_perspective"],
  recheck: ["get_passage", "search_evidence", "read_evidence", "report_recheck"],
};

/** The operations of all kinds of jobs; agents may call them without naming a role. */
export const jobOperations: ReadonlySet<string> = new Set(Object.values(toolNames).flat());

type Fields = Record<string, unknown>;

/**
 * The operations of one job, restricted to its topic, page, persona and passage, while it runs. The same restriction
 * applies to the MCP tools of a scratch folder and to `scribe` in a workspace.
 */
export function jobTools(app: JobsApp, job: Job, operations: readonly Operation<JobsApp>[]): Toolset {
  const names = toolNames[job.kind];
  const caller: Caller = { kind: "agent", role: "agent", job: job.id, turn: newTurn(undefined, true) };
  return {
    operations: operations.filter((operation) => names.includes(operation.name)),
    async call(name, raw, key): Promise<Result<unknown>> {
      const operation = operations.find((known) => known.name === name);
      if (!operation || !names.includes(name)) {
        return refuse("denied", `a job of kind ${job.kind} may not call ${name}; its tools are ${names.join(", ")}`);
      }
      const now = await app.jobs.find(job.id);
      if (now?.status !== "running") return refuse("denied", `job ${job.id} has ended; its tools no longer work`);
      const input = withPagePath(app, job, { ...(raw as Fields) });
      const stray = outsideOf(name, input, job);
      if (stray) return refuse("denied", stray);
      const result = await operation.perform(app, input, caller, app.idempotency.once(key));
      const elsewhere = name === "get_topic" && result.ok && isElsewhere(result.value as Fields, job);
      if (elsewhere) return refuse("denied", `this job works on ${job.source_path}, not on other pages`);
      return result.ok ? result : { ok: false, problem: onlySteps(result.problem, (step) => names.includes(step)) };
    },
  };
}

/** Translates the page's file in the prompt to its path, which operations expect. */
function withPagePath(app: JobsApp, job: Job, input: Fields): Fields {
  const given = input.source_path;
  if (typeof given !== "string" || !given.startsWith("/")) return input;
  const isOurs = given === join(app.config.root, job.source_path) || given.endsWith(`/${job.source_path}`);
  return isOurs ? { ...input, source_path: job.source_path } : input;
}

/** A job may see the other topics of its page, but none of other pages. */
const isElsewhere = (topic: Fields, job: Job) => topic.id !== job.topic_id && topic.source_path !== job.source_path;

/** The reason why an input is outside this job; undefined when it is not. */
function outsideOf(name: string, input: Fields, job: Job): string | undefined {
  const other = (what: string, mine: string | null) => `this job works on ${mine}, not on other ${what}s`;
  const topic = input.topic_id ?? (name === "reply_topic" ? input.id : undefined);
  if (topic !== undefined && topic !== job.topic_id) return other("topic", job.topic_id);
  if (input.source_path !== undefined && input.source_path !== job.source_path) return other("page", job.source_path);
  const persona = input.persona ?? (name === "get_persona" ? input.name : undefined);
  if (persona !== undefined && persona !== job.persona_name) return other("persona", job.persona_name);
  if (input.passage !== undefined && input.passage !== job.passage) return other("passage", job.passage);
  return undefined;
}
