import type { LoggedEvent } from "../../store/queries/event-log.ts";
import type { VersionRecord } from "../../store/queries/versions.ts";
import type { Broken } from "./broken.ts";
import { seconds } from "./compare-history.ts";
import { type BookRecord, nameOf } from "./record.ts";

/** Events are evidence: nothing repairs them. */
const fix = "restore a backup of the database, or accept it: scriptorium doctor --acknowledge <id>";

/** Every version has its event, every event its version, and they agree, in this order. */
export function compareEvents(record: BookRecord): Broken[] {
  const rows = new Map(record.versions.map((row) => [nameOf(row), row]));
  const fromGit = versionsFromGit(record);
  const hashNow = hashesAfter(record.moves);
  const latest = new Map<string, number>();
  const broken: Broken[] = [];
  const seen = new Set<string>();
  for (const event of record.events) {
    const entry = event.subject.slice("entry:".length);
    const version = Number(event.data.version);
    const name = nameOf({ entry_id: entry, version });
    const about = { entry, version, at: event.at, fix };
    const row = rows.get(name);
    if (seen.has(name)) broken.push({ ...about, kind: "event-duplicate", what: "the event log has it twice" });
    else if (!row) {
      const what = `the event log has it, but the index does not (${event.kind} by ${event.actor})`;
      broken.push({ ...about, kind: "event-without-version", what });
    } else {
      const differs = differences(row, event, hashNow(name, String(event.data.source_sha)));
      const what = `the index and the event log differ in ${differs.join(", ")}`;
      if (differs.length > 0) broken.push({ ...about, kind: "event-differs", what });
      if (version < (latest.get(entry) ?? 0))
        broken.push({ ...about, kind: "event-order", what: "its event comes after that of a later version" });
    }
    latest.set(entry, Math.max(version, latest.get(entry) ?? 0));
    seen.add(name);
  }
  for (const row of record.versions) {
    if (seen.has(nameOf(row)) || fromGit(row)) continue;
    const about = { entry: row.entry_id, version: row.version, at: row.at, fix };
    broken.push({ ...about, kind: "event-missing", what: "it has no event" });
  }
  return broken;
}

/** What differs between a row and its event; `hash` is the one that the event names, after every move. */
export function differences(row: VersionRecord, { actor, at, data }: LoggedEvent, hash: string): string[] {
  return [
    row.blob !== hash && "text",
    row.author !== actor && `author (${row.author} or ${actor})`,
    seconds(row.at) !== seconds(at) && `time (${row.at} or ${at})`,
    ...(["role", "run", "task", "epoch"] as const).map((name) => row[name] !== (data[name] ?? null) && name),
  ].filter((what) => what !== false);
}

/** The hash that a version has after every move of its entry: each says which one it replaced. */
function hashesAfter(moves: LoggedEvent[]): (name: string, hash: string) => string {
  const steps = new Map<string, [string, string][]>();
  for (const { subject, data } of moves) {
    const entry = subject.slice("entry:".length);
    for (const [version, step] of Object.entries((data.hashes ?? {}) as Record<string, [string, string]>)) {
      const name = nameOf({ entry_id: entry, version: Number(version) });
      steps.set(name, [...(steps.get(name) ?? []), step]);
    }
  }
  return (name, hash) => (steps.get(name) ?? []).reduce((now, [from, to]) => (now === from ? to : now), hash);
}

/**
 * Tells which versions the index took from git when it was rebuilt: the first ones in git, and those from before that
 * time, should the history have been repaired since. A deleted event breaks the event chain also for these.
 */
function versionsFromGit({ history, rebuilt }: BookRecord): (row: VersionRecord) => boolean {
  if (!rebuilt) return () => false;
  const names = new Set(history?.versions.slice(0, rebuilt.versions).map(({ row }) => nameOf(row)));
  return (row) => names.has(nameOf(row)) || seconds(row.at) <= seconds(rebuilt.at);
}
