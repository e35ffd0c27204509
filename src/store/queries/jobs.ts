import { sql } from "kysely";
import { clockByNow } from "../clock.ts";
import type { Database, Query } from "../database.ts";
import type { JobRow } from "../tables.ts";

type Engine = Database["engine"];

/** False when a job for the same page is in flight. */
export async function insertJob(tx: Query, row: JobRow): Promise<boolean> {
  const made = await tx
    .insertInto("agent_jobs")
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returning("id")
    .executeTakeFirst();
  return made !== undefined;
}

export const findJob = (query: Query, id: string): Promise<JobRow | undefined> =>
  query.selectFrom("agent_jobs").selectAll().where("id", "=", id).executeTakeFirst();

export const jobsOf = (query: Query, sourcePath: string | undefined, limit: number): Promise<JobRow[]> =>
  query
    .selectFrom("agent_jobs")
    .selectAll()
    .$if(sourcePath !== undefined, (q) => q.where("source_path", "=", sourcePath ?? ""))
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(limit)
    .execute();

export const jobsInFlight = (query: Query): Promise<JobRow[]> =>
  query
    .selectFrom("agent_jobs")
    .selectAll()
    .where("status", "in", ["queued", "running"])
    .orderBy("created_at")
    .orderBy("id")
    .execute();

/** Starts the oldest queued job of `holder`, unless `most` jobs run, in any process. */
export async function claimJob(
  tx: Query,
  engine: Engine,
  { holder, most, at }: { holder: string; most: number; at: string },
): Promise<JobRow | undefined> {
  // SQLite has one writer; on PostgreSQL two claims would not see each other's count.
  if (engine === "postgres") await sql`SELECT pg_advisory_xact_lock(hashtext('agent_jobs'))`.execute(tx);
  const { running } = await tx
    .selectFrom("agent_jobs")
    .select((q) => q.fn.countAll<number>().as("running"))
    .where("status", "=", "running")
    .executeTakeFirstOrThrow();
  if (Number(running) >= most) return undefined;
  const next = await tx
    .selectFrom("agent_jobs")
    .select("id")
    .where("status", "=", "queued")
    .where("holder", "=", holder)
    .orderBy("created_at")
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
  if (!next) return undefined;
  return tx
    .updateTable("agent_jobs")
    .set({ status: "running", started_at: at, beat_at: clockByNow[engine] })
    .where("id", "=", next.id)
    .where("status", "=", "queued")
    .returningAll()
    .executeTakeFirst();
}

/** Takes over queued jobs without a holder. */
export async function adoptJobs(tx: Query, engine: Engine, holder: string): Promise<void> {
  await tx
    .updateTable("agent_jobs")
    .set({ holder, beat_at: clockByNow[engine] })
    .where("status", "=", "queued")
    .where("holder", "is", null)
    .execute();
}

export async function beatJobs(tx: Query, engine: Engine, holder: string): Promise<void> {
  await tx
    .updateTable("agent_jobs")
    .set({ beat_at: clockByNow[engine] })
    .where("status", "in", ["queued", "running"])
    .where("holder", "=", holder)
    .execute();
}

/** Ends a job that is in one of these states; undefined when it is not. */
export const endJob = (
  tx: Query,
  id: string,
  from: JobRow["status"][],
  ended: Partial<JobRow>,
): Promise<JobRow | undefined> =>
  tx
    .updateTable("agent_jobs")
    .set(ended)
    .where("id", "=", id)
    .where("status", "in", from)
    .returningAll()
    .executeTakeFirst();
