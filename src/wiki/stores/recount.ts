import type { Database } from "../../store/database.ts";
import { entryIds, setWords } from "../../store/queries/entries.ts";
import { findMeta, setMeta } from "../../store/queries/meta.ts";
import type { EntryStore } from "../entry.ts";
import type { Section } from "../schema.ts";
import { countWords } from "./document.ts";

const key = "word-count";
/** Changes with `countWords`. */
const method = "2";

/** Counts the words of all entries again if an earlier version of `countWords` counted them. */
export async function recountWords(db: Database, entries: EntryStore, sections: Section[]): Promise<void> {
  if ((await findMeta(db.read, key)) === method) return;
  const known = new Set(await entryIds(db.read));
  const counted: { id: string; version: number; words: number }[] = [];
  for (const { id } of sections.filter((section) => known.has(section.id))) {
    const { content, version } = await entries.fetch(id);
    counted.push({ id, version, words: countWords(content) });
  }
  await db.write(async (tx) => {
    for (const { id, version, words } of counted) await setWords(tx, id, version, words);
    await setMeta(tx, key, method);
  });
}
