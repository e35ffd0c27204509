import { sql } from "kysely";
import type { Database } from "../store/database.ts";
import { lockEntry } from "../store/entries.ts";
import { type Hit, rank } from "./rank.ts";
import { searchTerms } from "./terms.ts";

const searched = { things: "entries", texts: "entry_text" } as const;

type Text = { title: string; body: string };

/** Full text over entries. Vectors and links will join here as further lists of hits to weigh together. */
export function entrySearch(db: Database, textOf: (id: string) => Promise<Text>) {
  /** Indexing happens behind writes: an append to a long log must not pay for reading it all again. */
  async function catchUp(): Promise<number> {
    const stale = await db.read
      .selectFrom("entries")
      .select(["num", "id", "version"])
      .whereRef("indexed", "<", "version")
      .limit(500)
      .execute();
    const texts = await Promise.all(stale.map(({ id }) => textOf(id)));
    if (stale.length === 0) return 0;
    await db.write(async (tx) => {
      await lockEntry(tx, db.engine, "(search)");
      for (const [index, { num, version }] of stale.entries()) {
        const text = texts[index] as Text;
        await tx.deleteFrom("entry_text").where("rowid", "=", num).execute();
        await tx
          .insertInto("entry_text")
          .values({ rowid: num, ...text })
          .execute();
        await tx.updateTable("entries").set({ indexed: version }).where("num", "=", num).execute();
      }
    });
    return stale.length;
  }

  return {
    catchUp,
    async search(query: string, options: { limit: number; section?: string }): Promise<Hit[]> {
      while ((await catchUp()) > 0);
      return rank(db, searched, searchTerms(query), inside(options.section), options.limit);
    },
  };
}

function inside(section: string | undefined) {
  if (section === undefined) return sql`TRUE`;
  const folder = `${section}/`;
  return sql`(e.id = ${section} OR substr(e.id, 1, ${folder.length}) = ${folder})`;
}
