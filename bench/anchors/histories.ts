import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { brotliDecompressSync } from "node:zlib";
import { anchorAt, refind } from "../../src/review/topics/anchor.ts";
import type { Tracked } from "../../test/support/tracked-text.ts";
import { seeded } from "../support/measure.ts";
import { type Row, type Table, holds as target } from "../support/table.ts";
import { edgeFaults, hasSameWords } from "./edges.ts";
import { paragraphs, type Span } from "./edits.ts";
import { comparisonsOf, equallyLong, type Verdict, verdictOn } from "./judge.ts";

type Document = { repository: string; path: string; revisions: { commit: string; text: string }[] };
type Find = typeof refind;

const passagesPerStep = 4;

/** Passages of real documents, found again in the next revision, and judged by git's comparisons. */
export async function realHistories(earlier: Earlier | undefined, own: string | undefined): Promise<Table> {
  const stored = () => brotliDecompressSync(readFileSync("bench/anchors/histories.json.br"));
  const documents: Document[] = JSON.parse((own ? readFileSync(own) : stored()).toString("utf8"));
  const folder = mkdtempSync(join(tmpdir(), "scriptorium-histories-"));
  try {
    const ways: Way[] = [{ what: "Scriptorium", find: refind, tally: emptyTally() }];
    if (earlier) ways.push({ ...earlier, tally: emptyTally() });
    const notes: string[] = [];
    let steps = 0;
    for (const { repository, path, revisions } of documents) {
      for (const [n, { text: before, commit }] of revisions.slice(0, -1).entries()) {
        const after = revisions[n + 1]?.text ?? "";
        const comparisons = comparisonsOf(before, after, folder);
        steps++;
        for (const passage of passagesOf(before, after, seeded(steps))) {
          const trial: Trial = { before, after, passage, comparisons };
          for (const way of ways)
            for (const note of judge(way, trial))
              notes.push(`${way.what}, ${repository} ${path} ${commit.slice(0, 8)}: ${note}`);
        }
      }
    }
    const rows = ways.map(
      ({ what, tally }, w): Row => ({
        what,
        figures: tally,
        ...(w === 0 ? { target: target("none wrong", tally.wrong === 0) } : {}),
      }),
    );
    const question = `Real histories: ${documents.length} documents, ${steps} steps between revisions, ${passagesPerStep} passages each`;
    return { question, rows, notes };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Tally = Record<Verdict | "reworded" | "bad edges" | "unclear edges", number>;
type Way = { what: string; find: Find; tally: Tally };
type Trial = { before: string; after: string; passage: Span; comparisons: Tracked[] };

const emptyTally = (): Tally => ({
  right: 0,
  asked: 0,
  orphaned: 0,
  wrong: 0,
  unclear: 0,
  reworded: 0,
  "bad edges": 0,
  "unclear edges": 0,
});

/** Counts what was found, and describes what a person should look at. */
function judge({ find, tally }: Way, { before, after, passage, comparisons }: Trial): string[] {
  const found = find(anchorAt(before, passage.start, passage.end, "old"), before, after, "new");
  const verdict = verdictOn(before, comparisons, passage, found);
  tally[verdict]++;
  const was = before.slice(passage.start, passage.end);
  const shown = `${JSON.stringify(was.slice(0, 80))} → ${found.state} ${JSON.stringify(found.anchor.quote.slice(0, 80))}`;
  const notes = verdict === "wrong" || verdict === "unclear" ? [`${verdict}: ${shown}`] : [];
  if (found.state !== "moved" || hasSameWords(was, found.anchor.quote)) return notes;
  tally.reworded++;
  const { fault, ...edge } = edgeFaults(before, comparisons, passage, found.anchor);
  if (!fault) return notes;
  const others = equallyLong(comparisons, before, passage, found.anchor);
  const certain = edge.certain && edgeFaults(before, others, passage, found.anchor).certain;
  tally[certain ? "bad edges" : "unclear edges"]++;
  return [...notes, `${certain ? "bad" : "unclear"} edge, ${fault}: ${shown}`];
}

/** The search of an earlier commit of this repository. */
export type Earlier = { what: string; find: Find };

export async function searchAt(commit: string): Promise<Earlier> {
  const folder = mkdtempSync(join(tmpdir(), "scriptorium-search-"));
  try {
    return { what: `Scriptorium at ${commit}`, find: await finderAt(commit, folder) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function finderAt(commit: string, folder: string): Promise<Find> {
  const old = join(folder, "old");
  mkdirSync(old);
  const archive = execFileSync("git", ["archive", commit, "src"], { maxBuffer: 1 << 28 });
  execFileSync("tar", ["-x", "-C", old], { input: archive });
  const file = join(folder, "old.mjs");
  const { build } = await import("esbuild");
  await build({
    entryPoints: [join(old, "src/review/topics/anchor.ts")],
    nodePaths: [join(process.cwd(), "node_modules")],
    bundle: true,
    format: "esm",
    platform: "node",
    outfile: file,
  });
  return (await import(pathToFileURL(file).href)).refind;
}

/** Of blocks that changed, if there are any: the others are easy. */
function passagesOf(text: string, after: string, chance: () => number): Span[] {
  const all = paragraphs(text).filter(({ start, end }) => end - start > 20);
  const changed = all.filter(({ start, end }) => !after.includes(text.slice(start, end)));
  const blocks = changed.length > 0 ? changed : all;
  const patterns = [/\p{L}{4,}/gu, /\p{L}+ \p{L}+ \p{L}+(?: \p{L}+)*/gu, /[^.\n|]{12,}\.?/g, /[^\n]{12,}/g];
  return patterns.slice(0, passagesPerStep).flatMap((pattern) => {
    const block = blocks[Math.floor(chance() * blocks.length)];
    const found = block ? [...text.slice(block.start, block.end).matchAll(pattern)] : [];
    const match = found[Math.floor(chance() * found.length)];
    return block && match
      ? [{ start: block.start + match.index, end: block.start + match.index + match[0].length }]
      : [];
  });
}
