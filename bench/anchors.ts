/** Whether passages are found again after edits whose truth is known. See bench/README.md. */
import { refinder, anchorAt } from "../src/review/anchor.ts";
import { holds, survival, type Tracked } from "../test/support/tracked-text.ts";
import { corpus, type Page, wrap } from "./anchors/corpus.ts";
import { edited, edits, paragraphs, type Span } from "./anchors/edits.ts";
import { type Answer, ways } from "./anchors/ways.ts";
import { median, seeded, timed } from "./support/measure.ts";
import { atMost, holds as target, type Row, spell, type Table } from "./support/table.ts";

type Tally = { right: number; asked: number; "asked, place right": number; orphaned: number; wrong: number };

async function main(): Promise<void> {
  const asJson = process.argv.includes("--json");
  const pages = corpus();
  const anchors = pages.flatMap((page, n) => passagesOf(page, n).map((passage) => ({ page, passage })));
  const trials = Object.keys(edits).flatMap((kind, k) =>
    anchors.map(({ page, passage }, n) => ({
      kind,
      page,
      passage,
      now: edited(kind, page.text, passage, seeded(k * 100_000 + n)),
    })),
  );
  const tables = [
    await besidesOthers(trials, `${anchors.length} passages of ${pages.length} pages, ${trials.length} edits`),
    kindByKind(trials),
    await largePage(),
  ];
  const text = tables.map(spell).join("\n");
  if (asJson) process.stdout.write(`${JSON.stringify(tables)}\n`);
  (asJson ? console.error : console.log)(text);
  if (tables.some(({ rows }) => rows.some((row) => row.target && !row.target.met))) process.exitCode = 1;
}

type Trial = { kind: string; page: Page; passage: Span; now: Tracked };

async function besidesOthers(trials: Trial[], size: string): Promise<Table> {
  const rows: Row[] = [];
  for (const [what, way] of Object.entries(ways)) {
    const tally = emptyTally();
    const took = await timed(() => {
      for (const trial of trials) count(tally, trial, way(trial.page.text, trial.now.text, trial.passage));
    });
    const ours = what === "Scriptorium";
    rows.push({
      what,
      figures: { ...tally, "ms each": took / trials.length },
      ...(ours ? { target: target("none wrong", tally.wrong === 0) } : {}),
    });
  }
  return {
    question: `Passages found again: ${size}`,
    rows,
    notes: ["right: the true place, or none when the passage is gone; asked: left to a person; orphaned: not found though there"],
  };
}

function kindByKind(trials: Trial[]): Table {
  const rows = Object.keys(edits).map((kind): Row => {
    const tally = emptyTally();
    for (const trial of trials.filter((one) => one.kind === kind)) {
      const answer = (ways.Scriptorium as (typeof ways)[string])(trial.page.text, trial.now.text, trial.passage);
      count(tally, trial, answer);
    }
    return { what: kind, figures: tally };
  });
  return { question: "Scriptorium, by kind of edit", rows };
}

/** A page of 200 KB with fifty topics, in which every paragraph is wrapped anew and every tenth is reworded. */
async function largePage(): Promise<Table> {
  const chance = seeded(7);
  const page = corpus().map((one) => one.text).join("\n\n").slice(0, 200_000);
  const passages = Array.from({ length: 50 }, () => {
    const start = Math.floor(chance() * (page.length - 100));
    return { start, end: start + 60 };
  });
  const small = page.replace(/answers/g, (found) => (chance() < 0.2 ? "vouches" : found));
  const large = paragraphs(page).map((p) => wrap(page.slice(p.start, p.end).replace(/\n/g, " "), 70)).join("\n\n");
  const rows: Row[] = [];
  for (const [what, after] of [["a tenth of its lines changed", small], ["all of it wrapped anew", large]] as const) {
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

const emptyTally = (): Tally => ({ right: 0, asked: 0, "asked, place right": 0, orphaned: 0, wrong: 0 });

function count(tally: Tally, { kind, page, passage, now }: Trial, { place, asks }: Answer): void {
  const gone = survival(page.text, now, passage) < 0.25;
  const there = place !== undefined && !gone && holds(page.text, now, passage, place);
  if (place === undefined) tally[gone ? "right" : "orphaned"]++;
  else if (asks) {
    tally.asked++;
    if (there) tally["asked, place right"]++;
  } else if (there) tally.right++;
  else {
    tally.wrong++;
    if (process.env.SHOW_WRONG && asks === false) show(kind, page, passage, now, place);
  }
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
