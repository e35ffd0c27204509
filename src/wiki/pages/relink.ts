import { type Folders, nodeOfFile } from "../../kernel/markdown/links.ts";
import type { Result } from "../../kernel/result.ts";
import type { Database, Query } from "../../store/database.ts";
import type { EntryStore } from "../entry.ts";
import { findSection, type Schema } from "../schema.ts";
import { linksIn, linksInLog } from "./links.ts";

type Deps = {
  db: Database;
  entries: EntryStore;
  schema(): Promise<Result<Schema>>;
  folders: Folders;
  /** Makes versions of what people did to files since anyone looked. */
  refresh(): Promise<void>;
};

const together = 200;

/**
 * Every write keeps its entry's links with it. What is left to do here: entries that came another way
 * (a rebuilt index, a database from before there were links), and to prove that none is wrong.
 */
export function linkKeeper({ db, entries, schema, folders, refresh }: Deps) {
  async function read(known: Schema, id: string): Promise<string[]> {
    const section = findSection(known, id);
    if (!section) return [];
    const { content } = await entries.fetch(id);
    return (section.mode === "log" ? linksInLog : linksIn)(content, id, folders);
  }

  async function readSome(known: Schema): Promise<number> {
    const unread = await db.read
      .selectFrom("entries")
      .select(["id", "version"])
      .where("links", "is", null)
      .orderBy("num")
      .limit(together)
      .execute();
    if (unread.length === 0) return 0;
    const found = await Promise.all(unread.map(async (row) => ({ ...row, links: await read(known, row.id) })));
    await db.write(async (tx) => {
      for (const { id, version, links } of found) await save(tx, id, version, links);
    });
    return unread.length;
  }

  return {
    /** After this the graph is what the texts say. It writes only when there is something to write. */
    async catchUp(): Promise<void> {
      const known = await schema();
      if (!known.ok) return;
      await refresh();
      while ((await readSome(known.value)) > 0);
    },

    /** Reads every text again; entries whose links were not what it says are put right, and named. */
    async mend(): Promise<string[]> {
      const known = await schema();
      if (!known.ok) return [];
      await this.catchUp();
      const wrong: string[] = [];
      for (const { id, version, links } of await db.read.selectFrom("entries").selectAll().orderBy("id").execute()) {
        const right = await read(known.value, id);
        const kept = await db.read.selectFrom("entry_links").select("to_id").where("entry_id", "=", id).execute();
        const indexed = kept.map((row) => row.to_id).sort();
        if (links === JSON.stringify(right) && JSON.stringify(indexed) === links) continue;
        wrong.push(id);
        await db.write(async (tx) => {
          await tx.updateTable("entries").set({ links: null }).where("id", "=", id).execute();
          await save(tx, id, version, right);
        });
      }
      return wrong;
    },

    /** The node of a file of the workspace. */
    nodeOf: (path: string) => nodeOfFile(path, folders),
  };
}

export type LinkKeeper = ReturnType<typeof linkKeeper>;

/** Unless somebody wrote the entry meanwhile, and its links with it. */
const save = (tx: Query, id: string, version: number, links: string[]) =>
  tx
    .updateTable("entries")
    .set({ links: JSON.stringify(links) })
    .where("id", "=", id)
    .where("version", "=", version)
    .where("links", "is", null)
    .execute();
