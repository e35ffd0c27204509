import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../database.ts";
import { crashPoint } from "../disk/crash.ts";
import { isTemporary } from "../disk/disk.ts";
import { type QueuedVersion, queuedForBranch, removeQueued } from "../queries/git-queue.ts";
import { formatOf, nullId } from "./blob.ts";
import { branchRef, ownBookBranch } from "./book-branch.ts";
import { importCommits, importFiles, type Start } from "./fast-import.ts";
import type { FileMode, Git } from "./git.ts";
import { holdingRef, publishCommits } from "./publish-commits.ts";
import { importSigned, type SignCommit } from "./signed-import.ts";
import { inStoredForm } from "./stored-form.ts";

type Row = QueuedVersion;
type Committed = Map<string, { mode: FileMode; blob: string }>;

const lockTries = 40;
const lockPauseMs = 50;
const mostTries = 10;

/** A branch for what is in these folders of the workspace, beside the person's. */
export type BookBranch = {
  /** `book_branch`, and where another workspace has it, its own (book-branch.ts). */
  setting: string;
  folders: string[];
};
export type BranchOptions = { sign?: SignCommit | undefined; book?: BookBranch | undefined };

/** The paths of a version, relative to the top of the repository. */
export const pathsOf = (row: Row, prefix: string) => ({
  path: prefix + row.path,
  movedFrom: row.moved_from === null ? undefined : prefix + row.moved_from,
});

/** Commits queued versions to the person's branch, and those of the wiki to its own. Returns the reason to wait. */
export async function recordBranch(db: Database, git: Git, { sign, book }: BranchOptions): Promise<string | undefined> {
  const queued = await queuedForBranch(db.read);
  if (queued.length === 0) return undefined;
  const branch = book && (await ownBookBranch(git, book.setting));
  // If the wiki's branch is checked out, commits to it also update the index, as on any other branch.
  const own = book && branch && (await git.head()).branch !== branchRef(branch) ? { ...book, branch } : undefined;
  const isBooked = ({ path }: Row) => own?.folders.some((folder) => path.startsWith(`${folder}/`)) ?? false;
  const booked = own && (await recordBook(db, git, queued.filter(isBooked), own, sign));
  const waits = await recordCheckedOut(
    db,
    git,
    queued.filter((row) => !isBooked(row)),
    sign,
  );
  return booked ?? waits;
}

/**
 * Commits to the person's branch. A person's own edit is left for the person to commit, unless an agent has written
 * on top of it. Nothing touches the branch while a rebase or merge is in progress, HEAD is detached or the index is
 * locked; nothing ever touches what the person has staged. What git ignores is not committed.
 */
async function recordCheckedOut(
  db: Database,
  git: Git,
  queued: Row[],
  sign: SignCommit | undefined,
): Promise<string | undefined> {
  if (!queued.some((row) => row.by_person === 0)) return undefined;

  for (let attempt = 1; ; attempt++) {
    const busy = await git.underWay();
    if (busy) return `${busy} is in progress`;
    const head = await git.head();
    if (!head.branch) return "HEAD is detached";
    // The index must follow the branch: otherwise the person's next commit would undo ours.
    const locked = await indexLock(git);
    if (locked) return `the git index is locked; if no git command is running, delete ${locked}`;

    const { prefix, committed, rows, modes } = await compare(git, queued, head.commit);
    const blobAt = (row: Row) => committed.get(prefix + row.path)?.blob;
    const settled = rows.filter((row) => !waitsForPerson(row, rows, blobAt(row)));
    const ignored = new Set(await git.ignored(settled.filter((row) => !blobAt(row)).map(({ path }) => path)));
    const placeAt = (row: Row) => committed.get(prefix + (row.moved_from ?? row.path))?.blob;
    const isFitting = (row: Row) => fits(row, rows, { now: blobAt(row), before: placeAt(row) });
    const fitting = settled.filter((row) => !ignored.has(row.path) && isFitting(row));
    const wanted = fitting.filter((row) => !isCommitted(row, rows, blobAt(row)));
    if (wanted.length > 0 && !(await moveBranch(git, head as Tip, wanted, prefix, modes, sign))) {
      if (attempt >= mostTries) return "the branch keeps changing";
      continue;
    }
    crashPoint("branch-moved");
    const waits = await followIndex(git, fitting, prefix, committed, modes);
    if (waits) return waits;
    crashPoint("index-followed");
    await removeRows(db, settled);
    return undefined;
  }
}

/** Commits to the wiki's branch, people's edits included. HEAD, the index and other branches are not read or changed. */
async function recordBook(
  db: Database,
  git: Git,
  queued: Row[],
  book: BookBranch & { branch: string },
  sign: SignCommit | undefined,
): Promise<string | undefined> {
  if (queued.length === 0) return undefined;
  const branch = branchRef(book.branch);
  for (let attempt = 1; ; attempt++) {
    const elsewhere = await git.text(["for-each-ref", "--format=%(worktreepath)", branch]);
    if (elsewhere !== "") return `the branch ${book.branch} is checked out in ${elsewhere}; check out another there`;
    const tip = await git.commitAt(branch);
    const start = { held: await holdingRef(git, "recorder"), from: tip ?? (await forkPoint(git, book)) };
    const first = await withFirstFiles(git, start, book.folders, tip === undefined);
    const from = first.commit;
    const { prefix, committed, rows, modes } = await compare(git, queued, from);
    const wanted = rows.filter((row) => !isCommitted(row, rows, committed.get(prefix + row.path)?.blob));
    const commit = await commitRows(git, { ...start, from }, wanted, prefix, modes, sign);
    crashPoint("book-imported");
    const made = { held: start.held, to: commit ?? "", from: tip, files: [...first.files, ...filesOf(wanted, prefix)] };
    if (commit === tip || (commit && (await publishCommits(git, branch, made, reason)))) break;
    if (attempt >= mostTries) return `the branch ${book.branch} keeps changing`;
  }
  crashPoint("book-moved");
  await removeRows(db, queued);
  return undefined;
}

/** Where a branch begins that another workspace has under the name of the setting: at the tip of that one. */
const forkPoint = async (git: Git, { branch, setting }: BookBranch & { branch: string }) =>
  branch === setting ? undefined : git.commitAt(branchRef(setting));

/**
 * Makes a branch complete from its start: one that is new, or has none of the files of the folders, gets them all as
 * they are in the work tree.
 */
async function withFirstFiles(
  git: Git,
  { from: tip, held }: Start,
  folders: string[],
  isNew: boolean,
): Promise<{ commit: string | undefined; files: string[][] }> {
  const { prefix } = await git.place();
  const own = folders.map((folder) => prefix + folder);
  const options = ["--literal-pathspecs", "ls-tree", "-r", "-z", "--name-only", "--full-tree"];
  const there = tip ? await git.list([...options, tip, "--", ...own]) : [];
  if (there.length > 0 && !isNew) return { commit: tip, files: [] };
  const root = join(await git.top(), prefix);
  const found = await Promise.all(folders.map((folder) => filesIn(root, folder)));
  const paths = found.flat();
  const blobs = await git.storeFiles(paths);
  const files = await Promise.all(
    paths.map(async (path, at) => ({
      path: prefix + path,
      blob: blobs[at] ?? "",
      mode: await git.modeOf(prefix + path),
    })),
  );
  if (files.length === 0) return { commit: tip, files: [] };
  const gone = there.filter((path) => !files.some((file) => file.path === path));
  const commit = await importFiles(
    git,
    { from: tip, held },
    { files, gone },
    "Begin the wiki on a branch of its own\n",
  );
  return { commit, files: [files.map(({ path }) => path)] };
}

async function filesIn(root: string, folder: string): Promise<string[]> {
  const found = await readdir(join(root, folder), { recursive: true, withFileTypes: true }).catch(() => []);
  return found
    .filter((item) => item.isFile() && !isTemporary(item.name))
    .map((item) => relative(root, join(item.parentPath, item.name)).split(sep).join("/"))
    .sort();
}

/** The queued versions as git stores them, beside what a commit has. */
async function compare(git: Git, queued: Row[], commit: string | undefined) {
  const { prefix } = await git.place();
  const named = queued.flatMap((row) => Object.values(pathsOf(row, prefix)));
  const paths = [...new Set(named.filter((path) => path !== undefined))];
  const committed: Committed = commit ? await git.filesAt(commit, paths) : new Map();
  const rows = await inStoredForm(git, queued, prefix, (path) => committed.has(prefix + path));
  return { prefix, committed, rows, modes: await modesOf(git, paths, committed) };
}

const removeRows = (db: Database, rows: Row[]) =>
  db.write((tx) =>
    removeQueued(
      tx,
      rows.map(({ seq }) => seq),
    ),
  );

/** The path of the index's lock, if it stays. */
async function indexLock(git: Git): Promise<string | undefined> {
  const lock = join((await git.place()).gitDir, "index.lock");
  for (let attempt = 1; existsSync(lock); attempt++) {
    if (attempt >= lockTries) return lock;
    await sleep(lockPauseMs);
  }
  return undefined;
}

/** A person's version waits until HEAD has it or an agent has written on top of it. */
const waitsForPerson = (row: Row, rows: Row[], atHead: string | undefined) =>
  row.by_person === 1 &&
  !isCommitted(row, rows, atHead) &&
  !rows.some((later) => continues(later, row) && later.seq > row.seq && later.by_person === 0);

/** True for a later version of the same file, also under another name. */
const continues = (later: Row, row: Row) => later.path === row.path || later.moved_from === row.path;

/** True when HEAD has this version or a later queued one. */
const isCommitted = (row: Row, rows: Row[], atHead: string | undefined) =>
  rows.some((later) => later.path === row.path && later.seq >= row.seq && later.blob === atHead);

/** False for an approved text, or a moved page, when someone has since committed another: history has it, the branch keeps theirs. */
const fits = (row: Row, rows: Row[], atHead: { now: string | undefined; before: string | undefined }) =>
  row.only_on === null ||
  row.only_on === atHead.before ||
  isCommitted(row, rows, atHead.now) ||
  rows.some((earlier) => earlier.path === row.path && earlier.seq < row.seq && earlier.blob === row.only_on);

/** Committed files keep their mode; new ones get the mode of the file. */
async function modesOf(git: Git, paths: string[], committed: Committed): Promise<Map<string, FileMode>> {
  const modes = new Map<string, FileMode>();
  for (const path of paths) modes.set(path, committed.get(path)?.mode ?? (await git.modeOf(path)));
  return modes;
}

type Tip = { branch: string; commit?: string };

async function moveBranch(
  git: Git,
  head: Tip,
  rows: Row[],
  prefix: string,
  modes: Map<string, FileMode>,
  sign: SignCommit | undefined,
): Promise<boolean> {
  const start = { from: head.commit, held: await holdingRef(git, "recorder") };
  const to = await commitRows(git, start, rows, prefix, modes, sign);
  crashPoint("branch-imported");
  if (to === undefined) return false;
  return publishCommits(git, head.branch, { ...start, to, files: filesOf(rows, prefix) }, reason);
}

const reason = "scriptorium: record";

/** The files of each commit. */
const filesOf = (rows: Row[], prefix: string) =>
  groupsOf(rows).map((group) => group.map((row) => pathsOf(row, prefix).path));

/** The versions of each commit: those of a group are queued in one transaction, so they follow each other. */
function groupsOf(rows: Row[]): [Row, ...Row[]][] {
  const groups: [Row, ...Row[]][] = [];
  for (const row of rows) {
    const last = groups.at(-1);
    if (last && row.commit_group !== null && last[0].commit_group === row.commit_group) last.push(row);
    else groups.push([row]);
  }
  return groups;
}

async function commitRows(
  git: Git,
  start: Start,
  rows: Row[],
  prefix: string,
  modes: Map<string, FileMode>,
  sign: SignCommit | undefined,
): Promise<string | undefined> {
  if (rows.length === 0) return start.from;
  const fileOf = (row: Row) => {
    const paths = pathsOf(row, prefix);
    return { ...paths, blob: row.blob, bytes: undefined, mode: modes.get(paths.path) ?? ("100644" as const) };
  };
  const commits = groupsOf(rows).map(([row, ...others]) => ({
    ...fileOf(row),
    author: row.author,
    message: row.message,
    at: row.at,
    also: others.map(fileOf),
  }));
  return sign ? importSigned(git, start, commits, sign) : importCommits(git, start, commits);
}

/**
 * Updates the person's index, which still names the old blobs: their next commit would undo ours. Only entries
 * that equal the old HEAD or an earlier version are updated; anything they staged stays.
 */
async function followIndex(
  git: Git,
  rows: Row[],
  prefix: string,
  before: Committed,
  modes: Map<string, FileMode>,
): Promise<string | undefined> {
  const latest = new Map<string, string | undefined>();
  for (const row of rows) {
    const { path, movedFrom } = pathsOf(row, prefix);
    if (movedFrom !== undefined) latest.set(movedFrom, undefined);
    latest.set(path, row.blob);
  }
  if (latest.size === 0) return undefined;
  const staged = await stagedFiles(git, [...latest.keys()]);
  const moves = [...latest].flatMap(([path, blob]) => {
    const now = staged.get(path);
    if (blob === undefined) {
      // After a crash, HEAD has the move already and the old path no longer.
      const isMoved = rows.some((row) => pathsOf(row, prefix).movedFrom === path && row.blob === now?.blob);
      const isOurs = now !== undefined && (isMoved || now.blob === before.get(path)?.blob);
      return isOurs ? [`0 ${nullId(formatOf(now.blob))}\t${path}\0`] : [];
    }
    const isEarlier = (row: Row) => row.base === (now?.blob ?? null) || (now && row.only_on === now.blob);
    const known =
      rows.some((row) => prefix + row.path === path && isEarlier(row)) || now?.blob === before.get(path)?.blob;
    return known && now?.blob !== blob ? [`${now?.mode ?? modes.get(path)} ${blob} 0\t${path}\0`] : [];
  });
  if (moves.length === 0) return undefined;
  for (let attempt = 1; ; attempt++) {
    const { code, stderr } = await git.updateIndex(moves.join(""));
    if (code === 0) return undefined;
    if (attempt >= lockTries) return `the git index cannot be written: ${stderr.trim()}`;
    await sleep(lockPauseMs);
  }
}

async function stagedFiles(git: Git, paths: string[]): Promise<Map<string, { mode: string; blob: string }>> {
  const literal = paths.map((path) => `:(top,literal)${path}`);
  const lines = await git.list(["ls-files", "-s", "-z", "--full-name", "--", ...literal]);
  return new Map(
    lines.flatMap((line) => {
      const [, mode, blob, path] = /^(\d+) (\w+) 0\t(.+)$/s.exec(line) ?? [];
      return mode && blob && path ? [[path, { mode, blob }] as const] : [];
    }),
  );
}
