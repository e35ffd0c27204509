import { join } from "node:path";
import type { Database } from "../../store/database.ts";
import { openLock } from "../../store/disk/lock.ts";
import { type Event, eventsAfter } from "../../store/events.ts";
import { type Commit, importCommits } from "../../store/git/fast-import.ts";
import type { Git } from "../../store/git/git.ts";
import { commitMessage, formatIdentity } from "../../store/git/history.ts";
import { eventNumbered } from "../../store/queries/event-log.ts";
import { findVersion } from "../../store/queries/versions.ts";
import { type EntryStore, identityOf } from "../entry.ts";

export const mirrorBranch = "scriptorium/book";
const mirrorRef = `refs/heads/${mirrorBranch}`;
const eventsAtOnce = 500;

/** `more`: call again; `waits`: the reason why the branch cannot be written. */
type Outcome = { more: boolean; waits?: string };
export type Mirror = { record(): Promise<Outcome> };

type Deps = { db: Database; git: Git; entries: EntryStore; wiki: string; lockFile: string };

/**
 * Mirrors the database store as markdown in git, with a commit per version on a branch of its own. The event
 * log determines the commits, and the newest commit names the event that it was made from: the process of this
 * machine that holds the lock continues from there.
 */
export function openMirror({ db, git, entries, wiki, lockFile }: Deps): Mirror {
  /** The last mirrored event, valid while the branch is at `tip`. */
  let known: { tip: string | undefined; event: string | undefined } | undefined;
  let hasRepository: Promise<boolean> | undefined;

  async function record(): Promise<Outcome> {
    if (known && (await eventsAfter(db, known.event, 1)).length === 0) return { more: false };
    hasRepository ??= git.isRepository();
    if (!(await hasRepository)) return { more: false, waits: "the workspace is not in a git repository" };
    const lock = openLock(lockFile);
    if (!lock) return { more: false };
    try {
      return await recordSome();
    } finally {
      lock.release();
    }
  }

  async function recordSome(): Promise<Outcome> {
    if ((await git.head()).branch === mirrorRef) return { more: false, waits: `${mirrorBranch} is checked out` };
    const tip = await tipOf(git);
    if (!known || known.tip !== tip) {
      const made = tip === undefined ? undefined : await madeFrom(git, tip);
      if (made?.event === "")
        return { more: false, waits: `the branch ${mirrorBranch} was not created by Scriptorium; rename it` };
      if (made && !(await isOfThis(made)))
        return {
          more: false,
          waits: `the branch ${mirrorBranch} was created from another database; rename it, and a new one is created`,
        };
      known = { tip, event: made?.event };
    }
    const events = await eventsAfter(db, known.event, eventsAtOnce);
    const { prefix } = await git.place();
    const commits = (await Promise.all(events.map((event) => commitOf(event, prefix)))).filter(
      (made) => made !== undefined,
    );
    const newTip = commits.length > 0 ? await importCommits(git, tip, commits) : tip;
    if (newTip !== undefined && newTip !== tip && !(await git.moveRef(mirrorRef, newTip, tip ?? null)))
      return { more: false, waits: `${mirrorBranch} was moved by another process` };
    known = { tip: newTip, event: events.at(-1)?.id ?? known.event };
    return { more: events.length === eventsAtOnce };
  }

  /** False when the branch was made from another database: a new one numbers its events from 1 again. */
  async function isOfThis({ event, entry, version }: Made): Promise<boolean> {
    const seq = Number(event.split("-").at(-1));
    const known = await eventNumbered(db.read, seq);
    return known?.subject === `entry:${entry}` && known.data.version === Number(version);
  }

  async function commitOf(event: Event, prefix: string): Promise<Commit | undefined> {
    if (event.kind !== "entry-committed" && event.kind !== "entry-appended") return undefined;
    const id = event.subject.slice("entry:".length);
    const { version, reverts } = event.data as { version: number; reverts?: string };
    const [row, text] = await Promise.all([findVersion(db.read, id, version), entries.contentAt(id, version)]);
    if (!row || text === undefined) return undefined;
    const { role, run, task, epoch, author: name, at } = row;
    const trailers = { Entry: id, Version: version, Role: role, Run: run, Task: task, Epoch: epoch, Reverts: reverts };
    return {
      path: prefix + join(wiki, `${id}.md`),
      blob: row.blob,
      bytes: Buffer.from(text),
      author: formatIdentity(identityOf({ name, ...(role ? { role } : {}) })),
      message: commitMessage(row.summary, { ...trailers, Event: event.id }),
      at,
    };
  }

  return { record };
}

const tipOf = (git: Git) => git.commitAt(mirrorRef);

type Made = { event: string; entry: string; version: string };

/** The event, entry and version that a commit was made from; empty for a commit that is not ours. */
async function madeFrom(git: Git, tip: string): Promise<Made> {
  const [event = "", entry = "", version = ""] =
    (await git.lastTrailers(["Event", "Entry", "Version"], tip))?.values ?? [];
  return { event, entry, version };
}
