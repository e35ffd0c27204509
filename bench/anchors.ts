/** Whether passages are found again after edits whose truth is known. See bench/README.md. */
import { anchorAt, refinder } from "../src/review/topics/anchor.ts";
import { holds, survival, type Tracked } from "../test/support/tracked-text.ts";
import { corpus, type Page, wrap } from "./anchors/corpus.ts";
import { edgeFaults, hasSameWords } from "./anchors/edges.ts";
import { edited, edits, paragraphs, type Span } from "./anchors/edits.ts";
import { type Earlier, realHistories, searchAt } from "./anchors/histories.ts";
import { type Answer, wayOf, ways } from "./anchors/ways.ts";
import { median, seeded, timed } from "./support/measure.ts";
import { atMost, type Row, spell, type Table, holds as target } from "./support/table.ts";

type Tally = Record<"right" | "asked" | "asked, place right" | "orphaned" | "wrong" | "reworded" | "bad edges", number>;

async function main(): Promise<void> {
  const asJson = process.argv.includes("--json");
  const against = optionOf("--against");
  const earlier = against === undefined ? undefined : await searchAt(against);
  const tables = [
    ...(process.argv.includes("--real") ? [] : await madeUp(earlier)),
    ...(process.argv.includes("--made-up") ? [] : [await realHistories(earlier, optionOf("--histories"))]),
  ];
  const text = tables.map(spell).join("\n");
  if (asJson) process.stdout.write(`${JSON.stringify(tables)}\n`);
  (asJson ? console.error : console.log)(text);
  if (tables.some(({ rows }) => rows.some((row) => row.target && !row.target.met))) process.exitCode = 1;
}

function optionOf(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

/** Pages and edits made by chance, whose truth is known. */
async function madeUp(earlier: Earlier | undefined): Promise<Table[]> {
  const seed = seedIn(process.argv);
  const pages = corpus(seed);
  const anchors = pages.flatMap((page, n) => passagesOf(page, seed + n).map((passage) => ({ page, passage })));
  const trials = Object.keys(edits).flatMap((kind, k) =>
    anchors.map(({ page, passage }, n) => ({
      kind,
      page,
      passage,
      now: edited(kind, page.text, passage, seeded(seed + k * 100_000 + n)),
    })),
  );
  const size = `${anchors.length} passages of ${pages.length} pages, ${trials.length} edits, seed ${seed}`;
  return [...(await besidesOthers(trials, size, earlier)), await largePage()];
}

/** Another seed gives other runbooks, other passages and other edits. */
function seedIn(argv: string[]): number {
  const at = argv.indexOf("--seed");
  const seed = at < 0 ? 0 : Number(argv[at + 1]);
  if (!Number.isSafeInteger(seed)) throw new Error("--seed takes a whole number");
  return seed;
}

type Trial = { kind: string; page: Page; passage: Span; now: Tracked };

async function besidesOthers(trials: Trial[], size: string, earlier: Earlier | undefined): Promise<Table[]> {
  const rows: Row[] = [];
  const byKind = new Map(Object.keys(edits).map((kind) => [kind, emptyTally()]));
  const all = { ...ways, ...(earlier ? { [earlier.what]: wayOf(earlier.find) } : {}) };
  for (const [what, way] of Object.entries(all)) {
    const tally = emptyTally();
    const ours = what === "Scriptorium";
    let took = 0;
    for (const trial of trials) {
      let answer: Answer | undefined;
      took += await timed(() => {
        answer = way(trial.page.text, trial.now.text, trial.passage);
      });
      const verdict = judge(trial, answer as Answer);
      add(tally, verdict);
      if (ours) add(byKind.get(trial.kind) as Tally, verdict);
    }
    rows.push({
      what,
      figures: { ...tally, "ms each": took / trials.length },
      ...(ours ? { target: target("none wrong", tally.wrong === 0) } : {}),
    });
  }
  const notes = [
    "right: the true place, or none when the passage is gone; asked: left to a person;",
    "orphaned: not found though it is there; wrong: another place, or one for a passage that is gone;",
    "reworded: of the right ones, those with other words than before; bad edges: of the reworded ones",
  ];
  return [
    { question: `Passages found again: ${size}`, rows, notes },
    { question: "Scriptorium, by kind of edit", rows: [...byKind].map(([what, figures]) => ({ what, figures })) },
  ];
}

/** A page of 200 KB with fifty topics, in which every paragraph is wrapped anew and every tenth is reworded. */
async function largePage(): Promise<Table> {
  const chance = seeded(7);
  const page = corpus()
    .map((one) => one.text)
    .join("\n\n")
    .slice(0, 200_000);
  const passages = Array.from({ length: 50 }, () => {
    const start = Math.floor(chance() * (page.length - 100));
    return { start, end: start + 60 };
  });
  const small = page.replace(/answers/g, (found) => (chance() < 0.2 ? "vouches" : found));
  const large = paragraphs(page)
    .map((p) => wrap(page.slice(p.start, p.end).replace(/\n/g, " "), 70))
    .join("\n\n");
  const rows: Row[] = [];
  for (const [what, after] of [
    ["a tenth of its lines changed", small],
    ["all of it wrapped anew", large],
  ] as const) {
    const times: number[] = [];
    for (let round = 0; round < 5; round++) {
      times.push(
        await timed(() => {
          const find = refinder(page, after, "new");
          for (const { start, end } of passages) find(anchorAt(page, start, end, "old"));
        }),
      );
    }
    rows.push({ what, figures: { "ms for 50 topics": median(times) }, target: atMost(500, median(times), "ms") });
  }
  return { question: "A page of 200 KB", rows };
}

const emptyTally = (): Tally => ({
  right: 0,
  asked: 0,
  "asked, place right": 0,
  orphaned: 0,
  wrong: 0,
  reworded: 0,
  "bad edges": 0,
});

function add(tally: Tally, verdict: (keyof Tally)[]): void {
  for (const column of verdict) tally[column]++;
}

function judge({ page, passage, now }: Trial, { place, asks }: Answer): (keyof Tally)[] {
  const gone = survival(page.text, now, passage) < 0.25;
  if (place === undefined) return [gone ? "right" : "orphaned"];
  const there = !gone && holds(page.text, now, passage, place);
  if (asks) return there ? ["asked", "asked, place right"] : ["asked"];
  if (!there) return ["wrong"];
  if (hasSameWords(page.text.slice(passage.start, passage.end), now.text.slice(place.start, place.end)))
    return ["right"];
  const { fault } = edgeFaults(page.text, [now], passage, place);
  return fault ? ["right", "reworded", "bad edges"] : ["right", "reworded"];
}

function passagesOf(page: Page, seed: number): Span[] {
  const chance = seeded(50 + seed);
  const blocks = paragraphs(page.text);
  const any = () => blocks[Math.floor(chance() * blocks.length)] as Span;
  const within = (pattern: RegExp, block: Span) => {
    const found = [...page.text.slice(block.start, block.end).matchAll(pattern)];
    const match = found[Math.floor(chance() * found.length)];
    return match && { start: block.start + match.index, end: block.start + match.index + match[0].length };
  };
  const wanted: ((block: Span) => Span | undefined)[] = [
    (block) => within(/\p{L}{5,}/gu, block),
    (block) => within(/\p{L}{5,}/gu, block),
    (block) => within(/\p{L}+ \p{L}+ \p{L}+/gu, block),
    (block) => within(/\p{L}+(?: \p{L}+){4,6}/gu, block),
    (block) => within(/[^.\n|]+\./g, block),
    (block) => within(/[^.|]+\./g, block),
    (block) => within(/[^\n]+/g, block),
    (block) => block,
  ];
  const heads = blocks.filter((block) => page.text.startsWith("#", block.start));
  const head = heads[Math.floor(chance() * heads.length)];
  return [...wanted.map((find) => find(any())), head]
    .filter((span) => span !== undefined)
    .filter(({ start, end }) => page.text.slice(start, end).trim().length >= 4);
}

await main();
