import { setTimeout as sleep } from "node:timers/promises";
import { ok, type Result, refuse, unwrap } from "../../kernel/result.ts";
import type { Query } from "../../store/database.ts";
import { crashPoint } from "../../store/disk/crash.ts";
import type { Git, Identity } from "../../store/git/git.ts";
import { mergeTree } from "../../store/git/merge-branch.ts";
import type { RunPacks } from "../record/run-packs.ts";
import { acceptedBranch, beforeRerunBranch } from "../rules/branches.ts";
import { acceptedRevert, restoredSince, revertMessage } from "./revert-files.ts";

export type Merged = { commit: string; already: boolean };
/** A merge that is not published yet: its commit and tree, and the accepted commit that it goes onto. */
export type Candidate = { commit: string; tree: string; onto: string };
type Move = { from: string; to: string };

type MergeSteps = {
  /** Refuses a candidate, which then changes nothing. */
  check?: (candidate: Candidate) => Promise<Result<true>>;
  /** Accepts the work in the transaction that moves the branch; refused, the branch stays. */
  accept?: (tx: Query) => Promise<Result<unknown>>;
};

type Deps = {
  git: Git;
  /** The record of moves and of commits; left out where branches of this repository are the only record. */
  packs: RunPacks | undefined;
  author: Identity;
};

const mostTries = 30;

/** The branch with the accepted work of each run: what merges into it and what a rerun takes out of it. */
export function acceptedWork({ git, packs, author }: Deps) {
  const stored = () => (packs?.isOn() ? packs : undefined);
  const acceptedRef = (run: string) => `refs/heads/${acceptedBranch(run)}`;
  const { treeOf } = git;

  const commitTree = (tree: string, parents: string[], message: string) =>
    git.commitTree(tree, parents, message, author);

  /** The tip of the run's accepted work; at first the person's HEAD. */
  const accepted = async (run: string): Promise<string> => (await tipOf(run)).tip;

  /** The tip, and the last move on record when it was read. */
  async function tipOf(run: string): Promise<{ tip: string; last: string | undefined }> {
    const begun = await stored()?.begin(run, newStart);
    if (begun) {
      const found = begun.ok ? await stored()?.accepted(run, { setBranch: true }) : begun;
      return { tip: (found && unwrap(found)) ?? (await newStart()), last: undefined };
    }
    const last = unwrap((await packs?.follow(run)) ?? ok(undefined));
    const there = await git.commitAt(acceptedRef(run));
    if (there) return { tip: there, last };
    const start = await newStart();
    const made = await git.moveRef(acceptedRef(run), start, null);
    return { tip: made ? start : await git.text(["rev-parse", acceptedRef(run)]), last };
  }

  async function newStart(): Promise<string> {
    const { commit } = await git.head();
    return commit ?? commitTree(await emptyTree(), [], "Begin");
  }

  const emptyTree = () => git.text(["hash-object", "-t", "tree", "-w", "--stdin"], "");

  /**
   * Work on top of accepted work. Of work that was built on what a rerun replaced or a revert took back, only its own
   * changes are taken.
   */
  async function join(run: string, tip: string, commit: string) {
    const acceptance = ["--all-match", "--grep=^Accept task ", `--grep=^Run: ${run}$`];
    const restored = await restoredSince(git, run, tip, commit);
    const since = restored ?? tip;
    const replaced = await git.lastCommit("--first-parent", ...acceptance, commit, `^${since}`, "--");
    // The reverted work is in the history of both: git would count the attempt's own files among it.
    const base = replaced ?? (restored && (await git.maybe(["merge-base", restored, commit])));
    const joined = await mergeTree(git, tip, commit, base);
    return { joined, parents: base === undefined ? [tip, commit] : [tip] };
  }

  /**
   * Merges work into the run's branch, one after the other, all or nothing. A conflict changes nothing and names the
   * files, and neither does a candidate that `check` or `accept` refuses.
   */
  async function merge(
    run: string,
    work: readonly { commit: string; message: string }[],
    { check = async () => ok(true), accept = async () => ok(true) }: MergeSteps = {},
  ): Promise<Result<Merged>> {
    for (let tries = 1; ; tries++) {
      const { tip: onto, last } = await tipOf(run);
      let tip = onto;
      for (const { commit, message } of work) {
        if (await git.isAncestor(commit, tip)) continue;
        const { joined, parents } = await join(run, tip, commit);
        if ("conflicts" in joined) {
          const files = joined.conflicts;
          const reason = `merge conflict with work accepted since, in ${files.join(", ")}`;
          return refuse("conflict", reason, { files, ours: onto });
        }
        tip = await commitTree(joined.tree, parents, message);
      }
      const already = tip === onto;
      if (!already) {
        const held = await check({ commit: tip, tree: await treeOf(tip), onto });
        if (!held.ok) return held;
      }
      crashPoint("crew-merged");
      const moved = await move(run, { from: onto, to: tip }, { last, accept });
      if (!moved.ok) return moved;
      if (moved.value) return ok({ commit: tip, already });
      if (tries === mostTries) throw new Error(`${acceptedRef(run)} kept changing during ${mostTries} merges`);
      await sleep(10 * tries);
    }
  }

  type MoveSteps = { last: string | undefined; accept: (tx: Query) => Promise<Result<unknown>>; isRerun?: boolean };

  /** False if the accepted work is no longer at `from`. Where commits are stored, the branch moves after its commit is. */
  async function move(
    run: string,
    { from, to }: Move,
    { last, accept, isRerun = false }: MoveSteps,
  ): Promise<Result<boolean>> {
    const reason = isRerun ? "scriptorium: rerun" : "scriptorium";
    if (!packs) return ok(from === to || (await git.moveRef(acceptedRef(run), to, from, { reason })));
    const published = (await stored()?.publish(run, to)) ?? ok(true);
    return published.ok ? packs.moveWith(run, { from, to, last, reason, isRerun }, accept) : published;
  }

  /** The merges of accepted tasks, oldest first. */
  async function acceptedMerges(
    run: string,
    tip: string,
  ): Promise<{ commit: string; first: string; task: string; number: string }[]> {
    const keys = ["Run", "Task", "Number"].map((key) => `%(trailers:key=${key},valueonly,separator=%x20)`);
    const format = ["%H", "%P", "%s", ...keys].join("%x00");
    const found: { commit: string; first: string; task: string; number: string }[] = [];
    const log = await git.text(["log", "--first-parent", `--format=${format}`, tip]);
    for (const line of log.split("\n")) {
      const [commit = "", parents = "", subject = "", of, task = "", number = ""] = line.split("\0");
      if (of !== run || !subject.startsWith("Accept task ")) break;
      found.unshift({ commit, first: parents.split(" ")[0] ?? "", task, number });
    }
    return found;
  }

  /** The accepted work without some tasks, as a commit; nothing moves. A conflict names the task that needs them. */
  async function acceptedWithout(
    run: string,
    tasks: ReadonlySet<string>,
  ): Promise<Result<Move & { last: string | undefined }>> {
    const { tip: from, last } = await tipOf(run);
    const merges = await acceptedMerges(run, from);
    const first = merges.findIndex(({ task }) => tasks.has(task));
    if (first < 0) return ok({ from, to: from, last });
    let to = merges[first]?.first ?? from;
    for (const { commit, first: before, number } of merges.slice(first).filter(({ task }) => !tasks.has(task))) {
      const joined = await mergeTree(git, to, commit, before);
      if ("conflicts" in joined)
        return refuse(
          "conflict",
          `task ${number}, which is kept, was built on the files of tasks that are repeated: ${joined.conflicts.join(", ")}; rerun from task ${number} as well, or overturn it first`,
          { files: joined.conflicts },
        );
      // Without its second parent, whose history has the tasks that are left out.
      to = await commitTree(joined.tree, [to], (await git.text(["log", "-1", "--format=%B", commit])).trimEnd());
    }
    return ok({ from, to, last });
  }

  /** Takes the merges of tasks out of the accepted work; what was accepted before stays on a branch of its own. */
  async function setBack(run: string, tasks: ReadonlySet<string>): Promise<Result<true>> {
    for (let tries = 1; ; tries++) {
      const without = await acceptedWithout(run, tasks);
      if (!without.ok) return without;
      const { from, to, last } = without.value;
      if (from === to) return ok(true);
      await git.setRef(`refs/heads/${beforeRerunBranch(run, from)}`, from);
      const moved = await move(run, { from, to }, { last, accept: async () => ok(true), isRerun: true });
      if (!moved.ok || moved.value) return moved.ok ? ok(true) : moved;
      if (tries === mostTries) throw new Error(`${acceptedRef(run)} kept changing during ${mostTries} set-backs`);
    }
  }

  /**
   * Takes the run's work back with a commit on its branch, in the transaction in which `decide` reverts the rest.
   * Returns the commit.
   */
  async function revert(
    run: { id: string; title: string },
    decide: (tx: Query) => Promise<Result<unknown>>,
  ): Promise<Result<string>> {
    for (let tries = 1; ; tries++) {
      const { tip: from, last } = await tipOf(run.id);
      const planned = await acceptedRevert(git, run.id);
      if (!planned.ok) return planned;
      const change = planned.value;
      if (change && change.tip !== from) continue;
      const to = change ? await commitTree(change.tree, [from], revertMessage(run, change)) : from;
      const moved = await move(run.id, { from, to }, { last, accept: decide });
      if (!moved.ok || moved.value) return moved.ok ? ok(to) : moved;
      if (tries === mostTries) throw new Error(`${acceptedRef(run.id)} kept changing during ${mostTries} reverts`);
    }
  }

  return {
    accepted,
    revert,
    newStart,
    join,
    merge,
    acceptedWithout,
    setBack,
    /** As `accepted`, but creates no branch: undefined in a repository without commits. */
    async tipOrHead(run: string): Promise<string | undefined> {
      const found = await stored()?.accepted(run, { setBranch: false });
      return (found && unwrap(found)) ?? (await git.commitAt(acceptedRef(run))) ?? (await git.head()).commit;
    },
    /** The accepted commit that an attempt's commit is based on. */
    baseOf: async (run: string, commit: string) => git.text(["merge-base", await accepted(run), commit]),
    /** True if files were accepted for a run; a run of texts has no branch. */
    hasAccepted: async (run: string) =>
      stored()?.hasAccepted(run) ?? (await git.commitAt(acceptedRef(run))) !== undefined,
  };
}
