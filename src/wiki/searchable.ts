import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { everyone } from "../kernel/operation.ts";
import type { Kind } from "../search/kinds.ts";
import type { Database } from "../store/database.ts";
import { entryIds, findEntry } from "../store/queries/entries.ts";
import { extractedText, findSource, saveExtractedText, sourcePaths } from "../store/queries/sources.ts";
import type { EntryStore } from "./entry.ts";
import { type Section, sectionWith } from "./schema.ts";
import { type Extractor, extractor } from "./sources/extract.ts";

type EntryKindDeps = {
  db: Database;
  entries: EntryStore;
  sections(): Promise<Section[]>;
  /** Makes versions of edits to files, where entries are files. */
  refresh?(): Promise<void>;
};

export const entryKind = ({ db, entries, sections, refresh }: EntryKindDeps): Kind => ({
  name: "entry",
  readers: everyone,
  all: () => entryIds(db.read),
  async read(id) {
    const known = await findEntry(db.read, id);
    if (!known || !sectionWith(await sections(), id)) return undefined;
    const { content, metadata } = await entries.fetch(id);
    return { title: metadata.title, text: content, author: metadata.lastAuthor, at: metadata.updatedAt };
  },
  async refresh() {
    await refresh?.();
    return [];
  },
});

/** Of the copies of a watched file, only the newest is searchable. */
export const sourceKind = (db: Database, folder: string, extract = extractor()): Kind => ({
  name: "source",
  readers: everyone,
  all: () => sourcePaths(db.read),
  async read(path) {
    const source = await findSource(db.read, path);
    if (!source || source.gone_at !== null) return undefined;
    const text = await sourceText(db, folder, source, extract);
    return text === undefined ? undefined : { title: path, text, author: source.added_by, at: source.at };
  },
});

/** The text of a source, also of a PDF or Word file; undefined when it has none or was altered since it was added. */
export async function sourceText(
  db: Database,
  folder: string,
  { path, sha256 }: { path: string; sha256: string },
  extract: Extractor = extractor(),
): Promise<string | undefined> {
  return (await extractedText(db.read, sha256)) ?? (await extracted(db, extract, sha256, join(folder, path)));
}

async function extracted(db: Database, extract: Extractor, sha256: string, file: string): Promise<string | undefined> {
  const bytes = await readFile(file).catch(() => undefined);
  // An altered source is reported by `source verify`; it must not be found under the hash of the original.
  if (!bytes || createHash("sha256").update(bytes).digest("hex") !== sha256) return undefined;
  const found = await extract(file, bytes);
  if (!found) return undefined;
  // Plain text is cheap to read again; extraction from other formats is not.
  if (found.format === "text") return found.text;
  await db.write((tx) => saveExtractedText(tx, { sha256, ...found }));
  return found.text;
}
