import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { appendFile, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../../kernel/log.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Database, Query } from "../../store/database.ts";
import type { Git } from "../../store/git/git.ts";
import { addPack, chunksOf, isObjectId, type PackFile, writePack } from "../../store/git/packs.ts";
import {
  completePack,
  deleteCommitsOf,
  deleteRunBranch,
  findPack,
  findRunBranch,
  insertChunk,
  insertPack,
  insertRunBranch,
  insertStoredCommit,
  lockCompletePack,
  packBytesOf,
  packOfBase,
  readChunk,
  type StoredCommit,
  storedCommits,
} from "../../store/queries/git-packs.ts";
import { acceptedBranch } from "../rules/branches.ts";
import { acceptedMoves } from "./accepted-moves.ts";

/** Small enough for one row, and for a worker with little memory. */
const chunkBytes = 512 * 1024;
/** Chunks of a pack whose writer was killed are deleted after this time. */
const staleMs = 24 * 60 * 60_000;

type Deps = {
  db: Database;
  git: Git;
  now(): Date;
  log: Log;
  config: {
    crew: { packs: "auto" | "always" | "never"; pack_mb: number };
    stateFolder: string;
  };
};

/** The file that marks a repository which `scriptorium work` created: it has only what packs brought. */
export const workerFile = "worker.json";

/**
 * The commits of runs in the database, as git packs: what an attempt made is stored before its result is recorded, so
 * that a stage on any machine can fetch it. Where the accepted work of a run stands is in the database too, and
 * branches follow it. With one machine and SQLite it is off, and branches of the repository are the record.
 */
export function openRunPacks({ db, git, now, log, config }: Deps) {
  const isOn = () => config.crew.packs === "always" || (config.crew.packs === "auto" && db.engine === "postgres");
  const isWorkers = () => existsSync(join(config.stateFolder, workerFile));
  const refOf = (run: string) => `refs/heads/${acceptedBranch(run)}`;
  const maxBytes = () => config.crew.pack_mb * 1024 * 1024;

  let last: Promise<unknown> = Promise.resolve();
  /** Two fetches at once would bring the same packs twice. */
  function oneAfterTheOther<T>(work: () => Promise<T>): Promise<T> {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  }

  /** Records the commit that a run starts from, and stores its files, without its history. */
  async function begin(run: string, start: () => Promise<string>): Promise<Result<true>> {
    if (await findRunBranch(db.read, run)) return ok(true);
    if (isWorkers())
      return refuse(
        "refused",
        `run ${run} has not been started on a machine with the repository, so its files are missing`,
      );
    const base = (await git.commitAt(refOf(run))) ?? (await start());
    const stored = await storeBase(run, base);
    if (!stored.ok) log.warn({ run, problem: stored.problem.message }, "base-not-stored");
    await db.write((tx) => insertRunBranch(tx, { run_id: run, base_id: base, accepted_id: base }));
    return ok(true);
  }

  async function storeBase(run: string, commit: string): Promise<Result<true>> {
    const link = (tx: Query, pack: string) => insertStoredCommit(tx, run, { commit, pack, needs: [], isBase: true });
    const known = await packOfBase(db.read, commit);
    const isLinked =
      known !== undefined &&
      (await db
        .write((tx) => link(tx, known))
        .then(
          () => true,
          // The last run with this pack was cleaned meanwhile.
          () => false,
        ));
    if (isLinked) return ok(true);
    return withPack({ commit, without: [], shallow: commit }, (pack) => store(pack, (tx) => link(tx, pack.id)));
  }

  /** Stores a commit of a run, unless it is there. Commits of the run that are recorded already are left out. */
  async function publish(run: string, commit: string): Promise<Result<true>> {
    const row = await findRunBranch(db.read, run);
    if (!row) return refuse("refused", `run ${run} has no base commit on record`);
    const stored = await storedCommits(db.read, run);
    if (commit === row.base_id || stored.some((one) => one.commit === commit)) return ok(true);
    const since = new Set((await git.text(["rev-list", commit, `^${row.base_id}`])).split("\n"));
    if (!since.has(commit)) return ok(true);
    const known = [row.base_id, ...stored.map((one) => one.commit).filter((one) => since.has(one))];
    const needs = (await git.text(["merge-base", "--independent", ...known])).split("\n");
    return withPack({ commit, without: needs, shallow: row.base_id }, (pack) =>
      store(pack, (tx) => insertStoredCommit(tx, run, { commit, pack: pack.id, needs, isBase: false })),
    );
  }

  async function withPack(
    wanted: Parameters<typeof writePack>[2],
    use: (pack: PackFile) => Promise<Result<true>>,
  ): Promise<Result<true>> {
    const folder = join(config.stateFolder, "packs", randomUUID());
    try {
      return await use(await writePack(git, folder, wanted));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** The pack counts once `link` is committed; what a killed process wrote of it before is deleted later. */
  async function store({ id, file, bytes }: PackFile, link: (tx: Query) => Promise<void>): Promise<Result<true>> {
    if (bytes > maxBytes())
      return refuse(
        "invalid",
        `the files take ${megabytes(bytes)} MB as a git pack, and the maximum is ${config.crew.pack_mb} MB (crew.pack_mb)`,
      );
    const chunks = Math.ceil(bytes / chunkBytes);
    const linkIf = async (isLocked: boolean, tx: Query) => {
      if (isLocked) await link(tx);
      return isLocked;
    };
    // `run clean` deletes a pack once its last run is gone, also while it is stored here for another one.
    for (;;) {
      const isThere = await db.write(async (tx) => {
        await insertPack(tx, { id, bytes, chunks, complete: 0, created_at: now().toISOString() });
        return linkIf(await lockCompletePack(tx, id), tx);
      });
      if (isThere) return ok(true);
      try {
        await storeChunks({ id, file, bytes });
      } catch (error) {
        if (await findPack(db.read, id)) throw error;
        continue;
      }
      if (await db.write(async (tx) => linkIf(await completePack(tx, id), tx))) return ok(true);
    }
  }

  async function storeChunks({ id, file, bytes }: PackFile): Promise<void> {
    let num = 0;
    for await (const chunk of chunksOf(file, chunkBytes)) {
      const at = num++;
      await db.write((tx) => insertChunk(tx, id, at, chunk));
      if (num % 64 === 0) log.info({ pack: id, mb: megabytes(num * chunkBytes), of: megabytes(bytes) }, "pack-stored");
    }
  }

  /** Brings commits of a run into this repository, each after those that it needs. */
  const fetch = (run: string, commits: readonly string[]): Promise<Result<true>> =>
    oneAfterTheOther(async () => {
      const missing = [];
      for (const commit of commits) if (!(await isHere(commit))) missing.push(commit);
      if (missing.length === 0) return ok(true);
      const stored = new Map((await storedCommits(db.read, run)).map((one) => [one.commit, one]));
      for (const commit of missing) {
        const found = await bring(run, commit, stored);
        if (!found.ok) return found;
      }
      return ok(true);
    });

  async function bring(run: string, commit: string, stored: ReadonlyMap<string, StoredCommit>): Promise<Result<true>> {
    if (await isHere(commit)) return ok(true);
    const found = stored.get(commit);
    if (!found) return refuse("not_found", await whyNotStored(run, commit));
    // A history that ends early would confuse git in a person's clone, e.g. when they fetch.
    if (found.isBase && !isWorkers())
      return refuse(
        "refused",
        `this clone lacks commit ${commit}, which run ${run} started from; run git fetch here, or start scriptorium work --database in an empty folder`,
      );
    for (const needed of found.needs) {
      const there = await bring(run, needed, stored);
      if (!there.ok) return there;
    }
    const pack = await findPack(db.read, found.pack);
    if (!pack) return refuse("not_found", `the database has lost the files of commit ${commit} of run ${run}`);
    if (found.isBase) await endHistoryAt(commit);
    await addPack(git, pack.id, chunksIn(pack.id, pack.chunks), { isChecked: !found.isBase });
    return (await isHere(commit))
      ? ok(true)
      : refuse("not_found", `the pack ${pack.id} in the database lacks commit ${commit} of run ${run}`);
  }

  async function whyNotStored(run: string, commit: string): Promise<string> {
    if ((await findRunBranch(db.read, run))?.base_id !== commit)
      return `commit ${commit} of run ${run} is neither here nor in the database`;
    return `the files that run ${run} started from are not in the database, because they exceed crew.pack_mb; raise it, or work in a clone that has commit ${commit}`;
  }

  async function* chunksIn(pack: string, count: number): AsyncGenerator<Buffer> {
    for (let num = 0; num < count; num++) {
      const chunk = await readChunk(db.read, pack, num);
      if (!chunk) throw new Error(`chunk ${num} of the pack ${pack} is missing in the database`);
      yield chunk;
    }
  }

  const isHere = async (commit: string) => isObjectId(commit) && (await git.commitAt(commit)) !== undefined;

  /** Before the commit is there, so that git never misses its parents. */
  async function endHistoryAt(commit: string): Promise<void> {
    const file = join((await git.place()).commonDir, "shallow");
    const known = (await readFile(file, "utf8").catch(() => "")).split("\n");
    if (!known.includes(commit)) await appendFile(file, `${commit}\n`);
  }

  /** The accepted work of a run, with its commit in this repository; undefined if none is on record. */
  async function accepted(run: string, { setBranch }: { setBranch: boolean }): Promise<Result<string | undefined>> {
    const row = await findRunBranch(db.read, run);
    if (!row) return ok(undefined);
    const local = await git.commitAt(refOf(run));
    if (local === row.accepted_id) return ok(local);
    const there = await fetch(run, [row.accepted_id]);
    if (!there.ok) return there;
    // Another process of this machine may set it too: the next call corrects it then.
    if (setBranch || row.accepted_id !== row.base_id)
      await git.moveRef(refOf(run), row.accepted_id, local ?? null, { reason: "scriptorium: accepted work" });
    return ok(row.accepted_id);
  }

  const moves = acceptedMoves({ db, git, isStored: isOn, oneAfterTheOther });

  return {
    /** Brings the branch up to the last recorded move. */
    follow: moves.follow,
    moveWith: moves.moveWith,
    /** False where the branches of this repository are the record. */
    isOn,
    /** True in a repository that `scriptorium work` made: it has only what packs brought. */
    isWorkers,
    begin,
    publish,
    fetch,
    accepted,

    /** The accepted work on this machine, for those who only look: undefined if there is none or it cannot be fetched. */
    async acceptedHere(run: string): Promise<string | undefined> {
      if (!isOn()) return moves.recorded(run);
      const found = await accepted(run, { setBranch: false });
      return found.ok ? (found.value ?? git.commitAt(refOf(run))) : undefined;
    },

    /** Brings what attempts delivered, for those who only look: what cannot be fetched is missing then. */
    async bringAttempts(run: string, attempts: readonly { commit_id: string | null }[]): Promise<void> {
      if (!isOn()) return;
      await accepted(run, { setBranch: false });
      for (const { commit_id: commit } of attempts) if (commit !== null) await fetch(run, [commit]);
    },

    /** True if files were accepted. */
    async hasAccepted(run: string): Promise<boolean> {
      const row = await findRunBranch(db.read, run);
      return row !== undefined && row.accepted_id !== row.base_id;
    },

    /** What the packs of a run take in the database, some of them shared with other runs. */
    bytes: (run: string) => packBytesOf(db.read, run),

    /** Deletes the stored commits of a run in a transaction, with the packs that no other run needs. */
    async remove(tx: Query, run: string): Promise<void> {
      await deleteRunBranch(tx, run);
      await deleteCommitsOf(tx, run, new Date(now().getTime() - staleMs).toISOString());
    },
  };
}

export type RunPacks = ReturnType<typeof openRunPacks>;

const megabytes = (bytes: number) => Math.ceil(bytes / 1024 / 1024);
