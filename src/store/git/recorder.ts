import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../database.ts";
import { crashPoint } from "../disk/crash.ts";
import { openLock } from "../disk/lock.ts";
import {
  hasQueued,
  markInHistory,
  type QueuedVersion,
  queuedForBranch,
  queuedForHistory,
  removeQueued,
} from "../queries/git-queue.ts";
import { type Commit, importCommits } from "./fast-import.ts";
import type { Git } from "./git.ts";
import { importSigned, type SignCommit } from "./signed-import.ts";

/**
 * Turns queued versions into git commits, in order, one process at a time.
 *
 *   queued ──▶ refs/scriptorium/history    every version, immediately: the source of
 *     │                                    `entry history` and of a rebuilt index
 *     └──────▶ the person's branch         versions by agents, so that `git log` shows them
 *
 * A person's own edit is left for the person to commit, unless an agent has written on top of it.
 * Nothing touches the branch while a rebase or merge is in progress or HEAD is detached; nothing
 * ever touches what the person has staged.
 */
export interface Recorder {
  /** Records the queue. `waits` is the reason why the branch could not be moved, if any. */
  record(): Promise<{ recorded: number; waits: string | undefined }>;
  /** Records, and retries for `patienceMs` while another process holds the lock. Returns why the branch was not moved. */
  drain(patienceMs: number): Promise<string | undefined>;
}

export const historyRef = "refs/scriptorium/history";
const batchSize = 500;

type Row = QueuedVersion;
type Outcome = { recorded: number; waits: string | undefined };

export function openRecorder(db: Database, git: Git, lockFile: string, sign?: SignCommit): Recorder {
  async function record(): Promise<Outcome> {
    if (!(await hasQueued(db.read))) return { recorded: 0, waits: undefined };
    const lock = openLock(lockFile);
    if (!lock) return { recorded: 0, waits: "another process is writing the git history" };
    try {
      let recorded = 0;
      for (;;) {
        const fresh = await recordHistory(db, git);
        const waits = await recordBranch(db, git, sign);
        recorded += fresh;
        if (fresh < batchSize) return { recorded, waits };
      }
    } finally {
      lock.release();
    }
  }

  return {
    record,
    async drain(patienceMs) {
      const until = Date.now() + patienceMs;
      for (;;) {
        const { waits } = await record();
        if (waits !== "another process is writing the git history" || Date.now() > until) return waits;
        await sleep(20);
      }
    },
  };
}

async function recordHistory(db: Database, git: Git, attempt = 1): Promise<number> {
  const rows = await queuedForHistory(db.read, batchSize);
  if (rows.length === 0) return 0;

  const [{ prefix }, tip] = await Promise.all([git.place(), git.commitAt(historyRef)]);
  const already = tip ? await newestCommits(git, tip, rows.length) : new Set<string>();
  const missing = rows.filter((row) => !already.has(`${subjectOf(row)} ${row.blob} ${prefix}${row.path}`));
  if (missing.length > 0) {
    const commit = await importCommits(git, tip, await withBytes(git, prefix, missing));
    crashPoint("history-imported");
    if (!(await git.moveRef(historyRef, commit, tip ?? null))) {
      if (attempt >= 10) throw new Error(`${historyRef} is locked or keeps changing`);
      return recordHistory(db, git, attempt + 1);
    }
    crashPoint("history-moved");
  }
  await db.write((tx) =>
    markInHistory(
      tx,
      rows.map(({ seq }) => seq),
    ),
  );
  crashPoint("history-marked");
  return rows.length;
}

/** A process may have died after its import and before it marked the rows: commits at the tip are not repeated. */
async function newestCommits(git: Git, tip: string, count: number): Promise<Set<string>> {
  const raw = ["--raw", "--no-abbrev", "--no-renames"];
  const found = await git.text(["log", "-n", String(count), "--format=%x01%s", ...raw, tip]);
  return new Set(
    found.split("\u0001").flatMap((commit) => {
      const [, subject, blob, path] = /^(.*)\n\n:\d+ \d+ \w+ (\w+) \w\t(.+)\n?$/.exec(commit) ?? [];
      return blob && path ? [`${subject} ${blob} ${path}`] : [];
    }),
  );
}

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
    commits.push({ ...row, path: prefix + row.path, bytes });
  }
  return commits;
}

async function recordBranch(db: Database, git: Git, sign: SignCommit | undefined): Promise<string | undefined> {
  const rows = await queuedForBranch(db.read);
  if (!rows.some((row) => row.by_person === 0)) return undefined;

  for (let attempt = 1; ; attempt++) {
    const busy = await git.underWay();
    if (busy) return `${busy} is in progress`;
    const head = await git.head();
    if (!head.branch) return "HEAD is detached";

    const { prefix } = await git.place();
    const atHead = await blobsAt(git, head.commit, [...new Set(rows.map((row) => prefix + row.path))]);
    const settled = rows.filter((row) => !waitsForPerson(row, rows, atHead.get(prefix + row.path)));
    const fitting = settled.filter((row) => fits(row, rows, atHead.get(prefix + row.path)));
    const wanted = fitting.filter((row) => !isCommitted(row, rows, atHead.get(prefix + row.path)));
    if (wanted.length > 0 && !(await moveBranch(git, head as Tip, wanted, prefix, sign))) {
      if (attempt >= 10) return "the branch keeps changing";
      continue;
    }
    crashPoint("branch-moved");
    await followIndex(git, fitting, prefix, atHead);
    crashPoint("index-followed");
    await db.write((tx) =>
      removeQueued(
        tx,
        settled.map(({ seq }) => seq),
      ),
    );
    return undefined;
  }
}

/** A person's version waits until HEAD has it or an agent has written on top of it. */
const waitsForPerson = (row: Row, rows: Row[], atHead: string | undefined) =>
  row.by_person === 1 &&
  !isCommitted(row, rows, atHead) &&
  !rows.some((later) => later.path === row.path && later.seq > row.seq && later.by_person === 0);

/** True when HEAD has this version or a later queued one. */
const isCommitted = (row: Row, rows: Row[], atHead: string | undefined) =>
  rows.some((later) => later.path === row.path && later.seq >= row.seq && later.blob === atHead);

/** False for an approved text when someone has since committed another: history has it, the branch keeps theirs. */
const fits = (row: Row, rows: Row[], atHead: string | undefined) =>
  row.only_on === null ||
  row.only_on === atHead ||
  isCommitted(row, rows, atHead) ||
  rows.some((earlier) => earlier.path === row.path && earlier.seq < row.seq && earlier.blob === row.only_on);

type Tip = { branch: string; commit?: string };

async function moveBranch(git: Git, head: Tip, rows: Row[], prefix: string, sign: SignCommit | undefined) {
  const commits = rows.map((row) => ({ ...row, path: prefix + row.path, bytes: undefined }));
  const commit = await (sign
    ? importSigned(git, head.commit, commits, sign)
    : importCommits(git, head.commit, commits));
  crashPoint("branch-imported");
  return git.moveRef(head.branch, commit, head.commit ?? null, "scriptorium: record");
}

/**
 * Updates the person's index, which still names the old blobs: their next commit would undo ours. Only entries
 * that equal the old HEAD or an earlier version are updated; anything they staged stays.
 */
async function followIndex(git: Git, rows: Row[], prefix: string, before: Map<string, string>): Promise<void> {
  const latest = new Map(rows.map((row) => [prefix + row.path, row.blob]));
  const paths = [...latest.keys()];
  const listed = await git.text([
    "ls-files",
    "-s",
    "-z",
    "--full-name",
    "--",
    ...paths.map((path) => `:(top,literal)${path}`),
  ]);
  const staged = new Map(
    listed.split("\0").flatMap((line) => {
      const [, blob, path] = /^\d+ (\w+) 0\t(.+)$/s.exec(line) ?? [];
      return blob && path ? [[path, blob] as const] : [];
    }),
  );
  const moves = paths.flatMap((path) => {
    const now = staged.get(path);
    const known =
      rows.some((row) => prefix + row.path === path && (row.base ?? undefined) === now) || now === before.get(path);
    return known && now !== latest.get(path) ? [`100644 ${latest.get(path)} 0\t${path}\0`] : [];
  });
  if (moves.length === 0) return;
  for (let attempt = 1; ; attempt++) {
    const { code, stderr } = await git.updateIndex(moves.join(""));
    if (code === 0) return;
    if (attempt >= 40) throw new Error(`the git index stays locked: ${stderr.trim()}`);
    await sleep(50);
  }
}

async function blobsAt(git: Git, commit: string | undefined, paths: string[]): Promise<Map<string, string>> {
  if (!commit) return new Map();
  const asked = paths.map((path) => `${commit}:${path}\n`).join("");
  const answers = (await git.text(["cat-file", "--batch-check=%(objectname) %(objecttype)"], asked)).split("\n");
  return new Map(
    paths.flatMap((path, index) => {
      const [blob, type] = answers[index]?.split(" ") ?? [];
      return blob && type === "blob" ? [[path, blob] as const] : [];
    }),
  );
}
