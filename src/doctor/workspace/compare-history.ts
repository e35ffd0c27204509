import { oneLine, plain } from "../../store/git/history.ts";
import type { VersionRecord } from "../../store/queries/versions.ts";
import type { RecordedVersion } from "../../wiki/stores/rebuild.ts";
import type { Broken } from "./broken.ts";
import { type BookRecord, nameOf } from "./record.ts";

const fix = "scriptorium doctor --fix";

/** Every version row has its commit in git with the same author, time and text, and every commit its row. */
export function compareHistory({ versions, history, queued, rebuilt }: BookRecord, wiki: string): Broken[] {
  if (!history || history.unreadable !== undefined) return [];
  const commits = new Map<string, RecordedVersion>();
  const broken: Broken[] = [];
  for (const [place, recorded] of history.versions.entries()) {
    const { row, change } = recorded;
    const said = Number(change.trailers.get("Version"));
    // The branch that a rebuilt index starts from may repeat a version, e.g. after a cherry-pick.
    if (change.trailers.has("Version") && said !== row.version && place >= (rebuilt?.versions ?? 0)) {
      broken.push({
        ...{ kind: "history-duplicate-version", entry: row.entry_id, version: said, at: row.at },
        what: `git has it twice; the second time in commit ${change.commit.slice(0, 12)}`,
        fix: `git show ${change.commit.slice(0, 12)}`,
      });
      continue;
    }
    commits.set(nameOf(row), recorded);
  }
  for (const row of versions) {
    const recorded = commits.get(nameOf(row));
    commits.delete(nameOf(row));
    const about = { entry: row.entry_id, version: row.version, at: row.at, fix };
    if (recorded) {
      const differs = differences(row, recorded.row);
      const where = `the index and commit ${recorded.change.commit.slice(0, 12)} differ in ${differs.join(", ")}`;
      if (differs.length > 0) broken.push({ ...about, kind: "version-differs", what: where });
    } else if (!queued.has(`${wiki}/${row.entry_id}.md ${row.blob}`))
      broken.push({ ...about, kind: "version-not-in-history", what: "it is not in git" });
  }
  for (const { row, change } of commits.values()) {
    const what = `git has it in commit ${change.commit.slice(0, 12)}, but the index does not`;
    const about = { entry: row.entry_id, version: row.version, at: row.at, fix };
    broken.push({ ...about, kind: "version-not-in-index", what });
  }
  return broken;
}

/** What differs between a row and its commit. Git has names on one line and times in seconds. */
export function differences(row: VersionRecord, recorded: VersionRecord): string[] {
  return [
    row.blob !== recorded.blob && "text",
    plain(row.author) !== plain(recorded.author) && `author (${row.author} or ${recorded.author})`,
    seconds(row.at) !== seconds(recorded.at) && `time (${row.at} or ${recorded.at})`,
    ...(["role", "run", "task", "epoch"] as const).map(
      (name) => oneLine(String(row[name] ?? "")) !== oneLine(String(recorded[name] ?? "")) && name,
    ),
    plain(row.summary) !== plain(recorded.summary) && "summary",
  ].filter((what) => what !== false);
}

export const seconds = (at: string) => Math.floor(Date.parse(at) / 1000);
