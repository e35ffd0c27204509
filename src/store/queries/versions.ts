import { batches } from "../batches.ts";
import type { Query } from "../database.ts";
import { prepared } from "../prepared.ts";
import type { EntryVersionRow } from "../tables.ts";

/** Newest first. */
export const versionsOf = (query: Query, id: string, limit: number) =>
  query
    .selectFrom("entry_versions")
    .select(["version", "author", "role", "run", "task", "epoch", "at", "summary"])
    .where("entry_id", "=", id)
    .orderBy("version", "desc")
    .limit(limit)
    .execute();

/** A version without its text. */
export type VersionRecord = Omit<EntryVersionRow, "content">;

/** Every version of every entry, oldest first. */
export const allVersions = (query: Query): Promise<VersionRecord[]> =>
  query
    .selectFrom("entry_versions")
    .select(["entry_id", "version", "blob", "appended", "author", "role", "run", "task", "epoch", "at", "summary"])
    .orderBy("entry_id")
    .orderBy("version")
    .execute();

export const findVersion = (query: Query, id: string, version: number) =>
  query
    .selectFrom("entry_versions")
    .selectAll()
    .where("entry_id", "=", id)
    .where("version", "=", version)
    .executeTakeFirst();

export async function hasVersion(query: Query, id: string, blob: string): Promise<boolean> {
  const found = query.selectFrom("entry_versions").select("version").where("entry_id", "=", id);
  return (await found.where("blob", "=", blob).limit(1).executeTakeFirst()) !== undefined;
}

/** The store that wrote the versions: the file store leaves their texts out of the rows. Undefined without versions. */
export async function writingStore(query: Query): Promise<"files" | "database" | undefined> {
  // One statement: with two, a version that another process commits between them counts as written by the files store.
  const versions = query.selectFrom("entry_versions").select("content");
  const version = await versions
    .orderBy((x) => x("content", "is", null))
    .limit(1)
    .executeTakeFirst();
  return version && (version.content === null ? "files" : "database");
}

/** The last full text up to `version`, then every append since, in order. */
export const contentsUpTo = (query: Query, id: string, version: number) =>
  query
    .selectFrom("entry_versions")
    .select(["version", "content"])
    .where("entry_id", "=", id)
    .where("version", "<=", version)
    .where("version", ">=", (sub) =>
      sub
        .selectFrom("entry_versions")
        .select((x) => x.fn.coalesce(x.fn.max("version"), x.lit(0)).as("start"))
        .where("entry_id", "=", id)
        .where("version", "<=", version)
        .where("appended", "=", 0),
    )
    .orderBy("version")
    .execute();

/** The versions of an entry with their contents, oldest first. */
export const entryContents = (query: Query, id: string) =>
  query
    .selectFrom("entry_versions")
    .select(["version", "blob", "content", "appended", "at"])
    .where("entry_id", "=", id)
    .orderBy("version")
    .execute();

/** Selects writes by the run, task, epoch and role of the agent that made them. */
export type WriterFilter = {
  run?: string | undefined;
  task?: string | undefined;
  epoch?: number | undefined;
  role?: string | undefined;
};

/** Every version of every entry that a matching agent has written to, oldest first. */
export const versionsOfEntriesWrittenBy = (query: Query, { run, task, epoch, role }: WriterFilter) => {
  const touched = query
    .selectFrom("entry_versions")
    .select("entry_id")
    .where("role", "is not", null)
    .$if(run !== undefined, (q) => q.where("run", "=", run ?? ""))
    .$if(task !== undefined, (q) => q.where("task", "=", task ?? ""))
    .$if(epoch !== undefined, (q) => q.where("epoch", "=", epoch ?? 0))
    .$if(role !== undefined, (q) => q.where("role", "=", role ?? ""));
  return query
    .selectFrom("entry_versions")
    .select(["entry_id", "version", "blob", "author", "role", "run", "task", "epoch", "summary"])
    .where("entry_id", "in", touched)
    .orderBy("entry_id")
    .orderBy("version")
    .execute();
};

export async function replaceVersions(tx: Query, versions: EntryVersionRow[]): Promise<void> {
  await tx.deleteFrom("entry_versions").execute();
  for (const batch of batches(versions, 500)) await tx.insertInto("entry_versions").values(batch).execute();
}

/** Inserts a version row, or replaces the one of that number. */
export async function writeVersion(tx: Query, row: EntryVersionRow): Promise<void> {
  const { entry_id, version } = row;
  await tx.deleteFrom("entry_versions").where("entry_id", "=", entry_id).where("version", "=", version).execute();
  await tx.insertInto("entry_versions").values(row).execute();
}

export const insertVersion = prepared<EntryVersionRow, unknown>((query, slot) =>
  query.insertInto("entry_versions").values({
    entry_id: slot("entry_id"),
    version: slot("version"),
    blob: slot("blob"),
    content: slot("content"),
    appended: slot("appended"),
    author: slot("author"),
    role: slot("role"),
    run: slot("run"),
    task: slot("task"),
    epoch: slot("epoch"),
    at: slot("at"),
    summary: slot("summary"),
  }),
);
