import type { Selectable } from "kysely";
import type { Query } from "../database.ts";
import { prepared } from "../prepared.ts";
import type { GitQueueRow } from "../tables.ts";

/** File versions that the recorder (git/recorder.ts) writes into git. */

export type QueuedVersion = Selectable<GitQueueRow>;
export type NewQueuedVersion = Omit<GitQueueRow, "seq" | "in_history">;

export const insertQueued = prepared<NewQueuedVersion, unknown>((query, slot) =>
  query.insertInto("git_queue").values({
    path: slot("path"),
    blob: slot("blob"),
    base: slot("base"),
    content: slot("content"),
    appended: slot("appended"),
    author: slot("author"),
    by_person: slot("by_person"),
    message: slot("message"),
    at: slot("at"),
    only_on: slot("only_on"),
  }),
);

/** The queued content of a blob; undefined when git has it. */
export const queuedContent = (query: Query, blob: string) =>
  query
    .selectFrom("git_queue")
    .select(["content", "base", "appended"])
    .where("blob", "=", blob)
    .where("content", "is not", null)
    .executeTakeFirst();

/** Whether the recorder has work. A person's edit that history has is left for the person to commit. */
export async function hasQueued(query: Query): Promise<boolean> {
  const row = await query
    .selectFrom("git_queue")
    .select("seq")
    .where((where) => where.or([where("in_history", "=", 0), where("by_person", "=", 0)]))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** The number of versions that history does not have yet. */
export async function countUnrecorded(query: Query): Promise<number> {
  const { count } = await query
    .selectFrom("git_queue")
    .select((q) => q.fn.countAll<number>().as("count"))
    .where("in_history", "=", 0)
    .executeTakeFirstOrThrow();
  return Number(count);
}

export const queuedForHistory = (query: Query, limit: number): Promise<QueuedVersion[]> =>
  query.selectFrom("git_queue").selectAll().where("in_history", "=", 0).orderBy("seq").limit(limit).execute();

export const queuedForBranch = (query: Query): Promise<QueuedVersion[]> =>
  query.selectFrom("git_queue").selectAll().where("in_history", "=", 1).orderBy("seq").execute();

/** Marks versions that history has; their content is in git now. */
export async function markInHistory(tx: Query, seqs: number[]): Promise<void> {
  await tx.updateTable("git_queue").set({ in_history: 1, content: null }).where("seq", "in", seqs).execute();
}

export async function removeQueued(tx: Query, seqs: number[]): Promise<void> {
  await tx.deleteFrom("git_queue").where("seq", "in", seqs).execute();
}
