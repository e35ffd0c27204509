/**
 * Pairs of features that touch the same code, after CooperBench: how many end merged and green with a crew, beside
 * branches that git merges. Prepared solutions are replayed: this measures the mechanism, not models. See bench/README.md.
 *
 *   npm run bench -- conflicts [--only TEXT] [--json]
 */
import { availableParallelism, loadavg } from "node:os";
import { findSandbox } from "../src/agents/sandbox.ts";
import { contradictions, type Pair, pairs } from "./conflicts/pairs.ts";
import { areBothGreen, type Replayed, replay } from "./conflicts/replay.ts";
import { openPlace, type Place } from "./support/place.ts";
import { holds, type Row, spell, type Table } from "./support/table.ts";

const option = (name: string) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
};
const only = option("only");
const json = process.argv.includes("--json");

type Ended = { pair: Pair; ended: Replayed };

async function main(): Promise<void> {
  const place = openPlace();
  for (const signal of ["SIGINT", "SIGTERM"])
    process.once(signal, () => void place.leave().then(() => process.exit(1)));
  try {
    const sandbox = await findSandbox("auto", place.environment);
    const box = sandbox.ok && sandbox.value.name !== "none" ? "auto" : "none";
    const load = (loadavg()[0] ?? 0).toFixed(1);
    const head = `${availableParallelism()} cores (load ${load}), Node ${process.versions.node}, sandbox ${box}`;
    if (!json) console.log(`${head}\n`);
    const wanted = [...pairs, ...contradictions].filter(({ name }) => only === undefined || name.includes(only));
    const all: Ended[] = [];
    for (const pair of wanted) all.push(await replayed(place, pair, box));
    const tables = [tableOf(all.filter(({ pair }) => !pair.contradicts)), contradicting(all)];
    if (json) console.log(JSON.stringify(tables));
    else for (const table of tables) if (table.rows.length > 0) console.log(spell(table));
    if (tables.some(({ rows }) => rows.some(({ target }) => target?.met === false))) process.exitCode = 1;
  } finally {
    await place.leave();
  }
}

async function replayed(place: Place, pair: Pair, sandbox: "auto" | "none"): Promise<Ended> {
  process.stderr.write(`${pair.name}\n`);
  if (!pair.contradicts && !(await areBothGreen(place, pair))) throw new Error(`${pair.name}: both together are red`);
  return { pair, ended: await replay(place, pair, sandbox) };
}

function tableOf(all: Ended[]): Table {
  const rowFor = (what: string, some: Ended[]): Row => {
    const count = (of: (ended: Replayed) => boolean) => some.filter(({ ended }) => of(ended)).length;
    const sum = (of: (ended: Replayed) => number) => some.reduce((total, { ended }) => total + of(ended), 0);
    return {
      what,
      figures: {
        pairs: some.length,
        "git: green": count(({ naive }) => naive === "green"),
        "git: red": count(({ naive }) => naive === "red"),
        "git: conflict": count(({ naive }) => naive === "conflict"),
        "crew: green": count(({ crew }) => crew.end === "green"),
        "crew: red": count(({ crew }) => crew.end === "red"),
        "crew: lost": count(({ crew }) => crew.end === "conflict"),
        attempts: sum(({ crew }) => crew.attempts),
        "text conflicts": sum(({ crew }) => crew.textConflicts),
        "check conflicts": sum(({ crew }) => crew.checkConflicts),
      },
    };
  };
  const kinds = [...new Set(all.map(({ pair }) => pair.kind))];
  const total = rowFor("all", all);
  const isSound = all.every(({ ended }) => ended.crew.end !== "red");
  return {
    question: "Two features at the same time, merged by git and by a crew",
    rows: [
      ...kinds.map((kind) =>
        rowFor(
          kind,
          all.filter(({ pair }) => pair.kind === kind),
        ),
      ),
      { ...total, target: holds("the crew accepts nothing red", isSound) },
    ],
    notes: [
      "git: green, red (merged by text, tests fail) or a conflict that stays unsolved",
      "attempts of both tasks; conflicts that the crew found, in the text and by checks on the merged files",
    ],
  };
}

function contradicting(all: Ended[]): Table {
  const some = all.filter(({ pair }) => pair.contradicts);
  return {
    question: "Two requests that exclude each other",
    rows: some.map(({ pair, ended: { naive, crew } }) => ({
      what: pair.name,
      figures: { git: naive, "crew: accepted": crew.accepted, "crew: tests": crew.end, attempts: crew.attempts },
      target: holds("one accepted, tests green", crew.accepted === 1 && crew.end === "green"),
    })),
  };
}

await main();
