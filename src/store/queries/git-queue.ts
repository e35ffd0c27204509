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
    moved_from: slot("moved_from"),
    staged: slot("staged"),
    replaces: slot("replaces"),
    commit_group: slot("commit_group"),
  }),
);

/** A queued version with the file that its transaction staged. */
export type QueuedFile = Pick<QueuedVersion, "path" | "staged" | "blob" | "replaces" | "moved_from">;

/** Files that may wait to be published, in the order of their commits. */
export async function pendingFiles(query: Query, path?: string): Promise<(QueuedFile & { staged: string })[]> {
  const rows = await query
    .selectFrom("git_queue")
    .select(["path", "staged", "blob", "replaces", "moved_from"])
    .where("staged", "is not", null)
    .$if(path !== undefined, (q) => q.where("path", "=", path ?? ""))
    .orderBy("seq")
    .execute();
  return rows as (QueuedFile & { staged: string })[];
}

/** The queued content of a blob; undefined when git has it. */
export const queuedContent = (query: Query, blob: string) =>
  query
    .selectFrom("git_queue")
    .select(["content", "base", "appended"])
    .where("blob", "=", blob)
    .where("content", "is not", null)
    .executeTakeFirst();

/** Whether the recorder has work. Unless `edits`, a person's edit that history has is left for the person to commit. */
export async function hasQueued(query: Query, edits: boolean): Promise<boolean> {
  const rows = query.selectFrom("git_queue").select("seq").limit(1);
  const wanted = rows.where((where) => where.or([where("in_history", "=", 0), where("by_person", "=", 0)]));
  return (await (edits ? rows : wanted).executeTakeFirst()) !== undefined;
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

/** The paths and blobs of versions that history does not have yet, oldest first. */
export const unrecordedVersions = (query: Query): Promise<Pick<QueuedVersion, "path" | "blob" | "moved_from">[]> =>
  query
    .selectFrom("git_queue")
    .select(["path", "blob", "moved_from"])
    .where("in_history", "=", 0)
    .orderBy("seq")
    .execute();

/** Marks versions that history has; their content is in git now. */
export async function markInHistory(tx: Query, seqs: number[]): Promise<void> {
  await tx
    .updateTable("git_queue")
    .set({ in_history: 1, content: null, staged: null })
    .where("seq", "in", seqs)
    .execute();
}

/** After a restore: the files are there, and the temporary ones of the other folder are not. */
export async function forgetStagedFiles(tx: Query): Promise<void> {
  await tx.updateTable("git_queue").set({ staged: null }).where("staged", "is not", null).execute();
}

export async function removeQueued(tx: Query, seqs: number[]): Promise<void> {
  await tx.deleteFrom("git_queue").where("seq", "in", seqs).execute();
}
