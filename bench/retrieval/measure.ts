import { join } from "node:path";
import type { Kind } from "../../src/search/kinds.ts";
import { openSearch } from "../../src/search/open.ts";
import { byPage } from "../../src/search/rank/fuse.ts";
import { openDatabase } from "../../src/store/open.ts";
import { percentile } from "../support/measure.ts";
import type { Place } from "../support/place.ts";
import { holds, type Row, type Table } from "../support/table.ts";
import { carefulFts } from "./careful.ts";
import { embedAll } from "./remember.ts";
import { type Answer, below, categoryFigures, figures, type Scores, score } from "./scores.ts";
import type { Collection, Question } from "./sets.ts";

/** What is put together: words; and the meaning; and what the best hits link to; and facts that lead to where they come from. */
export type Way = "lexical" | "vectors" | "links" | "facts";

type Options = {
  engine: "sqlite" | "postgres";
  model: string | undefined;
  ways: Way[];
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
    return tablesOf(collection, engine, { answers, careful: askCareful(collection), indexing });
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
/** `here` is the answer among the texts of the question's own folder. */
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

function askCareful(collection: Collection): Answered[] {
  const { ask, close } = carefulFts(collection);
  const timed = (question: Question, folder: string | undefined): Found => {
    const began = performance.now();
    const lines = ask(question, folder);
    const ms = performance.now() - began;
    return { lines, pages: collection.unit === "page" ? lines : [...new Set(lines.map(pageOf))], ms };
  };
  const answered = collection.questions.map((question) => ({
    question,
    everywhere: timed(question, undefined),
    here: timed(question, question.folder),
  }));
  close();
  return answered;
}

const pageOf = (place: string) => place.replace(/#L\d+$/, "");

type Counted = { what: string; unit: "lines" | "pages"; where: "here" | "everywhere" };

function countedFor(collection: Collection): Counted[] {
  if (collection.unit === "page") return [{ what: "documents", unit: "pages", where: "everywhere" }];
  if (!collection.questions.some(({ folder }) => folder))
    return [
      { what: "passages", unit: "lines", where: "everywhere" },
      { what: "pages", unit: "pages", where: "everywhere" },
    ];
  return [
    { what: "turns, each conversation by itself", unit: "lines", where: "here" },
    { what: "turns, all conversations together", unit: "lines", where: "everywhere" },
    { what: "sessions, all conversations together", unit: "pages", where: "everywhere" },
  ];
}

type Measured = { answers: Map<Way, Answered[]>; careful: Answered[]; indexing: number };

const labels: Record<Way, string> = {
  lexical: "words",
  vectors: "+ vectors",
  links: "+ links",
  facts: "+ facts to their sources",
};

function tablesOf(collection: Collection, engine: string, { answers, careful, indexing }: Measured): Table[] {
  return countedFor(collection).map(({ what, unit, where }) => {
    const answersOf = (answered: Answered[]): Answer[] =>
      answered.map((one) => ({
        question: one.question,
        found: one[where][unit],
        gold: unit === "pages" ? pagesOf(one.question.gold) : one.question.gold,
      }));
    const base = score(answersOf(careful));
    const byWords = answers.get("lexical");
    const words = byWords && score(answersOf(byWords));
    const row = (label: string, answered: Answered[], targets?: { says: string; least: Scores }[]): Row => {
      const found = answersOf(answered);
      const scores = score(found);
      const times = answered.map((one) => one[where].ms);
      const failed = targets?.flatMap(({ says, least }) => {
        const lower = below(scores, least);
        return lower.length > 0 ? [`${lower.join(", ")} below ${says}`] : [];
      });
      return {
        what: label,
        figures: {
          ...(targets ? figures(scores, base) : figures(scores)),
          ...categoryFigures(found, scores),
          "p50 ms": percentile(times, 0.5),
          "p95 ms": percentile(times, 0.95),
        },
        ...(failed
          ? {
              target: holds(
                failed.length > 0
                  ? failed.join("; ")
                  : `no measure below ${targets?.map(({ says }) => says).join(" or ")}`,
                failed.length === 0,
              ),
            }
          : {}),
      };
    };
    const peer = { says: "careful plain FTS5", least: base };
    return {
      question: `${collection.name} (${collection.role} set): ${what}, ${collection.questions.length} questions`,
      rows: [
        row("careful plain FTS5", careful),
        ...[...answers].map(([way, answered]) =>
          row(
            `${engine}, ${labels[way]}`,
            answered,
            way === "lexical" || !words ? [peer] : [peer, { says: "words", least: words }],
          ),
        ),
      ],
      notes: [
        `Each figure with its 95 % interval; Δ is the paired difference to careful plain FTS5. Indexed in ${indexing.toFixed(1)} s.`,
      ],
    };
  });
}

function pagesOf(gold: Map<string, number>): Map<string, number> {
  const pages = new Map<string, number>();
  for (const [place, relevance] of gold) pages.set(pageOf(place), Math.max(pages.get(pageOf(place)) ?? 0, relevance));
  return pages;
}
