import { setTimeout as sleep } from "node:timers/promises";
import { processName, processState } from "../../kernel/process-name.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Database, Query } from "../../store/database.ts";
import { crashPoint } from "../../store/disk/crash.ts";
import type { Git } from "../../store/git/git.ts";
import { parseJsonOr } from "../../store/json.ts";
import { moveRunBranch } from "../../store/queries/git-packs.ts";
import { acceptedMoveKey, findMeta, replaceMeta, setMeta, unfinishedRerunKey } from "../../store/queries/meta.ts";
import { lockRun } from "../../store/queries/runs.ts";
import { acceptedBranch } from "../rules/branches.ts";

/** The last move of a run's accepted branch; `by` is the process that has yet to move it in git, or null. */
type LastMove = { from: string; to: string; by: string | null };
type Wanted = {
  from: string;
  to: string;
  /** The last move on record when `from` was read. */
  last: string | undefined;
  reason: string;
  /** Only the set-back of a rerun moves the branch before the rerun is finished. */
  isRerun: boolean;
};

const pauseMs = 25;
/** How long a living process may take between its transaction and git. */
const mostPauses = 400;

type Deps = {
  db: Database;
  git: Git;
  /** True where the database says where the accepted work stands. */
  isStored: () => boolean;
  oneAfterTheOther<T>(work: () => Promise<T>): Promise<T>;
};

/**
 * Moves of accepted branches. The transaction that accepts a task decides: it records the move, git follows, and
 * whoever reads the branch after a crash makes up for it. Otherwise a task that a person cancels in between would be on
 * the branch, or an accepted one would be missing.
 */
export function acceptedMoves({ db, git, isStored, oneAfterTheOther }: Deps) {
  const refOf = (run: string) => `refs/heads/${acceptedBranch(run)}`;

  /** Brings git up to the last recorded move, which is returned as it is stored. */
  async function follow(run: string): Promise<Result<string | undefined>> {
    for (let pauses = 0; ; pauses++) {
      const stored = await findMeta(db.read, acceptedMoveKey(run));
      const by = lastMove(stored)?.by ?? null;
      if (by === null) return ok(stored);
      // Two processes must not both move it: the later one could undo a rerun that was done in between.
      const isOthers = by !== processName() && processState(by) !== "gone";
      if (isOthers && pauses < mostPauses) await sleep(pauseMs);
      else {
        const moved = await oneAfterTheOther(() => moveInGit(run));
        if (!moved.ok) return moved;
      }
    }
  }

  async function moveInGit(run: string): Promise<Result<true>> {
    const stored = await findMeta(db.read, acceptedMoveKey(run));
    const move = lastMove(stored);
    if (stored === undefined || !move || move.by === null) return ok(true);
    const { from, to } = move;
    const there = await git.commitAt(refOf(run));
    const hasMoved = there !== undefined && there !== from && (await git.isAncestor(to, there));
    if (!hasMoved && !(await git.moveRef(refOf(run), to, there === undefined ? null : from)))
      return refuse(
        "conflict",
        `${acceptedBranch(run)} was moved to ${there} by hand while a task was accepted; set it to the accepted work with: git branch -f ${acceptedBranch(run)} ${to}`,
      );
    await db.write((tx) => replaceMeta(tx, acceptedMoveKey(run), stored, JSON.stringify({ ...move, by: null })));
    return ok(true);
  }

  return {
    follow,

    /** Where the accepted work stands once git has followed, for those who only look. */
    async recorded(run: string): Promise<string | undefined> {
      const move = lastMove(await findMeta(db.read, acceptedMoveKey(run)));
      return move?.by ? move.to : git.commitAt(refOf(run));
    },

    /**
     * Moves the accepted work in the transaction in which `decide` accepts it: both happen, or neither. False if the
     * accepted work has moved or a rerun is unfinished. `to` equals `from` if the work is there already.
     */
    async moveWith(
      run: string,
      { from, to, last, reason, isRerun }: Wanted,
      decide: (tx: Query) => Promise<Result<unknown>>,
    ): Promise<Result<boolean>> {
      let hasChanged = false;
      const changed = () => {
        hasChanged = true;
        return refuse("conflict", `the accepted work of run ${run} changed; nothing was saved`);
      };
      const done = await db.write(async (tx): Promise<Result<unknown>> => {
        hasChanged = false;
        await lockRun(tx, db.engine, run);
        if (!isRerun && (await findMeta(tx, unfinishedRerunKey(run))) !== undefined) return changed();
        if (!isStored() && (await findMeta(tx, acceptedMoveKey(run))) !== last) return changed();
        const decided = await decide(tx);
        if (!decided.ok) return decided;
        if (isStored()) return (await moveRunBranch(tx, run, to, from)) ? ok(true) : changed();
        const move: LastMove = { from, to, by: processName() };
        if (from !== to) await setMeta(tx, acceptedMoveKey(run), JSON.stringify(move));
        return ok(true);
      });
      if (hasChanged) return ok(false);
      if (!done.ok) return done;
      crashPoint("accept-recorded");
      if (!isStored()) {
        const followed = await follow(run);
        return followed.ok ? ok(true) : followed;
      }
      await git.moveRef(refOf(run), to, (await git.commitAt(refOf(run))) ?? null, { reason });
      return ok(true);
    },
  };
}

const lastMove = (stored: string | undefined) =>
  stored === undefined ? undefined : parseJsonOr<LastMove | undefined>(stored, undefined);
