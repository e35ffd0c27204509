import { join } from "node:path";
import type { Database } from "../../store/database.ts";
import { openLock } from "../../store/disk/lock.ts";
import { type ChainHead, chainHead, formatHead, headTrailer, sealEvents } from "../../store/event-chain.ts";
import { type Event, eventsAfter } from "../../store/events.ts";
import { branchRef } from "../../store/git/book-branch.ts";
import { type Commit, importCommits } from "../../store/git/fast-import.ts";
import type { Git } from "../../store/git/git.ts";
import { commitMessage, formatIdentity, timeTrailer } from "../../store/git/history.ts";
import { historyName } from "../../store/git/history-ref.ts";
import { holdingRef, publishCommits } from "../../store/git/publish-commits.ts";
import { archivedLink } from "../../store/queries/event-archives.ts";
import { type Link, linkAt, linkOf } from "../../store/queries/event-chain.ts";
import { eventNumbered } from "../../store/queries/event-log.ts";
import { findRename } from "../../store/queries/schema-versions.ts";
import { findVersion } from "../../store/queries/versions.ts";
import { type EntryStore, identityOf } from "../entry.ts";

export const mirrorBranch = "scriptorium/book";

/** Every workspace of a repository has a branch of its own. */
export async function mirrorBranchOf(git: Git): Promise<string> {
  const name = await historyName(git);
  return name === undefined ? mirrorBranch : `${mirrorBranch}-${name}`;
}
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
    const branch = await mirrorBranchOf(git);
    const mirrorRef = branchRef(branch);
    if ((await git.head()).branch === mirrorRef) return { more: false, waits: `${branch} is checked out` };
    const tip = await git.commitAt(mirrorRef);
    if (!known || known.tip !== tip) {
      const made = tip === undefined ? undefined : await madeFrom(git, tip);
      if (made?.event === "")
        return { more: false, waits: `the branch ${branch} was not created by Scriptorium; rename it` };
      const link = made && (await linkMadeFrom(made));
      if (made && !link)
        return {
          more: false,
          waits: `the branch ${branch} was created from another database; rename it, and a new one is created`,
        };
      known = { tip, event: link && String(link.position) };
    }
    const events = await eventsAfter(db, known.event, eventsAtOnce);
    const { prefix } = await git.place();
    const head = await chainHead(db);
    const commits = (await Promise.all(events.map((event) => commitOf(event, prefix, head)))).filter(
      (made) => made !== undefined,
    );
    const held = await holdingRef(git, "mirror");
    const newTip = commits.length > 0 ? await importCommits(git, { from: tip, held }, commits) : tip;
    const made = newTip && newTip !== tip && { held, to: newTip, from: tip, files: commits.map(({ path }) => [path]) };
    if (made && !(await publishCommits(git, mirrorRef, made)))
      return { more: false, waits: `${branch} was moved by another process` };
    known = { tip: newTip, event: events.at(-1)?.id ?? known.event };
    return { more: events.length === eventsAtOnce };
  }

  /** Undefined when the branch was made from another database: a new one numbers its events from 1 again. */
  async function linkMadeFrom({ event, head, entry, version }: Made): Promise<Link | undefined> {
    await sealEvents(db);
    // Commits of 0.1 name the event by its sequence number, on PostgreSQL after a transaction id.
    const number = Number(head === "" ? event.split("-").at(-1) : event);
    const row = head === "" ? await linkOf(db.read, number) : await linkAt(db.read, number);
    const link = row ?? (await archivedLink(db.read, head === "" ? { seq: number } : { position: number }));
    const known = link && (await eventNumbered(db.read, link.seq));
    return known?.subject === `entry:${entry}` && known.data.version === Number(version) ? link : undefined;
  }

  async function commitOf(event: Event, prefix: string, head: ChainHead | undefined): Promise<Commit | undefined> {
    if (!mirrored.has(event.kind)) return undefined;
    const id = event.subject.slice("entry:".length);
    const { version, reverts, from } = event.data as { version: number; reverts?: string; from?: string };
    // Versions from before a rename have the new id.
    const now = (await findRename(db.read, id))?.new_id ?? id;
    const [row, text] = await Promise.all([findVersion(db.read, now, version), entries.contentAt(now, version)]);
    if (!row || text === undefined) return undefined;
    const { role, run, task, epoch, author: name, at } = row;
    const made = { Entry: id, Version: version, Role: role, Run: run, Task: task, Epoch: epoch };
    const trailers = { ...made, Reverts: reverts, "Renamed-from": from };
    return {
      path: prefix + join(wiki, `${id}.md`),
      movedFrom: event.kind === "section-renamed" ? prefix + join(wiki, `${from}.md`) : undefined,
      blob: row.blob,
      bytes: Buffer.from(text),
      mode: "100644",
      author: formatIdentity(identityOf({ name, ...(role ? { role } : {}) })),
      message: commitMessage(row.summary, {
        ...trailers,
        Event: event.id,
        [timeTrailer]: at,
        [headTrailer]: head && formatHead(head),
      }),
      at,
    };
  }

  return { record };
}

const mirrored = new Set(["entry-committed", "entry-appended", "section-renamed"]);

type Made = { event: string; head: string; entry: string; version: string };

/** The event, entry and version that a commit was made from; empty for a commit that is not ours. */
async function madeFrom(git: Git, tip: string): Promise<Made> {
  const [event = "", head = "", entry = "", version = ""] =
    (await git.lastTrailers(["Event", headTrailer, "Entry", "Version"], tip))?.values ?? [];
  return { event, head, entry, version };
}
