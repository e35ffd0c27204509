import type { LoggedEvent } from "../../store/queries/event-log.ts";
import { type VersionRecord, writeVersion } from "../../store/queries/versions.ts";
import { differences as fromEvent } from "../workspace/compare-events.ts";
import { differences as fromCommit } from "../workspace/compare-history.ts";
import { type BookRecord, nameOf, readRecord } from "../workspace/record.ts";
import type { Repair, Repaired } from "./repair.ts";

/** Brings back version rows that were deleted or changed, where git and the event log agree about them. */
export const repairVersions: Repair = {
  kinds: ["version-differs", "version-not-in-index", "event-without-version", "event-differs"],
  async run(app) {
    const record = await readRecord(app);
    const repaired: Repaired[] = [];
    for (const { row, before } of provenRows(record)) {
      await app.db.write((tx) => writeVersion(tx, { ...row, content: null }));
      repaired.push({
        subject: `${row.entry_id}, version ${row.version}`,
        before,
        after: "as in git and the event log",
      });
    }
    return repaired;
  },
};

/** The rows that differ from a commit whose event confirms it; the event has the time to the millisecond. */
function provenRows({ versions, history, events }: BookRecord): { row: VersionRecord; before: string }[] {
  const rows = new Map(versions.map((row) => [nameOf(row), row]));
  const logged = new Map(events.map((event) => [nameOf(versionOf(event)), event]));
  return (history?.versions ?? []).flatMap(({ row: recorded }) => {
    const row = rows.get(nameOf(recorded));
    const event = logged.get(nameOf(recorded));
    const differs = row ? fromCommit(row, recorded) : [];
    if (!event || (row && differs.length === 0)) return [];
    const right = { ...recorded, at: event.at, author: event.actor };
    if (fromCommit(right, recorded).length > 0 || fromEvent(right, event, String(event.data.source_sha)).length > 0)
      return [];
    return [{ row: right, before: row ? `another ${differs.join(", ")} in the index` : "missing from the index" }];
  });
}

const versionOf = ({ subject, data }: LoggedEvent) => ({
  entry_id: subject.slice("entry:".length),
  version: Number(data.version),
});
