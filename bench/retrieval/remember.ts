import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { embeddedText } from "../../src/search/index/chunk.ts";
import { localModel } from "../../src/search/model/model.ts";
import type { openSearch } from "../../src/search/open.ts";
import type { Database } from "../../src/store/database.ts";

type Passage = { hash: string; title: string; heading: string; body: string };

const keyBytes = 16;
const vectorBytes = 384 * 4;
const folder = join(tmpdir(), "scriptorium-bench-vectors");
const file = join(folder, `${localModel.name}.bin`);

/** Embeds what has no vector yet. A text that any run before has embedded is not embedded again: it takes the longest of all. */
export async function embedAll(db: Database, search: ReturnType<typeof openSearch>): Promise<void> {
  const { rows } = await sql<Passage>`
    SELECT p.hash, t.title, p.heading, p.body FROM passages p JOIN things t ON t.num = p.thing`.execute(db.read);
  const known = read();
  const passages = new Map(rows.map((row) => [row.hash, { ...row, key: keyOf(row) }]));
  const remembered = [...passages.values()].flatMap(({ hash, key }) => {
    const vector = known.get(key);
    return vector ? [{ model: localModel.name, hash, vector }] : [];
  });
  await db.write(async (tx) => {
    for (let from = 0; from < remembered.length; from += 200)
      await tx
        .insertInto("vectors")
        .values(remembered.slice(from, from + 200))
        .onConflict((conflict) => conflict.doNothing())
        .execute();
  });
  while ((await search.meaning.embedSome()) > 0);
  if (remembered.length < passages.size) await write(db, passages, known);
}

async function write(db: Database, passages: Map<string, { key: string }>, known: Map<string, Buffer>): Promise<void> {
  for (const { hash, vector } of await db.read.selectFrom("vectors").select(["hash", "vector"]).execute()) {
    const key = passages.get(hash)?.key;
    if (key) known.set(key, vector);
  }
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    `${file}.${process.pid}`,
    Buffer.concat([...known].flatMap(([key, vector]) => [Buffer.from(key, "hex"), vector])),
  );
  renameSync(`${file}.${process.pid}`, file);
}

function read(): Map<string, Buffer> {
  const known = new Map<string, Buffer>();
  const bytes = existsSync(file) ? readFileSync(file) : Buffer.alloc(0);
  const size = keyBytes + vectorBytes;
  for (let at = 0; at + size <= bytes.length; at += size)
    known.set(bytes.toString("hex", at, at + keyBytes), bytes.subarray(at + keyBytes, at + size));
  return known;
}

const keyOf = (passage: Passage) =>
  createHash("sha256")
    .update(`${localModel.name}\0${embeddedText(passage.title, passage)}`)
    .digest("hex")
    .slice(0, keyBytes * 2);
