import type { Query } from "../database.ts";
import type { JobTranscriptRow } from "../tables.ts";

/** Adds entries to the transcript of a job. Only the process that runs the job writes it, and counts `n`. */
export async function appendJobTranscript(tx: Query, entries: readonly JobTranscriptRow[]): Promise<void> {
  if (entries.length > 0) await tx.insertInto("job_transcript").values(entries).execute();
}

type Page = { job: string; after?: number | undefined; before?: number | undefined; limit: number };

/** One page in order: the first entries after `after`, or the last before `before` or of all. */
export async function jobTranscriptPage(query: Query, { job, after, before, limit }: Page) {
  const forward = after !== undefined;
  const rows = await query
    .selectFrom("job_transcript")
    .select(["n", "at", "kind", "data"])
    .where("job_id", "=", job)
    .$if(forward, (q) => q.where("n", ">", after ?? 0))
    .$if(before !== undefined, (q) => q.where("n", "<", before ?? 0))
    .orderBy("n", forward ? "asc" : "desc")
    .limit(limit)
    .execute();
  return forward ? rows : rows.reverse();
}
