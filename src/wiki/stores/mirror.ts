import { join } from "node:path";
import type { Database } from "../../store/database.ts";
import { openLock } from "../../store/disk/lock.ts";
import { type Event, eventsAfter } from "../../store/events.ts";
import { type Commit, importCommits } from "../../store/git/fast-import.ts";
import type { Git } from "../../store/git/git.ts";
import { commitMessage, spellIdentity } from "../../store/git/history.ts";
import { eventNumbered } from "../../store/queries/event-log.ts";
import { findVersion } from "../../store/queries/versions.ts";
import { type EntryStore, identityOf } from "../entry.ts";

export const mirrorBranch = "scriptorium/book";
const mirrorRef = `refs/heads/${mirrorBranch}`;
const eventsAtOnce = 500;

/** Whether there is more to bring, and what keeps it from being brought. */
type Outcome = { more: boolean; waits?: string };
export type Mirror = { record(): Promise<Outcome> };

type Deps = { db: Database; git: Git; entries: EntryStore; wiki: string; lockFile: string };

/**
 * The database store as markdown in git, for people: a commit for each version, on a branch of its own
 * that nobody works on. The event log says what comes next, and the newest commit up to which event the
 * branch has come: whichever process of this machine has the lock goes on from there.
 */
export function openMirror({ db, git, entries, wiki, lockFile }: Deps): Mirror {
  /** Up to where the branch has all, as long as nobody else has moved it. */
  let known: { tip: string | undefined; event: string | undefined } | undefined;
  let hasRepository: Promise<boolean> | undefined;

  async function record(): Promise<Outcome> {
    if (known && (await eventsAfter(db, known.event, 1)).length === 0) return { more: false };
    hasRepository ??= git.isRepository();
    if (!(await hasRepository)) return { more: false, waits: "there is no git repository" };
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
      if (made?.event === "") return { more: false, waits: `the branch ${mirrorBranch} is not Scriptorium's` };
      if (made && !(await isOfThis(made)))
        return {
          more: false,
          waits: `${mirrorBranch} was made from another database; rename it, and a new one is made`,
        };
      known = { tip, event: made?.event };
    }
    const events = await eventsAfter(db, known.event, eventsAtOnce);
    const { prefix } = await git.place();
    const commits = (await Promise.all(events.map((event) => commitOf(event, prefix)))).filter(
      (made) => made !== undefined,
    );
    await importCommits(git, [{ ref: mirrorRef, from: tip, commits }]);
    known = { tip: commits.length > 0 ? await tipOf(git) : tip, event: events.at(-1)?.id ?? known.event };
    return { more: events.length === eventsAtOnce };
  }

  /** A new database counts its events from the beginning again. */
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
      author: spellIdentity(identityOf({ name, ...(role ? { role } : {}) })),
      message: commitMessage(row.summary, { ...trailers, Event: event.id }),
      at,
    };
  }

  return { record };
}

const tipOf = (git: Git) => git.commitAt(mirrorRef);

type Made = { event: string; entry: string; version: string };

/** The event, the entry and the version that a commit was made from; empty when it is none of ours. */
async function madeFrom(git: Git, tip: string): Promise<Made> {
  const [event = "", entry = "", version = ""] =
    (await git.lastTrailers(["Event", "Entry", "Version"], tip))?.values ?? [];
  return { event, entry, version };
}
