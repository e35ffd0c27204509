import { type Folders, nodeOfFile } from "../../kernel/markdown/links.ts";
import type { Result } from "../../kernel/result.ts";
import { batchSize } from "../../store/batches.ts";
import type { Database } from "../../store/database.ts";
import { allEntries } from "../../store/queries/entries.ts";
import { clearLinks, entriesWithoutLinks, indexedLinks, saveLinks } from "../../store/queries/links.ts";
import type { EntryStore } from "../entry.ts";
import { findSection, type Schema } from "../schema.ts";
import { linksIn, linksInLog } from "./links.ts";

type Deps = {
  db: Database;
  entries: EntryStore;
  schema(): Promise<Result<Schema>>;
  folders: Folders;
  /** Makes versions of edits to files. */
  refresh(): Promise<void>;
};

/**
 * Every write saves its entry's links. This handles the rest: entries without links, e.g. after the index was
 * rebuilt, and a check of all links against the texts.
 */
export function linkKeeper({ db, entries, schema, folders, refresh }: Deps) {
  async function read(known: Schema, id: string): Promise<string[]> {
    const section = findSection(known, id);
    if (!section) return [];
    const { content } = await entries.fetch(id);
    return (section.mode === "log" ? linksInLog : linksIn)(content, id, folders);
  }

  async function readSome(known: Schema): Promise<number> {
    const unread = await entriesWithoutLinks(db.read, batchSize);
    if (unread.length === 0) return 0;
    const found = await Promise.all(unread.map(async (row) => ({ ...row, links: await read(known, row.id) })));
    await db.write(async (tx) => {
      for (const { id, version, links } of found) await saveLinks(tx, id, version, links);
    });
    return unread.length;
  }

  return {
    /** Reads the links of entries that lack them. Writes only when there are any. */
    async catchUp(): Promise<void> {
      const known = await schema();
      if (!known.ok) return;
      await refresh();
      while ((await readSome(known.value)) > 0);
    },

    /** Compares every entry's links with its text, corrects them, and returns the ids of corrected entries. */
    async mend(): Promise<string[]> {
      const known = await schema();
      if (!known.ok) return [];
      await this.catchUp();
      const wrong: string[] = [];
      for (const { id, version, links } of await allEntries(db.read)) {
        if (!findSection(known.value, id)) continue;
        const right = await read(known.value, id);
        const indexed = (await indexedLinks(db.read, id)).sort();
        if (links === JSON.stringify(right) && JSON.stringify(indexed) === links) continue;
        wrong.push(id);
        await db.write(async (tx) => {
          await clearLinks(tx, id);
          await saveLinks(tx, id, version, right);
        });
      }
      return wrong.sort();
    },

    /** The node of a file of the workspace. */
    nodeOf: (path: string) => nodeOfFile(path, folders),
  };
}

export type LinkKeeper = ReturnType<typeof linkKeeper>;
