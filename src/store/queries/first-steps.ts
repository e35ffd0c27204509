import type { Query } from "../database.ts";

/** Whether a person has opened a topic, started a job, approved a proposal, and started a run. */
export async function workOf(query: Query, person: string) {
  const [topic, job, approval, run] = await Promise.all([
    query.selectFrom("topics").select("id").where("created_by", "=", person).limit(1).execute(),
    query.selectFrom("agent_jobs").select("id").where("created_by", "=", person).limit(1).execute(),
    query
      .selectFrom("proposals")
      .select("id")
      .where("decided_by", "=", person)
      .where("status", "=", "approved")
      .limit(1)
      .execute(),
    query.selectFrom("runs").select("id").where("created_by", "=", person).limit(1).execute(),
  ]);
  return { topic: topic.length > 0, job: job.length > 0, approval: approval.length > 0, run: run.length > 0 };
}
