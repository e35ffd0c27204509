import type { IndexedEntry } from "../../store/queries/entries.ts";
import type { VersionRecord } from "../../store/queries/versions.ts";
import type { Broken } from "./broken.ts";
import type { BookRecord } from "./record.ts";

const fix = "scriptorium doctor --fix";

/** What the index should say about the text of an entry. The links of a log and of a snapshot are read differently. */
export type TextFacts = { title: string | null; words: number; links: string[][] };

/** The index row of an entry says what its newest version does. */
export function compareIndex(
  { versions, index }: BookRecord,
  facts: Map<string, TextFacts>,
  linked: Map<string, string[]>,
): Broken[] {
  const newest = new Map(versions.map((row) => [row.entry_id, row]));
  const broken: Broken[] = [];
  for (const [entry, row] of newest) {
    const about = { entry, version: row.version, at: row.at, fix };
    const indexed = index.get(entry);
    const differs = indexed && differences(indexed, row, facts.get(entry), linked.get(entry) ?? []);
    if (!differs) broken.push({ ...about, kind: "index-missing", what: "the entry has no index row" });
    else if (differs.length > 0)
      broken.push({
        ...about,
        kind: "index-differs",
        what: `the index row of the entry has another ${differs.join(", ")}`,
      });
  }
  for (const [entry, { version, updated_at: at }] of index) {
    if (newest.has(entry)) continue;
    const what = "the index names it, but the entry has no version";
    broken.push({ kind: "index-without-version", entry, version, at, what, fix });
  }
  return broken;
}

function differences(indexed: IndexedEntry, row: VersionRecord, text: TextFacts | undefined, linked: string[]) {
  return [
    indexed.version !== row.version && `version (${indexed.version})`,
    indexed.blob !== row.blob && "blob",
    indexed.last_author !== row.author && `author (${indexed.last_author})`,
    indexed.updated_at !== row.at && `time (${indexed.updated_at})`,
    text && indexed.title !== text.title && `title (${indexed.title ?? "none"})`,
    text && indexed.words !== text.words && `word count (${indexed.words} instead of ${text.words})`,
    text && !sameLinks(indexed.links, linked, text.links) && "list of links",
  ].filter((what): what is string => typeof what === "string");
}

/** Links that nobody has read yet are null; the table of links follows the column. */
const sameLinks = (column: string | null, linked: string[], read: string[][]) =>
  (column === null && linked.length === 0) ||
  read.some((links) => column === JSON.stringify(links) && JSON.stringify(linked.toSorted()) === column);
