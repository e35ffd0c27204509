import { join } from "node:path";
import type { Kind } from "../../src/search/kinds.ts";
import { openSearch } from "../../src/search/open.ts";
import { byPage } from "../../src/search/rank/fuse.ts";
import { openDatabase } from "../../src/store/open.ts";
import { percentile } from "../support/measure.ts";
import type { Place } from "../support/place.ts";
import type { Row, Table } from "../support/table.ts";
import { atLeast } from "../support/table.ts";
import { embedAll } from "./remember.ts";
import { categoryFigures, figures, type Scores, score } from "./scores.ts";
import type { Collection, Question } from "./sets.ts";

/** What is put together: words; and the meaning; and what the best hits link to; and facts that lead to where they come from. */
export type Way = "lexical" | "vectors" | "links" | "facts";

type Options = {
  engine: "sqlite" | "postgres";
  model: string | undefined;
  ways: Way[];
};

/** The floors that were set before this was built. */
const floors: Record<string, Partial<Record<Way, number>>> = {
  "locomo turns": { lexical: 0.72, vectors: 0.75, facts: 0.78 },
  "locomo pooled": { lexical: 0.87 },
  scifact: { lexical: 0.68, vectors: 0.72 },
};

/** Everything through the index and the ranking that the product uses; only where the texts come from is our own. */
export async function measure(
  place: Place,
  collection: Collection,
  { engine, model, ways }: Options,
): Promise<Table[]> {
  const db = await openDatabase(
    engine === "postgres"
      ? { engine, url: await place.postgres() }
      : { engine, file: join(place.folder("index"), "index.db") },
  );
  const kinds = [kindOf("source", new Map([...collection.texts])), kindOf("node", factTexts(collection))];
  const search = openSearch({
    db,
    kinds,
    modelFolder: model ?? "",
    embeddings: undefined,
    folders: { wiki: "wiki", sources: "sources" },
  });
  try {
    const began = performance.now();
    await search.rebuild();
    const indexing = (performance.now() - began) / 1000;
    if (model) await embedAll(db, search);
    const answers = new Map<Way, Answered[]>();
    for (const way of ways) answers.set(way, await askAll(search, collection, way));
    return tablesOf(collection, engine, answers, indexing);
  } finally {
    await search.close();
    await db.close();
  }
}

const kindOf = (name: string, texts: Map<string, { title: string; text: string }>): Kind => ({
  name,
  readers: ["admin"],
  all: async () => [...texts.keys()],
  async read(id) {
    const text = texts.get(id);
    return text && { ...text, author: "", at: "" };
  },
});

const factTexts = ({ facts }: Collection) =>
  new Map(
    facts.map(({ text, from }, at) => [
      `fact-${at}`,
      { title: "", text: `${text}\n${from.map((place) => `[[source:${place}]]`).join(" ")}` },
    ]),
  );

type Found = { lines: string[]; pages: string[]; ms: number };
type Answered = { question: Question; here: Found; everywhere: Found };

async function askAll(search: ReturnType<typeof openSearch>, collection: Collection, way: Way): Promise<Answered[]> {
  const ask = async (question: Question, section: string | undefined): Promise<Found> => {
    const began = performance.now();
    const { hits } = await search.find.passages(question.text, {
      scope: section ? { kinds: ["source"], section } : { kinds: ["source"] },
      limit: 200,
      ...(way === "facts" ? { through: ["node"] } : {}),
      without: way === "lexical" ? ["meaning", "links"] : way === "vectors" ? ["links"] : [],
    });
    const ms = performance.now() - began;
    const pages = byPage(hits.map(({ id, score }) => ({ page: id, score }))).map(({ page }) => page);
    return { lines: hits.map(({ id, line }) => `${id}#L${line}`), pages, ms };
  };
  const answered: Answered[] = [];
  for (const question of collection.questions) {
    const everywhere = await ask(question, undefined);
    answered.push({ question, everywhere, here: question.folder ? await ask(question, question.folder) : everywhere });
  }
  return answered;
}

function tablesOf(collection: Collection, engine: string, answers: Map<Way, Answered[]>, indexing: number): Table[] {
  const name = collection.name.split("-")[0] ?? "";
  const label = (way: Way) =>
    ({ lexical: "words", vectors: "+ vectors", links: "+ links", facts: "+ facts to their sources" })[way];
  const pageOf = (place: string) => place.replace(/#L\d+$/, "");
  const table = (
    what: string,
    floor: string,
    get: (one: Answered) => { found: string[]; ms: number },
    unit: "line" | "page",
    figure: keyof Scores = "r10",
  ): Table => {
    const rows: Row[] = [...answers].map(([way, answered]) => {
      const scores = score(
        answered.map((one) => ({
          question: one.question,
          found: get(one).found,
          gold: unit === "page" ? [...new Set(one.question.gold.map(pageOf))] : one.question.gold,
        })),
      );
      const times = answered.map((one) => get(one).ms);
      const least = floors[floor]?.[way];
      return {
        what: `${engine}, ${label(way)}`,
        figures: {
          ...figures(scores),
          ...categoryFigures(scores),
          "p50 ms": percentile(times, 0.5),
          "p95 ms": percentile(times, 0.95),
          "indexing s": indexing,
        },
        ...(least === undefined ? {} : { target: atLeast(least, Number(scores[figure]), "") }),
      };
    });
    return { question: `${collection.name}: ${what}`, rows };
  };
  if (collection.unit === "page")
    return [
      table(
        "pages, by nDCG@10",
        name,
        ({ everywhere }) => ({ found: everywhere.pages, ms: everywhere.ms }),
        "page",
        "ndcg10",
      ),
    ];
  const everywhere = (unit: "lines" | "pages") => (one: Answered) => ({
    found: one.everywhere[unit],
    ms: one.everywhere.ms,
  });
  const here = (unit: "lines" | "pages") => (one: Answered) => ({ found: one.here[unit], ms: one.here.ms });
  const raw = ({ everywhere }: Answered) => ({ found: everywhere.lines.map(pageOf), ms: everywhere.ms });
  if (!collection.questions.some(({ folder }) => folder)) {
    return [table("passages", "", everywhere("lines"), "line"), table("pages", "", everywhere("pages"), "page")];
  }
  return [
    table("turns, each conversation by itself", `${name} turns`, here("lines"), "line"),
    table("turns, all conversations together", "", everywhere("lines"), "line"),
    table("sessions, all together, distinct pages; target R@5", `${name} pooled`, everywhere("pages"), "page", "r5"),
    table("sessions, all together, raw hits counted, as the peers do", "", raw, "page"),
    table("sessions, each conversation by itself, distinct pages", "", here("pages"), "page"),
  ];
}
