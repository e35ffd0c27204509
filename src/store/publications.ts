import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type Database, type Query, UnknownOutcome, undoesWrites } from "./database.ts";
import { crashPoint } from "./disk/crash.ts";
import {
  discard,
  publishFile,
  readIfThere,
  removeFile,
  type Sweep,
  stagedFile,
  stageFile,
  stagingOf,
  statOf,
  sweepTemporary,
  syncFolderOf,
} from "./disk/disk.ts";
import { blobOf, isBlob, type ObjectFormat } from "./git/blob.ts";
import type { Git } from "./git/git.ts";
import { pendingFiles, type QueuedFile } from "./queries/git-queue.ts";

/**
 * Files that a transaction writes. Publishing before the commit would let a refused write take effect later: the
 * file would stay after a failed COMMIT and be taken for an edit. The order is:
 *
 *   stage (fsync file and folder) ──▶ COMMIT, with the staged name in git_queue ──▶ rename
 *
 * The commit decides. Before it the staged file is garbage; after it the file is renamed by the writer or, after a
 * crash or an I/O error, by the next reader, start or recorder. A staged name that is gone was published: the rename
 * removes it. A person's edit that arrives between commit and rename stays in the file and becomes the next version.
 * A file that moves (`moved_from` in git_queue) is removed from its old place before the rename: while the staged name
 * exists, its bytes are safe and the move can be repeated.
 */
export interface Publications {
  /** A transaction that may stage files. They are published after the commit, or discarded. */
  write<T>(work: (tx: Query, stage: Stage) => Promise<T>, how?: { isLong: boolean }): Promise<T>;
  /**
   * The bytes of a file as the transaction sees it, which may still be staged; undefined when the file holds neither
   * them nor the bytes that they replace.
   */
  latest(path: string, tx?: Query): Promise<{ bytes: Buffer | undefined } | undefined>;
  /** Publishes what other processes or an earlier failure left, of one file or of all. */
  finish(path?: string): Promise<"none" | "done" | "failed">;
  /** The same for rows of the queue, durably: they may be removed afterwards. Throws when a file cannot be written. */
  settle(rows: QueuedFile[]): void;
  /** Removes the temporary files that a crash left in a folder, except those that wait to be published. */
  sweep(folder: string, how?: Pick<Sweep, "recursive">): Promise<number>;
}

/** A file that waits for the commit of its transaction. */
export type StagedFile = {
  /** Relative to the workspace. */
  path: string;
  /** The base name of the temporary file. */
  staged: string;
  blob: string;
  /** The blob of the bytes that it replaces; null for a new file. */
  replaces: string | null;
  /** The stat that the file will have. */
  stat: string;
  /** The path that the file had before. */
  moved_from: string | null;
};

/** Stages the bytes of a file that now holds `held`, or that is at `movedFrom`. */
export type Stage = (path: string, bytes: Buffer, held: Buffer | undefined, movedFrom?: string) => StagedFile;

const inUseMs = 60_000;

export function publications(db: Database, git: Git, root: string): Publications {
  const fileOf = (path: string) => join(root, path);
  const temporaryOf = ({ path, staged }: Waiting) => stagedFile(fileOf(path), staged, root);
  const isWaiting = (file: Waiting) => existsSync(temporaryOf(file));

  function stage(format: ObjectFormat, ...[path, bytes, held, movedFrom]: Parameters<Stage>): StagedFile {
    const temporary = stageFile(fileOf(path), bytes, root);
    try {
      // Without this, a power failure after the commit could lose the name and with it the proof that it waits.
      syncFolderOf(temporary, root);
    } catch (error) {
      discard(temporary);
      throw error;
    }
    const replaces = held === undefined ? null : blobOf(held, format);
    return {
      path,
      staged: basename(temporary),
      blob: blobOf(bytes, format),
      replaces,
      stat: statOf(temporary),
      moved_from: movedFrom ?? null,
    };
  }

  /** False when the file holds anything else than what is replaced. */
  function publish(file: Waiting): boolean {
    if (!isWaiting(file)) return true;
    if (file.moved_from !== null) removeMoved(file.moved_from, file.blob);
    const held = readIfThere(fileOf(file.path), root);
    if (held && isBlob(held, file.blob)) discard(temporaryOf(file));
    else if (!holds(held, file.replaces) || !publishFile(temporaryOf(file), fileOf(file.path), held, root))
      return false;
    return true;
  }

  /** A file that a person has edited meanwhile stays. */
  function removeMoved(path: string, blob: string): void {
    const held = readIfThere(fileOf(path), root);
    if (!held || !isBlob(held, blob)) return;
    removeFile(fileOf(path), root);
    crashPoint("file-moved");
  }

  /** In the order of their commits; a file that was edited meanwhile keeps the edit. */
  function publishAll(files: Waiting[]): void {
    for (const file of files) if (!publish(file)) discard(temporaryOf(file));
  }

  async function finish(path?: string): Promise<"none" | "done" | "failed"> {
    const waiting = (await pendingFiles(db.read, path)).filter(isWaiting);
    if (waiting.length === 0) return "none";
    try {
      publishAll(waiting);
      return "done";
    } catch {
      // The rows stay: the next reader tries again, and the recorder reports the reason.
      return "failed";
    }
  }

  return {
    async write(work, how) {
      let staged: StagedFile[] = [];
      const format = await git.objectFormat();
      const discardStaged = () => {
        for (const file of staged.splice(0)) discard(temporaryOf(file));
      };
      const value = await db
        .write((tx) => {
          // A transaction that the database has undone and repeats stages again.
          discardStaged();
          return work(tx, (...args) => {
            const file = stage(format, ...args);
            staged.push(file);
            return file;
          });
        }, how)
        .catch((error: unknown) => {
          // If it was committed after all, its files have to be published.
          if (!(error instanceof UnknownOutcome)) discardStaged();
          throw error;
        });
      crashPoint("version-committed");
      if (undoesWrites(value)) discardStaged();
      // A write that was committed before this one may still have to be published first.
      for (const file of staged) if (!tryPublish(() => publish(file))) await finish(file.path);
      staged = [];
      return value;
    },

    async latest(path, tx = db.read) {
      const waiting = (await pendingFiles(tx, path)).filter(isWaiting);
      const [first, last] = [waiting[0], waiting.at(-1)];
      const held = readIfThere(fileOf(path), root);
      if (!first || !last) return { bytes: held };
      if (!holds(held, first.replaces)) return undefined;
      return { bytes: readIfThere(temporaryOf(last), root) ?? readIfThere(fileOf(path), root) };
    },

    finish,

    settle(rows) {
      const files = rows.flatMap(({ staged, ...row }) => (staged === null ? [] : [{ ...row, staged }]));
      publishAll(files);
      const paths = files.flatMap(({ path, moved_from }) => (moved_from === null ? [path] : [path, moved_from]));
      const folders = new Map(paths.map((path) => [dirname(path), path]));
      for (const path of folders.values()) syncFolderOf(fileOf(path), root);
    },

    async sweep(folder, how) {
      await finish();
      const kept = new Set((await pendingFiles(db.read)).map(({ staged }) => staged));
      const staging = await sweepTemporary(stagingOf(root), { olderThanMs: inUseMs, kept });
      return staging + (await sweepTemporary(folder, { olderThanMs: inUseMs, kept, ...how }));
    },
  };
}

type Waiting = Pick<StagedFile, "path" | "staged" | "blob" | "replaces" | "moved_from">;

/** The write is committed and must no longer be refused: a failure is left to `finish`. */
function tryPublish(publish: () => boolean): boolean {
  try {
    return publish();
  } catch {
    return false;
  }
}

/** A file that was deleted counts as empty. */
const holds = (held: Buffer | undefined, blob: string | null) =>
  blob === null ? held === undefined : isBlob(held ?? "", blob);
