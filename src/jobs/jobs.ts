import { endSurvivors } from "../agents/survivors.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { WireData } from "../kernel/wire.ts";
import { storeClock } from "../store/clock.ts";
import type { Database, Query } from "../store/database.ts";
import { appendEvent, type NewEvent } from "../store/events.ts";
import { parseJsonOr } from "../store/json.ts";
import { noSuch } from "../store/no-such.ts";
import {
  adoptJobs,
  beatJobs,
  claimJob,
  endJob,
  findJob,
  insertJob,
  jobsInFlight,
  jobsOf,
} from "../store/queries/jobs.ts";
import { isGone } from "./holder.ts";
import { type Job, type JobOutcome, restarted } from "./job.ts";

type Deps = { db: Database; now(): Date; newId(prefix: string): string };

export type NewJob = Pick<Job, "kind" | "source_path" | "topic_id" | "persona_name" | "passage"> & { by: string };

export type JobUsage = Pick<
  Job,
  | "input_tokens"
  | "output_tokens"
  | "cache_read_tokens"
  | "cache_write_tokens"
  | "tool_calls"
  | "messages"
  | "cost_usd"
  | "duration_ms"
  | "destinations"
>;

const nothingSpent: JobUsage = {
  input_tokens: null,
  output_tokens: null,
  cache_read_tokens: null,
  cache_write_tokens: null,
  tool_calls: null,
  messages: null,
  cost_usd: null,
  duration_ms: null,
  destinations: null,
};

const noticeMs = 10_000;
const survivorGraceMs = 2000;

/** The life cycle of jobs; the queue runs them. Each step is one guarded update with its event. */
export function jobStore({ db, now, newId }: Deps) {
  /** The holder of jobs that are started in this process, if it runs jobs. */
  let holder: string | null = null;
  let canRun = async (): Promise<Result<unknown>> => ok(undefined);

  const tell = (tx: Query, job: Job, kind: NewEvent["kind"], actor: string, data: WireData = {}) =>
    appendEvent(tx, {
      at: now().toISOString(),
      actor,
      kind,
      subject: `job:${job.id}`,
      data: {
        kind: job.kind,
        source_path: job.source_path,
        topic_id: job.topic_id,
        persona_name: job.persona_name,
        ...(job.passage === null ? {} : { passage: job.passage }),
        ...data,
      },
    });

  async function end(
    id: string,
    from: Job["status"][],
    outcome: JobOutcome,
    actor: string,
    spent = nothingSpent,
  ): Promise<Job | undefined> {
    return db.write(async (tx) => {
      const ended = await endJob(tx, id, from, { ...outcome, ...spent, completed_at: now().toISOString() });
      if (ended) {
        const { status, exit_code, message, cost_usd } = ended;
        const destinations = parseJsonOr(ended.destinations ?? "null", null);
        await tell(tx, ended, "job-settled", actor, { status, exit_code, message, cost_usd, destinations });
      }
      return ended;
    });
  }

  const ageOf = (job: Job) => now().getTime() - Date.parse(job.created_at);

  const failure = (message: string, tail: string): JobOutcome => ({
    status: "failed",
    exit_code: null,
    error_tail: tail,
    message,
  });

  return {
    /** Makes this process the holder of jobs that it starts from now on, unless `check` refuses. */
    heldBy(process: string, check: () => Promise<Result<unknown>>) {
      holder = process;
      canRun = check;
    },

    async start({ by, ...asked }: NewJob): Promise<Result<Job>> {
      const runnable = await canRun();
      if (!runnable.ok) return runnable;
      const row: Job = {
        ...asked,
        ...nothingSpent,
        id: newId("j"),
        status: "queued",
        started_at: null,
        completed_at: null,
        exit_code: null,
        error_tail: null,
        created_at: now().toISOString(),
        created_by: by,
        message: null,
        holder,
        beat_at: null,
        cancelled_by: null,
      };
      for (let attempt = 1; ; attempt++) {
        const made = await db.write(async (tx) => {
          if (!(await insertJob(tx, row))) return false;
          await tell(tx, row, "job-queued", by);
          return true;
        });
        if (made) return ok(row);
        // The job in flight may belong to a dead process: fail it and try again.
        if (attempt > 1 || (await this.sweep({ source: asked.source_path })).length === 0) break;
      }
      const [other] = (await jobsInFlight(db.read)).filter((job) => job.source_path === asked.source_path);
      return refuse("conflict", `a job for ${asked.source_path} is already running; wait for it or cancel it`, {
        ...(other ? { job_id: other.id, job_status: other.status } : {}),
      });
    },

    find: (id: string) => findJob(db.read, id),
    list: (sourcePath: string | undefined, limit: number) => jobsOf(db.read, sourcePath, limit),
    inFlight: () => jobsInFlight(db.read),

    async claim(by: string, most: number): Promise<Job | undefined> {
      return db.write(async (tx) => {
        const job = await claimJob(tx, db.engine, { holder: by, most, at: now().toISOString() });
        if (job) await tell(tx, job, "job-started", job.created_by);
        return job;
      });
    },

    adopt: (by: string) => db.write((tx) => adoptJobs(tx, db.engine, by)),
    beat: (by: string) => db.write((tx) => beatJobs(tx, db.engine, by)),

    settle: (id: string, outcome: JobOutcome, spent: JobUsage) => end(id, ["running"], outcome, "agent", spent),

    /** Ends a queued job, or marks a running one as cancelled for its holder. */
    async cancel(id: string, by: string): Promise<Result<Job>> {
      const found = await findJob(db.read, id);
      if (!found) return noSuch(db.read, "job", id);
      const dropped = await end(id, ["queued"], failure(`Cancelled by ${by}.`, `cancelled by ${by}`), by);
      if (dropped) return ok(dropped);
      const marked = await db.write(async (tx) => {
        const job = await endJob(tx, id, ["running"], { cancelled_by: by });
        if (job) await tell(tx, job, "job-cancelled", by);
        return job;
      });
      return marked ? ok(marked) : refuse("conflict", `job ${id} has ended: it ${wordFor(await findJob(db.read, id))}`);
    },

    /** Fails a queued job that this process will not start. */
    drop: (id: string) =>
      end(
        id,
        ["queued"],
        failure("The server stopped before it started this job. Start the job again.", "server stopped"),
        "server",
      ),

    /** Fails the jobs of dead processes (R14) and ends the agents they left (V9). Nothing is queued again. */
    async sweep(only: { source?: string; status?: Job["status"] } = {}): Promise<Job[]> {
      const rows = (await jobsInFlight(db.read)).filter(
        (job) => job.source_path === (only.source ?? job.source_path) && job.status === (only.status ?? job.status),
      );
      if (rows.length === 0) return [];
      const clock = await storeClock(db.read, db.engine);
      // A job that was handed to a server has no holder until the server notices it.
      const handedOver = (job: Job) => only.source !== undefined && job.holder === null && ageOf(job) < noticeMs;
      const left = rows.filter(
        (job) => !handedOver(job) && isGone(job.holder, job.beat_at === null ? null : Number(job.beat_at), clock),
      );
      const said = "The server restarted while this job was running. Start the job again.";
      const swept = await Promise.all(
        left.map(async (job) => {
          // First, because the page is free for another agent as soon as the job has failed.
          await endSurvivors(job.id, survivorGraceMs);
          return end(job.id, ["queued", "running"], failure(said, restarted), "server");
        }),
      );
      return swept.filter((job) => job !== undefined);
    },
  };
}

export type JobStore = ReturnType<typeof jobStore>;

const wordFor = (job: Job | undefined) => (job?.status === "timed_out" ? "took too long" : (job?.status ?? "is gone"));
