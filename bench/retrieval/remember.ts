import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { embeddedText } from "../../src/search/index/chunk.ts";
import { localModel } from "../../src/search/model/model.ts";
import type { openSearch } from "../../src/search/open.ts";
import type { Database } from "../../src/store/database.ts";
import { passagesWithoutVector, type UnembeddedPassage } from "../../src/store/queries/search/vectors.ts";

type Passage = UnembeddedPassage;

const keyBytes = 16;
const scaleBytes = 4;
const vectorBytes = 384;
const folder = join(tmpdir(), "scriptorium-bench-vectors");
const file = join(folder, `${localModel.name}.int8`);

/** Embeds what has no vector yet. A text that any run before has embedded is not embedded again: it takes the longest of all. */
export async function embedAll(db: Database, search: ReturnType<typeof openSearch>): Promise<void> {
  const rows = await passagesWithoutVector(db.read, localModel.name, { afterNum: 0, limit: 10_000_000 });
  const known = read();
  const passages = new Map(rows.map((row) => [row.hash, { ...row, key: keyOf(row) }]));
  const remembered = [...passages.values()].flatMap(({ hash, key }) => {
    const vector = known.get(key);
    return vector ? [{ model: localModel.name, hash, ...vector }] : [];
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

type Known = Map<string, { scale: number; vector: Buffer }>;

async function write(db: Database, passages: Map<string, { key: string }>, known: Known): Promise<void> {
  const rows = await db.read.selectFrom("vectors").select(["hash", "scale", "vector"]).execute();
  for (const { hash, scale, vector } of rows) {
    const key = passages.get(hash)?.key;
    if (key) known.set(key, { scale, vector });
  }
  mkdirSync(folder, { recursive: true });
  const bytes = [...known].flatMap(([key, { scale, vector }]) => {
    const head = Buffer.alloc(scaleBytes);
    head.writeFloatLE(scale);
    return [Buffer.from(key, "hex"), head, vector];
  });
  writeFileSync(`${file}.${process.pid}`, Buffer.concat(bytes));
  renameSync(`${file}.${process.pid}`, file);
}

function read(): Known {
  const known: Known = new Map();
  const bytes = existsSync(file) ? readFileSync(file) : Buffer.alloc(0);
  const size = keyBytes + scaleBytes + vectorBytes;
  for (let at = 0; at + size <= bytes.length; at += size) {
    const scale = bytes.readFloatLE(at + keyBytes);
    const vector = bytes.subarray(at + keyBytes + scaleBytes, at + size);
    known.set(bytes.toString("hex", at, at + keyBytes), { scale, vector });
  }
  return known;
}

const keyOf = (passage: Passage) =>
  createHash("sha256")
    .update(`${localModel.name}\0${embeddedText(passage.title, passage)}`)
    .digest("hex")
    .slice(0, keyBytes * 2);
