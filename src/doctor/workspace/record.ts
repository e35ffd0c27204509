import type { CrewApp } from "../../crew/record/crew-app.ts";
import { historyFolders, historyRefOf } from "../../store/git/history-ref.ts";
import { readLog } from "../../store/git/read-log.ts";
import { GitError } from "../../store/git/run-git.ts";
import { allEntries, type IndexedEntry } from "../../store/queries/entries.ts";
import { type LoggedEvent, moveEvents, newestOfKind, versionEvents } from "../../store/queries/event-log.ts";
import { unrecordedVersions } from "../../store/queries/git-queue.ts";
import { allVersions, type VersionRecord } from "../../store/queries/versions.ts";
import { type RecordedVersion, renameVersions, versionsIn } from "../../wiki/stores/rebuild.ts";

/**
 * Everything that says what was written: the version rows, the index of the newest ones, the events and, for the
 * file store, git. The comparisons beside this file are functions of it.
 */
export type BookRecord = {
  versions: VersionRecord[];
  index: Map<string, IndexedEntry>;
  events: LoggedEvent[];
  /** Moves between stores, which change the hashes of versions. */
  moves: LoggedEvent[];
  /** `path blob` of versions that wait for the recorder. */
  queued: Set<string>;
  history: HistoryRecord | undefined;
  /** The versions that came from git when the index was last rebuilt: they need no event. */
  rebuilt: { at: string; versions: number } | undefined;
};

/** The versions in git, oldest first, or the reason why git cannot list them. */
export type HistoryRecord = { tip: string | undefined; versions: RecordedVersion[]; unreadable?: string };

/**
 * Rows are read before the queue and the queue before git: a version that moves on meanwhile is found in its next
 * place. One that appears meanwhile may be found in one place only; `checkRecord` looks twice.
 */
export async function readRecord(app: CrewApp): Promise<BookRecord> {
  const { db } = app;
  const index = new Map((await allEntries(db.read)).map((row) => [row.id, row]));
  const versions = await allVersions(db.read);
  const logged = [...(await versionEvents(db.read)), ...(await moveEvents(db.read))];
  const named = underNewIds(logged.toSorted((a, b) => a.seq - b.seq));
  const rebuilt = await newestOfKind(db.read, "index-rebuilt");
  const waiting = await unrecordedVersions(db.read);
  return {
    versions,
    index,
    events: named.filter(({ kind, data }) => kind !== "entry-moved" && data.version !== 0),
    moves: named.filter(({ kind }) => kind === "entry-moved"),
    queued: queuedNames(waiting),
    history: app.files ? await readHistory(app, waiting) : undefined,
    rebuilt: rebuilt && { at: rebuilt.at, versions: Number(rebuilt.data.versions ?? 0) },
  };
}

/** Events from before a rename belong to the new id, as the versions do. */
function underNewIds(events: LoggedEvent[]): LoggedEvent[] {
  const named: LoggedEvent[] = [];
  for (const event of events) {
    if (event.kind === "section-renamed") {
      const old = `entry:${event.data.from}`;
      for (const earlier of named) if (earlier.subject === old) earlier.subject = event.subject;
    }
    named.push(event);
  }
  return named;
}

type Waiting = Awaited<ReturnType<typeof unrecordedVersions>>;

/** `path blob` of the versions that wait, each also under the path of a later rename. */
function queuedNames(waiting: Waiting): Set<string> {
  const names: { path: string; blob: string }[] = [];
  for (const { path, blob, moved_from } of waiting) {
    names.push(...names.filter((name) => name.path === moved_from).map((name) => ({ ...name, path })));
    names.push({ path, blob });
  }
  return new Set(names.map(({ path, blob }) => `${path} ${blob}`));
}

/** The versions in git, under the ids that they have since renames that wait. */
function withWaitingRenames(versions: RecordedVersion[], waiting: Waiting, wiki: string): RecordedVersion[] {
  const idOf = (path: string) => path.slice(wiki.length + 1, -".md".length);
  return waiting.reduce(
    (found, { path, moved_from }) =>
      moved_from?.startsWith(`${wiki}/`) && path.startsWith(`${wiki}/`)
        ? renameVersions(found, { from: idOf(moved_from), to: idOf(path) })
        : found,
    versions,
  );
}

async function readHistory({ git, config }: CrewApp, waiting: Waiting): Promise<HistoryRecord> {
  if (!(await git.isRepository())) return { tip: undefined, versions: [] };
  try {
    const tip = await git.commitAt(await historyRefOf(git));
    if (!tip) return { tip, versions: [] };
    const versions = versionsIn(await readLog(git, tip, await historyFolders(git), [config.wiki]), config.wiki);
    return { tip, versions: withWaitingRenames(versions, waiting, config.wiki) };
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    return { tip: undefined, versions: [], unreadable: error.stderr.trim() || error.message };
  }
}

export const nameOf = ({ entry_id, version }: { entry_id: string; version: number }) => `${entry_id} ${version}`;
