import { setTimeout as sleep } from "node:timers/promises";
import { Refused } from "../../kernel/result.ts";
import { storageProblem } from "../../kernel/storage-problem.ts";
import type { Database } from "../database.ts";
import { crashPoint } from "../disk/crash.ts";
import { openLock } from "../disk/lock.ts";
import { type ChainHead, chainHead, formatHead, headTrailer } from "../event-chain.ts";
import { outsideCalls } from "../idempotency.ts";
import type { Publications } from "../publications.ts";
import { hasQueued, markInHistory, type QueuedVersion, queuedForHistory } from "../queries/git-queue.ts";
import { setMeta } from "../queries/meta.ts";
import { type BranchOptions, pathsOf, recordBranch } from "./branch.ts";
import { type Commit, importCommits } from "./fast-import.ts";
import type { Git } from "./git.ts";
import { historyRefOf } from "./history-ref.ts";
import { holdingRef, publishCommits, whyUnsafe } from "./publish-commits.ts";
import { GitError } from "./run-git.ts";

/**
 * Turns queued versions into git commits, in order, one process at a time.
 *
 *   queued ──▶ the history ref       every version, immediately: the source of `entry history` and of a
 *     │        (history-ref.ts)      rebuilt index
 *     └──────▶ the person's branch   versions by agents, so that `git log` shows them;
 *              (branch.ts)           with `book_branch`, versions of the wiki on that branch
 *
 * A version is acknowledged before it is here, and stays queued while git cannot take it: `waits` says why.
 */
export interface Recorder {
  /** Records the queue. `waits` is the reason why git does not have all of it, if any. */
  record(): Promise<{ recorded: number; waits: string | undefined }>;
  /** Records, and retries for `patienceMs` while another process holds the lock. Returns why git does not have all of it. */
  drain(patienceMs: number): Promise<string | undefined>;
  /** Runs `work` while no process records; undefined when another one does. */
  exclusively<T>(work: () => Promise<T>): Promise<T | undefined>;
}

/** The commit that the history ref was last moved to: tells a ref that was deleted or reset, and where it was. */
export const historyTip = "history_tip";
const batchSize = 500;
const otherProcess = "another process is writing the git history";

type Row = QueuedVersion;
type Outcome = { recorded: number; waits: string | undefined };

type Deps = BranchOptions & { db: Database; git: Git; publications: Publications; lockFile: string };

export function openRecorder({ db, git, publications, lockFile, ...options }: Deps): Recorder {
  const record = () => outsideCalls(recordAll);

  async function recordAll(): Promise<Outcome> {
    if (!(await hasQueued(db.read, options.book !== undefined))) return { recorded: 0, waits: undefined };
    const lock = openLock(lockFile);
    if (!lock) return { recorded: 0, waits: otherProcess };
    let recorded = 0;
    try {
      for (;;) {
        const unsafe = await whyUnsafe(git);
        if (unsafe) return { recorded, waits: unsafe };
        const fresh = await recordHistory(db, git, publications);
        if (typeof fresh === "string") return { recorded, waits: fresh };
        const waits = await recordBranch(db, git, options);
        recorded += fresh;
        if (fresh < batchSize) return { recorded, waits };
      }
    } catch (error) {
      // The versions are acknowledged and stay queued: a caller whose write succeeded must not see a failure.
      const problem = storageProblem(error);
      if (problem)
        return { recorded, waits: `git cannot be written (${problem.details?.reason}): ${(error as Error).message}` };
      if (error instanceof GitError || error instanceof Refused) return { recorded, waits: error.message };
      throw error;
    } finally {
      lock.release();
    }
  }

  return {
    record,
    async exclusively(work) {
      const lock = openLock(lockFile);
      if (!lock) return undefined;
      try {
        return await work();
      } finally {
        lock.release();
      }
    },
    async drain(patienceMs) {
      const until = performance.now() + patienceMs;
      for (;;) {
        const { waits } = await record();
        if (waits !== otherProcess || performance.now() > until) return waits;
        await sleep(20);
      }
    },
  };
}

/** The number of versions, or why they wait. */
async function recordHistory(
  db: Database,
  git: Git,
  publications: Publications,
  attempt = 1,
): Promise<number | string> {
  const rows = await queuedForHistory(db.read, batchSize);
  if (rows.length === 0) return 0;
  try {
    publications.settle(rows);
  } catch (error) {
    return `a file of the workspace cannot be written: ${(error as Error).message}`;
  }

  const [{ prefix }, ref] = await Promise.all([git.place(), historyRefOf(git)]);
  const tip = await git.commitAt(ref);
  const already = tip ? await newestCommits(git, tip, rows.length, prefix) : new Set<string>();
  let recorded = tip;
  const missing = rows.filter((row) => !already.has(`${subjectOf(row)} ${row.blob} ${prefix}${row.path}`));
  if (missing.length > 0) {
    const head = await chainHead(db);
    const commits = (await withBytes(git, prefix, missing)).map((row) => ({ ...row, message: withHead(row, head) }));
    const held = await holdingRef(git, "recorder");
    recorded = await importCommits(git, { from: tip, held }, commits);
    crashPoint("history-imported");
    const made = { held, to: recorded, from: tip, files: commits.map(({ path }) => [path]) };
    if (!(await publishCommits(git, ref, made))) {
      if (attempt >= 10) throw new GitError(`${ref} is locked or keeps changing`, undefined, "");
      return recordHistory(db, git, publications, attempt + 1);
    }
    crashPoint("history-moved");
  }
  await db.write(async (tx) => {
    await markInHistory(
      tx,
      rows.map(({ seq }) => seq),
    );
    if (recorded) await setMeta(tx, historyTip, recorded);
  });
  crashPoint("history-marked");
  return rows.length;
}

/**
 * A process may have died after its import and before it marked the rows: commits at the tip are not repeated.
 * Another workspace of the repository may have added its own since.
 */
async function newestCommits(git: Git, tip: string, count: number, prefix: string): Promise<Set<string>> {
  const raw = ["--raw", "--no-abbrev", "--no-renames"];
  const own = prefix === "" ? [] : ["--", `:(top,literal)${prefix}`];
  const found = await git.text(["log", "-n", String(count), "--format=%x01%s", ...raw, tip, ...own]);
  return new Set(
    found.split("\u0001").flatMap((commit) => {
      const [subject, ...changes] = commit.split("\n");
      return changes.flatMap((line) => {
        const [, blob, path] = /^:\d+ \d+ \w+ (\w+) [AM]\t(.+)$/.exec(line) ?? [];
        return blob && path ? [`${subject} ${blob} ${path}`] : [];
      });
    }),
  );
}

/** The message is made before its transaction commits, when the event has no position yet. It ends with trailers. */
const withHead = ({ message }: Commit, head: ChainHead | undefined) =>
  head ? `${message.trimEnd()}\n${headTrailer}: ${formatHead(head)}\n` : message;

const subjectOf = (row: Row) => row.message.split("\n", 1)[0];

async function withBytes(git: Git, prefix: string, rows: Row[]): Promise<Commit[]> {
  const texts = new Map<string, Buffer>();
  const commits: Commit[] = [];
  for (const row of rows) {
    let bytes = row.content ?? Buffer.alloc(0);
    if (row.appended && row.base) {
      const start = texts.get(row.base) ?? (await git.readBlob(row.base));
      if (!start)
        throw new Error(`git object ${row.base} is missing: the version of ${row.path} that a line was appended to`);
      bytes = Buffer.concat([start, bytes]);
      texts.delete(row.base);
    }
    texts.set(row.blob, bytes);
    commits.push({ ...row, ...pathsOf(row, prefix), bytes, mode: await git.modeOf(prefix + row.path) });
  }
  return commits;
}
