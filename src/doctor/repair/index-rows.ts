import { statOf } from "../../store/disk/disk.ts";
import { removeEntry, writeEntry } from "../../store/queries/entries.ts";
import { allLinks } from "../../store/queries/links.ts";
import { compareIndex } from "../workspace/compare-index.ts";
import { readRecord } from "../workspace/record.ts";
import { readTexts } from "../workspace/texts.ts";
import type { Repair, Repaired } from "./repair.ts";

/** Writes the index row of an entry again from its newest version. */
export const repairIndex: Repair = {
  kinds: ["index-differs", "index-missing", "index-without-version"],
  async run(app) {
    const record = await readRecord(app);
    const { newest } = await readTexts(app, record);
    const rows = new Map(record.versions.map((row) => [row.entry_id, row]));
    const repaired: Repaired[] = [];
    for (const { entry, kind, what } of compareIndex(record, newest, await allLinks(app.db.read))) {
      const [row, text] = [rows.get(entry), newest.get(entry)];
      if (kind === "index-without-version") await app.db.write((tx) => removeEntry(tx, entry));
      if (row && text) {
        const { version, blob, author, at } = row;
        const index = { id: entry, version, blob, last_author: author, updated_at: at, title: text.title };
        const stat = app.files ? statOf(app.files.fileOf(entry)) : "";
        // Links are read again when they are needed, as the section's mode says.
        await app.db.write((tx) => writeEntry(tx, { ...index, words: text.words, stat, links: null }));
      } else if (row) continue;
      repaired.push({
        subject: entry,
        before: what,
        after: row ? "index row written from its newest version" : "index row removed",
      });
    }
    if (repaired.length > 0) await app.links.catchUp();
    return repaired;
  },
};
