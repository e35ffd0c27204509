/** What search finds, and how long it takes. See bench/README.md. */
import { existsSync } from "node:fs";
import { availableParallelism, homedir, loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readHouse } from "./retrieval/house.ts";
import { measure, type Way } from "./retrieval/measure.ts";
import { published } from "./retrieval/published.ts";
import { type Collection, readBeir, readCollections } from "./retrieval/sets.ts";
import { speed } from "./retrieval/speed.ts";
import { openPlace } from "./support/place.ts";
import { spell, type Table } from "./support/table.ts";

const { values } = parseArgs({
  options: {
    data: { type: "string" },
    beir: { type: "string", multiple: true, default: [] },
    fold: { type: "string" },
    engine: { type: "string", multiple: true, default: ["sqlite", "postgres"] },
    model: { type: "string", default: join(homedir(), ".cache/scriptorium/models/all-MiniLM-L6-v2") },
    way: { type: "string", multiple: true, default: ["lexical", "vectors", "links", "facts"] },
    only: { type: "string", multiple: true, default: [] },
    size: { type: "string", multiple: true, default: ["6000", "100000"] },
    limit: { type: "string" },
    json: { type: "boolean", default: false },
  },
});

async function main(): Promise<void> {
  const place = openPlace();
  for (const signal of ["SIGINT", "SIGTERM"])
    process.once(signal, () => void place.leave().then(() => process.exit(1)));
  const tables: Table[] = [];
  const show = (table: Table) => {
    tables.push(table);
    (values.json ? console.error : console.log)(spell(table));
  };
  const isAsked = (name: string) => values.only.length === 0 || values.only.some((part) => name.includes(part));
  const model = existsSync(join(values.model, "model.onnx")) ? values.model : undefined;
  const say = values.json ? console.error : console.log;
  try {
    say(`${availableParallelism()} cores (load ${(loadavg()[0] ?? 0).toFixed(1)}), Node ${process.versions.node}`);
    say(model ? "with all-MiniLM-L6-v2\n" : "no model: scriptorium model install, or --model FOLDER\n");
    if (!values.data) say("no --data DIR: only what is in this repository\n");
    const collections = [
      ...(isAsked("house-dev") || isAsked("house-report") ? readHouse() : []),
      ...(values.data ? readCollections(values.data) : []),
      ...values.beir.map(readBeir),
    ];
    for (const collection of collections.filter(({ name }) => isAsked(name))) {
      const shortened = { ...collection, questions: chosenQuestions(collection) };
      for (const engine of values.engine as ("sqlite" | "postgres")[]) {
        const possible = {
          lexical: true,
          vectors: model !== undefined,
          links: true,
          facts: shortened.facts.length > 0,
        };
        const ways = (Object.keys(possible) as Way[]).filter((way) => possible[way] && values.way.includes(way));
        for (const table of await measure(place, shortened, { engine, model, ways })) show(table);
      }
    }
    if (collections.some(({ name }) => name.startsWith("locomo") && isAsked(name))) show(published);
    if (isAsked("speed"))
      for (const engine of values.engine as ("sqlite" | "postgres")[])
        for (const size of values.size) show(await speed(place, engine, Number(size), model));
    if (values.json) console.log(JSON.stringify({ tables }));
  } finally {
    await place.leave();
  }
}

/** Of `--fold 0` and `--fold 1` one is for choosing and the other for validating what was chosen. */
function chosenQuestions({ questions }: Collection): Collection["questions"] {
  const folded = values.fold ? questions.filter((_, at) => at % 2 === Number(values.fold)) : questions;
  return values.limit ? folded.slice(0, Number(values.limit)) : folded;
}

await main();
