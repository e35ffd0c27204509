import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { gunzipSync } from "node:zlib";

/** A collection as it is brought into a workspace: texts by name, facts with where they come from, and questions. */
export type Collection = {
  name: string;
  /** Dev sets may be used for choosing; a report set is only ever counted. */
  role: "dev" | "report";
  /** What a hit is counted as: a line of a text, or the text. */
  unit: "line" | "page";
  texts: Map<string, { title: string; text: string }>;
  facts: { text: string; from: string[] }[];
  questions: Question[];
};

export type Question = {
  text: string;
  /** Relevance by place: `name#L7` for a line, `name` for a page. */
  gold: Map<string, number>;
  category: string;
  /** The folder that the question is about. */
  folder?: string;
};

type Turn = { speaker: string; dia_id: string; text: string; blip_caption?: string };
type Talk = {
  sample_id: string;
  conversation: Record<string, string | Turn[]>;
  observation: Record<string, Record<string, [string, string | string[]][]>>;
  qa: { question: string; evidence: string[]; category: number }[];
};

const categories = ["", "multi-hop", "temporal", "open-domain", "single-hop", "adversarial"];

/** Every collection in the folder, in the formats that its README describes. */
export function readCollections(folder: string): Collection[] {
  return readdirSync(folder)
    .filter((file) => /\.json(\.gz)?$/.test(file))
    .sort()
    .flatMap((file) => {
      const value = JSON.parse(textOf(join(folder, file)));
      const name = file.replace(/\.json(\.gz)?$/, "");
      if (Array.isArray(value) && value[0]?.conversation) return [conversations(name, value)];
      if (Array.isArray(value?.docs) && Array.isArray(value?.queries)) return [documents(name, value)];
      return [];
    });
}

function textOf(file: string): string {
  const bytes = readFileSync(file);
  return (file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8");
}

const roleOf = (name: string): Collection["role"] => (/-dev$/.test(name) ? "dev" : "report");

/** Each session is a text of one line a turn, as a person would paste it. */
function conversations(name: string, talks: Talk[]): Collection {
  const collection: Collection = {
    name,
    role: roleOf(name),
    unit: "line",
    texts: new Map(),
    facts: [],
    questions: [],
  };
  for (const [at, talk] of talks.entries()) {
    const folder = talk.sample_id ?? `talk-${at + 1}`;
    const placeOf = new Map<string, string>();
    for (const [session, turns] of Object.entries(talk.conversation)) {
      if (!Array.isArray(turns)) continue;
      const page = `${folder}/${session}.txt`;
      const when = String(talk.conversation[`${session}_date_time`] ?? "");
      const lines = [`# ${session.replace("_", " ")}, ${when}`, ""];
      for (const turn of turns) {
        const seen = turn.blip_caption ? ` [${turn.blip_caption}]` : "";
        lines.push(`${turn.speaker}: ${`${turn.text}${seen}`.replaceAll(/\s+/g, " ")}`);
        placeOf.set(turn.dia_id, `${page}#L${lines.length}`);
      }
      collection.texts.set(page, { title: page, text: lines.join("\n") });
    }
    const places = (ids: string[]) => [
      ...new Set(ids.flatMap((id) => id.split(/[;,\s]+/)).flatMap((id) => placeOf.get(id) ?? [])),
    ];
    for (const observed of Object.values(talk.observation ?? {}))
      for (const facts of Object.values(observed))
        for (const [text, from] of facts) collection.facts.push({ text, from: places([from].flat()) });
    for (const { question, evidence, category } of talk.qa) {
      const gold = new Map(places(evidence).map((place) => [place, 1]));
      if (gold.size > 0)
        collection.questions.push({ text: question, gold, category: categories[category] ?? String(category), folder });
    }
  }
  return collection;
}

type Documents = {
  docs: { id: string; title?: string; text: string }[];
  queries: { text: string; gold: Record<string, number> }[];
};

function documents(name: string, { docs, queries }: Documents): Collection {
  return {
    name,
    role: roleOf(name),
    unit: "page",
    texts: new Map(docs.map(({ id, title = "", text }) => [`d${id}`, { title, text }])),
    facts: [],
    questions: queries.flatMap(({ text, gold }) => {
      const relevant = Object.entries(gold).filter(([, relevance]) => relevance > 0);
      if (relevant.length === 0) return [];
      return [{ text, gold: new Map(relevant.map(([id, relevance]) => [`d${id}`, relevance])), category: "all" }];
    }),
  };
}

/** A folder in BEIR's layout: `corpus.jsonl`, `queries.jsonl`, and `qrels.tsv` or `qrels/*.tsv`, each also with `.gz`. */
export function readBeir(folder: string): Collection {
  const relevance = new Map<string, Record<string, number>>();
  for (const file of relevanceFiles(folder)) {
    for (const line of textOf(file).split("\n")) {
      const cells = line.trim().split(/\s+/);
      // TREC's four columns have an unused one after the question.
      const [question = "", id = "", score = ""] = cells.length === 4 ? [cells[0], cells[2], cells[3]] : cells;
      if (!/^-?\d+(\.\d+)?$/.test(score)) continue;
      const known = relevance.get(question) ?? {};
      known[id] = Number(score);
      relevance.set(question, known);
    }
  }
  const rows = <T>(name: string): T[] =>
    textOf(existing(join(folder, name)))
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line) => JSON.parse(line));
  const docs = rows<{ _id: string; title?: string; text: string }>("corpus.jsonl");
  const queries = rows<{ _id: string; text: string }>("queries.jsonl");
  return documents(basename(folder), {
    docs: docs.map(({ _id, title, text }) => ({ id: _id, text, ...(title === undefined ? {} : { title }) })),
    queries: queries.map(({ _id, text }) => ({ text, gold: relevance.get(_id) ?? {} })),
  });
}

function relevanceFiles(folder: string): string[] {
  const inside = join(folder, "qrels");
  if (!existsSync(inside) || !statSync(inside).isDirectory()) return [existing(join(folder, "qrels.tsv"))];
  // A split that is for testing is the one that others report.
  const files = readdirSync(inside).filter((file) => /\.tsv(\.gz)?$/.test(file));
  const test = files.filter((file) => file.startsWith("test."));
  return (test.length > 0 ? test : files).map((file) => join(inside, file));
}

function existing(file: string): string {
  const found = [file, `${file}.gz`].find((path) => existsSync(path));
  if (!found) throw new Error(`${file} does not exist`);
  return found;
}
