import { statSync } from "node:fs";
import { join } from "node:path";
import type { Kind } from "../../src/search/kinds.ts";
import { localModel } from "../../src/search/model/model.ts";
import { openSearch } from "../../src/search/open.ts";
import { inBytes } from "../../src/search/rank/meaning.ts";
import { searchTerms } from "../../src/search/rank/terms.ts";
import type { Database } from "../../src/store/database.ts";
import { openDatabase } from "../../src/store/open.ts";
import { fieldWeights } from "../../src/store/queries/search/lexemes.ts";
import { openConnection } from "../../src/store/sqlite/connection.ts";
import { percentile, seeded, timed } from "../support/measure.ts";
import type { Place } from "../support/place.ts";
import { holds, type Row, type Table } from "../support/table.ts";
import { proseWriter, word } from "../support/text.ts";
import { carefulExpression } from "./careful.ts";
import type { Collection } from "./sets.ts";

const rounds = 200;
const uncounted = 50;

/** Texts and questions of a speed measurement. */
export type SpeedTexts = { name: string; text: (at: number) => string; question: (at: number) => string };

/** Generated prose of 700 bytes, and questions of one to six words. */
export function generated(): SpeedTexts {
  const prose = proseWriter(7);
  const chance = seeded(11);
  const question = () =>
    Array.from({ length: 1 + Math.floor(chance() * 6) }, () => word(Math.floor(20_000 ** chance()))).join(" ");
  return { name: "generated prose", text: () => prose(700), question };
}

/** Five sentences of the dev sets at random in each passage, and their questions. */
export function recombined(collections: Collection[]): SpeedTexts {
  const sentences = collections
    .flatMap(({ texts }) => [...texts.values()])
    .flatMap(({ text }) => text.split(/(?<=[.!?])\s+|\n/))
    .filter((sentence) => sentence.length > 20);
  const questions = collections.flatMap((one) => one.questions.map(({ text }) => text));
  const chance = seeded(13);
  const any = <T>(list: T[]) => list[Math.floor(chance() * list.length)] as T;
  return {
    name: "sentences of the dev sets",
    text: () => Array.from({ length: 5 }, () => any(sentences)).join(" "),
    question: () => any(questions),
  };
}

/** How long a search takes, beside careful plain FTS5 over the same passages in the same run. */
export async function speed(
  place: Place,
  engine: "sqlite" | "postgres",
  { size, model, texts }: { size: number; model: string | undefined; texts: SpeedTexts },
): Promise<Table> {
  const rows: Row[] = [];
  const file = join(place.folder("index"), "index.db");
  const db = await openDatabase(engine === "postgres" ? { engine, url: await place.postgres() } : { engine, file });
  let bytes = 0;
  const kind: Kind = {
    name: "entry",
    readers: ["admin"],
    all: async () => Array.from({ length: size }, (_, n) => `e${n}`),
    read: async (id) => {
      const text = texts.text(Number(id.slice(1)));
      bytes += Buffer.byteLength(text);
      return { title: `Entry ${id}`, text, author: "", at: "" };
    },
  };
  const folders = { wiki: "wiki", sources: "sources" };
  const search = openSearch({ db, kinds: [kind], embeddings: undefined, folders, modelFolder: model ?? "" });
  let peer: Peer | undefined;
  try {
    const indexed = await timed(() => search.rebuild());
    peer = engine === "sqlite" ? peerBeside(file) : undefined;
    if (model) {
      await makeVectors(db);
      await search.meaning.embedSome();
    }
    const indexSize = engine === "sqlite" ? statSync(file).size / bytes : Number.NaN;
    const questions = Array.from({ length: uncounted + rounds }, (_, at) => texts.question(at));
    for (const meaning of model ? [false, true] : [false]) {
      const { times, carefulTimes, agreement } = await ask(search, meaning, questions, peer);
      const again = meaning ? undefined : await ask(search, meaning, questions, peer);
      const ratioOf = (share: number, { times, carefulTimes }: Pick<Asked, "times" | "carefulTimes">) =>
        percentile(times, share) / percentile(carefulTimes, share);
      const ratio = (share: number) => ratioOf(share, { times, carefulTimes });
      const agreed = agreement.reduce((sum, one) => sum + one, 0) / agreement.length;
      rows.push({
        what: `${engine}, ${size} passages, ${meaning ? "words and vectors" : "words"}`,
        figures: {
          "p50 ms": percentile(times, 0.5),
          "p95 ms": percentile(times, 0.95),
          ...(peer
            ? {
                "careful p50 ms": percentile(carefulTimes, 0.5),
                "careful p95 ms": percentile(carefulTimes, 0.95),
                "p50 ratio": ratio(0.5),
                "p95 ratio": ratio(0.95),
                ...(again ? { "again p50 ratio": ratioOf(0.5, again), "again p95 ratio": ratioOf(0.95, again) } : {}),
                ...(meaning ? {} : { "top ten as full BM25": agreed.toFixed(3) }),
                "index / text": indexSize,
              }
            : {}),
          "indexing s": indexed / 1000,
        },
        ...(peer && !meaning
          ? {
              target: holds(
                "p50 and p95 ≤ 1 × careful plain, top ten ≥ 0.9, index ≤ 6 × text",
                ratio(0.5) <= 1 && ratio(0.95) <= 1 && agreed >= 0.9 && indexSize <= 6,
              ),
            }
          : {}),
      });
    }
  } finally {
    peer?.close();
    await search.close();
    await db.close();
  }
  const clock = engine === "sqlite" ? "CPU time of the process" : "wall-clock time";
  return {
    question: `search among ${size} passages of ${texts.name}`,
    rows,
    notes: [`${clock}; each question is asked once; "again" is the second time, when its words are cached`],
  };
}

/** Vectors of the right length that mean nothing: to compare them takes as long, to embed the texts would take an hour. */
async function makeVectors(db: Database): Promise<void> {
  const chance = seeded(5);
  const hashes = await db.read.selectFrom("passages").select("hash").distinct().execute();
  for (let from = 0; from < hashes.length; from += 200) {
    const values = hashes.slice(from, from + 200).map(({ hash }) => {
      const vector = Float32Array.from({ length: 384 }, () => chance() - 0.5);
      const length = Math.hypot(...vector);
      return { model: localModel.name, hash, ...inBytes(vector.map((value) => value / length)) };
    });
    await db.write((tx) => tx.insertInto("vectors").values(values).execute());
  }
}

type Asked = { times: number[]; carefulTimes: number[]; agreement: number[] };

/**
 * Each question is asked of both in turn: where the machine is busy, only the ratio means something. SQLite works in
 * this process, so that its CPU time counts what others do not disturb; PostgreSQL's clock is the wall's.
 */
async function ask(
  search: ReturnType<typeof openSearch>,
  meaning: boolean,
  questions: string[],
  peer: Peer | undefined,
): Promise<Asked> {
  const asked: Asked = { times: [], carefulTimes: [], agreement: [] };
  // The first are not counted: nobody is measured while Node still compiles them and PostgreSQL plans.
  for (const [at, question] of questions.entries()) {
    const options = { scope: { kinds: ["entry"] }, limit: 10, without: meaning ? [] : (["meaning"] as "meaning"[]) };
    const clock = peer ? cpuTimed : timed;
    const took = await clock(() => search.find.pages(question, options));
    const carefulTook = peer ? await clock(() => peer.careful(question)) : 0;
    if (at < uncounted) continue;
    asked.times.push(took);
    asked.carefulTimes.push(carefulTook);
    if (!peer || meaning) continue;
    const { hits } = await search.find.passages(question, { ...options, without: ["meaning", "links"] });
    asked.agreement.push(
      peer.agreement(
        question,
        hits.map(({ num }) => num),
      ),
    );
  }
  return asked;
}

async function cpuTimed(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

type Peer = ReturnType<typeof peerBeside>;

/** Careful plain FTS5 over the same passages in a table of its own, and full BM25 over our index. */
function peerBeside(file: string) {
  const db = openConnection(file, 5000);
  const plain = openConnection(`${file}.plain`, 5000);
  plain.exec("CREATE VIRTUAL TABLE t USING fts5 (title, body, tokenize = 'porter unicode61')");
  const insert = plain.prepare("INSERT INTO t (rowid, title, body) VALUES (?, ?, ?)");
  plain.exec("BEGIN");
  const passages = db.prepare("SELECT p.num, t.title, p.body FROM passages p JOIN things t ON t.num = p.thing").all([]);
  for (const { num, title, body } of passages) insert.run([num, title, body] as string[]);
  plain.exec("COMMIT");
  const find = plain.prepare("SELECT rowid, title, body FROM t WHERE t MATCH ? ORDER BY bm25(t, 2, 1) LIMIT 10");
  const { title, body, near } = fieldWeights;
  const full = db.prepare(
    `SELECT rowid AS num, bm25(passage_text, ${title}, ${body}, ${near}) AS score FROM passage_text WHERE passage_text MATCH ?
     ORDER BY score LIMIT 10`,
  );
  return {
    careful: (question: string) => void find.all([carefulExpression(question)]),
    /** The share of the ten best by full BM25 that were found. */
    agreement(question: string, found: number[]): number {
      const expression = searchTerms(question)
        .map((one) => `"${one}"`)
        .join(" OR ");
      const best = expression === "" ? [] : full.all([expression]).map(({ num }) => num as number);
      return best.length === 0 ? 1 : best.filter((num) => found.includes(num)).length / best.length;
    },
    close() {
      db.close();
      plain.close();
    },
  };
}
