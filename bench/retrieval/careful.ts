import { chunk } from "../../src/search/index/chunk.ts";
import { isStopWord } from "../../src/search/rank/terms.ts";
import { openConnection } from "../../src/store/sqlite/connection.ts";
import type { Collection, Question } from "./sets.ts";

/** What a question found, the best first. */
export type Ask = (question: Question, folder: string | undefined) => string[];

/**
 * The peer: FTS5 by itself, used with care. Stemmed, any word may match, stop words are dropped, and the title
 * counts twice. It ranks what is counted: lines of a conversation, or whole documents.
 */
export function carefulFts(collection: Collection): { ask: Ask; close(): void } {
  const db = openConnection(":memory:", 0);
  db.exec("CREATE VIRTUAL TABLE t USING fts5 (title, body, tokenize = 'porter unicode61')");
  const insert = db.prepare("INSERT INTO t (rowid, title, body) VALUES (?, ?, ?)");
  const units: string[] = [];
  for (const [name, { title, text }] of collection.texts) {
    const parts =
      collection.unit === "page"
        ? [{ place: name, title, body: text }]
        : chunk({ title, text }).map(({ line, heading, body }) => ({
            place: `${name}#L${line}`,
            title: heading,
            body,
          }));
    for (const part of parts) {
      units.push(part.place);
      insert.run([units.length, part.title, part.body]);
    }
  }
  const find = db.prepare("SELECT rowid FROM t WHERE t MATCH ? ORDER BY bm25(t, 2, 1) LIMIT ?");
  return {
    ask(question, folder) {
      const expression = carefulExpression(question.text);
      if (expression === "") return [];
      // In a folder all are ranked: others must not take its places.
      const found = find.all([expression, folder ? units.length : 200]);
      const places = found.map(({ rowid }) => units[(rowid as number) - 1] as string);
      return (folder ? places.filter((place) => place.startsWith(`${folder}/`)) : places).slice(0, 200);
    },
    close: () => db.close(),
  };
}

export function carefulExpression(text: string): string {
  const words = [...new Set((text.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => word.toLowerCase()))];
  const telling = words.filter((word) => !isStopWord(word));
  return (telling.length > 0 ? telling : words).map((word) => `"${word}"`).join(" OR ");
}
