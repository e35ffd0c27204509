import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

/** A collection as it is brought into a workspace: texts by name, facts with where they come from, and questions. */
export type Collection = {
  name: string;
  /** What a hit is counted as: a line of a text, or the text. */
  unit: "line" | "page";
  texts: Map<string, { title: string; text: string }>;
  facts: { text: string; from: string[] }[];
  questions: Question[];
};

export type Question = {
  text: string;
  /** `name#L7` for a line, `name` for a page. */
  gold: string[];
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
      const bytes = readFileSync(join(folder, file));
      const value = JSON.parse((file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8"));
      const name = file.replace(/\.json(\.gz)?$/, "");
      if (Array.isArray(value) && value[0]?.conversation) return [conversations(name, value)];
      if (Array.isArray(value?.docs) && Array.isArray(value?.queries)) return [documents(name, value)];
      return [];
    });
}

/** Each session is a text of one line a turn, as a person would paste it. */
function conversations(name: string, talks: Talk[]): Collection {
  const collection: Collection = { name, unit: "line", texts: new Map(), facts: [], questions: [] };
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
      const gold = places(evidence);
      if (gold.length > 0)
        collection.questions.push({ text: question, gold, category: categories[category] ?? String(category), folder });
    }
  }
  return collection;
}

type Documents = {
  docs: { id: string; title: string; text: string }[];
  queries: { text: string; gold: Record<string, number> }[];
};

function documents(name: string, { docs, queries }: Documents): Collection {
  return {
    name,
    unit: "page",
    texts: new Map(docs.map(({ id, title, text }) => [`d${id}`, { title, text }])),
    facts: [],
    questions: queries.map(({ text, gold }) => ({
      text,
      gold: Object.keys(gold).map((id) => `d${id}`),
      category: "all",
    })),
  };
}
