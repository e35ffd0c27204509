import type { GitPackRow, RunBranchRow } from "../crew-tables.ts";
import type { Query } from "../database.ts";
import { parseJsonOr } from "../json.ts";

/** A commit of a run in the record: its pack, and the commits whose packs have what this one leaves out. */
export type StoredCommit = { commit: string; pack: string; needs: string[]; isBase: boolean };

export const findRunBranch = (query: Query, run: string): Promise<RunBranchRow | undefined> =>
  query.selectFrom("run_branches").selectAll().where("run_id", "=", run).executeTakeFirst();

/** Keeps the row that is there, if any. */
export const insertRunBranch = (tx: Query, row: RunBranchRow) =>
  tx
    .insertInto("run_branches")
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .execute();

/** False if the accepted work is no longer at `from`. */
export async function moveRunBranch(tx: Query, run: string, to: string, from: string): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable("run_branches")
    .set({ accepted_id: to })
    .where("run_id", "=", run)
    .where("accepted_id", "=", from)
    .executeTakeFirst();
  return Number(numUpdatedRows) === 1;
}

export const deleteRunBranch = (tx: Query, run: string) =>
  tx.deleteFrom("run_branches").where("run_id", "=", run).execute();

export async function storedCommits(query: Query, run: string): Promise<StoredCommit[]> {
  const rows = await query.selectFrom("run_commits").selectAll().where("run_id", "=", run).execute();
  return rows.map(({ commit_id, pack_id, needs, is_base }) => ({
    commit: commit_id,
    pack: pack_id,
    needs: parseJsonOr<string[]>(needs, []),
    isBase: is_base === 1,
  }));
}

export async function insertStoredCommit(
  tx: Query,
  run: string,
  { commit, pack, needs, isBase }: StoredCommit,
): Promise<void> {
  await tx
    .insertInto("run_commits")
    .values({
      run_id: run,
      commit_id: commit,
      pack_id: pack,
      needs: JSON.stringify(needs),
      is_base: isBase ? 1 : 0,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** The pack with which another run that started from this commit stored it. */
export async function packOfBase(query: Query, commit: string): Promise<string | undefined> {
  const row = await query
    .selectFrom("run_commits")
    .select("pack_id")
    .where("commit_id", "=", commit)
    .where("is_base", "=", 1)
    .limit(1)
    .executeTakeFirst();
  return row?.pack_id;
}

export const findPack = (query: Query, id: string): Promise<GitPackRow | undefined> =>
  query.selectFrom("git_packs").selectAll().where("id", "=", id).executeTakeFirst();

/** Begins a pack. One that is there already stays; if it is incomplete, it counts as begun now. */
export const insertPack = (tx: Query, row: GitPackRow) =>
  tx
    .insertInto("git_packs")
    .values(row)
    .onConflict((conflict) =>
      conflict.column("id").doUpdateSet({ created_at: row.created_at }).where("git_packs.complete", "=", 0),
    )
    .execute();

/** A pack's id is the checksum of its bytes, so that a chunk which is there already is the same. */
export const insertChunk = (tx: Query, pack: string, num: number, data: Buffer) =>
  tx
    .insertInto("git_pack_chunks")
    .values({ pack_id: pack, num, data })
    .onConflict((conflict) => conflict.doNothing())
    .execute();

/** Keeps a pack from being deleted until the transaction ends; false if it is not there, or not complete. */
export async function lockCompletePack(tx: Query, id: string): Promise<boolean> {
  const update = tx.updateTable("git_packs").set({ complete: 1 }).where("id", "=", id).where("complete", "=", 1);
  return Number((await update.executeTakeFirst()).numUpdatedRows) === 1;
}

/** False if the pack was deleted. */
export async function completePack(tx: Query, id: string): Promise<boolean> {
  const update = tx.updateTable("git_packs").set({ complete: 1 }).where("id", "=", id);
  return Number((await update.executeTakeFirst()).numUpdatedRows) === 1;
}

export async function readChunk(query: Query, pack: string, num: number): Promise<Buffer | undefined> {
  const row = await query
    .selectFrom("git_pack_chunks")
    .select("data")
    .where("pack_id", "=", pack)
    .where("num", "=", num)
    .executeTakeFirst();
  return row && Buffer.from(row.data);
}

/** Deletes the commits of a run, and packs that no run needs. Packs that were begun after `before` may be in use. */
export async function deleteCommitsOf(tx: Query, run: string, before: string): Promise<number> {
  await tx.deleteFrom("run_commits").where("run_id", "=", run).execute();
  const { numDeletedRows } = await tx
    .deleteFrom("git_packs")
    .where((x) =>
      x.not(
        x.exists(
          x.selectFrom("run_commits").select("run_commits.run_id").whereRef("run_commits.pack_id", "=", "git_packs.id"),
        ),
      ),
    )
    .where((x) => x.or([x("complete", "=", 1), x("created_at", "<", before)]))
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/** The number of bytes of packs that only this run needs. */
export async function packBytesOf(query: Query, run: string): Promise<number> {
  const rows = await query
    .selectFrom("git_packs")
    .innerJoin("run_commits", "run_commits.pack_id", "git_packs.id")
    .select(["git_packs.id", "git_packs.bytes"])
    .where("run_commits.run_id", "=", run)
    .distinct()
    .execute();
  return rows.reduce((sum, { bytes }) => sum + Number(bytes), 0);
}
