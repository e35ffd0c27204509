import type { Query } from "../store/database.ts";
import { versionsOfEntriesWrittenBy, type WriterFilter } from "../store/queries/versions.ts";
import type { EntryStore } from "./entry.ts";

/** The agent context of a write; null for people. */
type WriteContext = { run: string | null; task: string | null; epoch: number | null; role: string | null };

export const isUnder = (wanted: WriterFilter, under: Partial<WriteContext>): boolean =>
  under.role !== null &&
  under.role !== undefined &&
  (["run", "task", "epoch", "role"] as const).every(
    (name) => wanted[name] === undefined || wanted[name] === under[name],
  );

export type Version = WriteContext & { version: number; blob: string; author: string; summary: string };

/** How to revert a snapshot: restore version `to`, or ask a person because others have changed it since. */
type Undo = { versions: number[] } & ({ to: number } | { changedBy: string[] });

type Stain = { to: number; blob: string | undefined; versions: number[]; changedBy: string[] };

/**
 * Walks the versions from the first. The text counts as stained from the first matching write until someone
 * restores what was there before it.
 */
export function undoOf(versions: Version[], wanted: WriterFilter): Undo | undefined {
  const after = new Map<number, Stain | undefined>();
  let stain: Stain | undefined;
  let before: Version | undefined;
  for (const version of versions) {
    if (isUnder(wanted, version)) {
      stain ??= { to: before?.version ?? 0, blob: before?.blob, versions: [], changedBy: [] };
      stain = { ...stain, versions: [...stain.versions, version.version] };
    } else {
      const restored = restoredBy(version.summary);
      if (restored !== undefined) stain = after.get(restored);
      else if (stain && version.blob === stain.blob) stain = undefined;
      else if (stain) stain = { ...stain, changedBy: [...stain.changedBy, version.author] };
    }
    after.set(version.version, stain);
    before = version;
  }
  if (!stain) return undefined;
  const { to, versions: own, changedBy } = stain;
  return changedBy.length === 0 ? { versions: own, to } : { versions: own, changedBy: [...new Set(changedBy)] };
}

export const isRevert = (summary: string) => summary.startsWith("Revert ");

/** Marks the summary of a version that restores an earlier one; `restoredBy` parses it. */
export const restores = (version: number) => `as it was at version ${version}`;
const restoredBy = (summary: string): number | undefined => {
  const found = /^Revert .* as it was at version (\d+)\)$/.exec(summary);
  return found ? Number(found[1]) : undefined;
};

/** All versions of every entry that a matching agent has written to, oldest first. */
export async function versionsByEntry(query: Query, filter: WriterFilter): Promise<Map<string, Version[]>> {
  const found = new Map<string, Version[]>();
  for (const { entry_id, ...version } of await versionsOfEntriesWrittenBy(query, filter))
    found.set(entry_id, [...(found.get(entry_id) ?? []), version]);
  return found;
}

/**
 * Reverts writes to a log. Each line stays, with its time and author; only its text is replaced by a reference
 * to the version that has it. Returns the new body and the versions that were withdrawn.
 */
export async function withdrawn(
  store: EntryStore,
  id: string,
  { body, versions, wanted, by }: { body: string; versions: Version[]; wanted: WriterFilter; by: string },
): Promise<{ body: string; versions: number[] }> {
  const lines = body.split("\n");
  const found: number[] = [];
  for (const { version, role, run, ...rest } of versions) {
    if (!isUnder(wanted, { role, run, ...rest })) continue;
    const [before, after] = await Promise.all([store.contentAt(id, version - 1), store.contentAt(id, version)]);
    const added = (after ?? "").slice((before ?? "").trimEnd().length).trim();
    const label = `${role}${run ? ` (run ${run})` : ""}: `;
    const words = added.indexOf(label) + label.length;
    const at = lines.indexOf(added);
    if (at < 0 || words < label.length || isWithdrawn(added)) continue;
    lines[at] = `${added.slice(0, words)}(withdrawn by ${by}; version ${version} has the words)`;
    found.push(version);
  }
  return { body: lines.join("\n"), versions: found };
}

const isWithdrawn = (line: string) => /: \(withdrawn by .*; version \d+ has the words\)$/.test(line);
