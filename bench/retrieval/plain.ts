import { chunk } from "../../src/search/index/chunk.ts";
import { openConnection } from "../../src/store/sqlite/connection.ts";
import type { Table } from "../support/table.ts";
import { categoryFigures, figures, score } from "./scores.ts";
import type { Collection } from "./sets.ts";

/** What one gets from FTS5 by itself: all words must match, as it is by default, or any. */
export function plainFts(collection: Collection): Table[] {
  const db = openConnection(":memory:", 0);
  db.exec("CREATE VIRTUAL TABLE t USING fts5 (title, body, tokenize = 'porter unicode61')");
  const insert = db.prepare("INSERT INTO t (rowid, title, body) VALUES (?, ?, ?)");
  const units: string[] = [];
  for (const [name, { title, text }] of collection.texts) {
    const parts =
      collection.unit === "page"
        ? [{ place: name, body: text }]
        : chunk({ title, text }).map(({ line, body }) => ({ place: `${name}#L${line}`, body }));
    for (const { place, body } of parts) {
      units.push(place);
      insert.run([units.length, collection.unit === "page" ? title : "", body]);
    }
  }
  const find = db.prepare("SELECT rowid FROM t WHERE t MATCH ? ORDER BY rank LIMIT 200");
  const rows = [" ", " OR "].map((joint) => {
    const asked = collection.questions.map((question) => {
      const words = (question.text.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => `"${word}"`);
      const found = find.all([words.join(joint)]).map(({ rowid }) => units[(rowid as number) - 1] as string);
      const inside = question.folder ? found.filter((place) => place.startsWith(`${question.folder}/`)) : found;
      return { question, found: inside, gold: question.gold };
    });
    const scores = score(asked);
    return {
      what: joint === " " ? "all words" : "any word",
      figures: { ...figures(scores), ...categoryFigures(scores) },
    };
  });
  db.close();
  return [{ question: `${collection.name}: plain FTS5`, rows }];
}
