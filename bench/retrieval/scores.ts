import { seeded } from "../support/measure.ts";
import type { Question } from "./sets.ts";

/** What one question found, the best first, against what it should have found. */
export type Answer = { question: Question; found: string[]; gold: Map<string, number> };

export const measures = ["R@5", "R@10", "MRR", "nDCG@10"] as const;
export type Measure = (typeof measures)[number];

/** One value for each question, by measure. */
export type Scores = Record<Measure, number[]>;

export function score(answers: Answer[]): Scores {
  return {
    "R@5": answers.map((answer) => recall(answer, 5)),
    "R@10": answers.map((answer) => recall(answer, 10)),
    MRR: answers.map(
      ({ found, gold }) => 1 / (found.findIndex((one) => gold.has(one)) + 1 || Number.POSITIVE_INFINITY),
    ),
    "nDCG@10": answers.map(ndcg),
  };
}

const recall = ({ found, gold }: Answer, k: number) => {
  const first = new Set(found.slice(0, k));
  return [...gold.keys()].filter((one) => first.has(one)).length / gold.size;
};

/** Graded, with a gain of the relevance, as trec_eval computes it. */
function ndcg({ found, gold }: Answer): number {
  const gains = found.slice(0, 10).map((one, at) => (found.indexOf(one) === at ? (gold.get(one) ?? 0) : 0));
  const ideal = [...gold.values()].sort((a, b) => b - a).slice(0, 10);
  return discounted(gains) / discounted(ideal);
}

const discounted = (gains: number[]) => gains.reduce((sum, gain, at) => sum + gain / Math.log2(at + 2), 0);

export const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

const samples = 2000;

/** The 95 % interval of a mean, by drawing as many questions again with replacement. */
export function interval(values: number[]): [number, number] {
  const chance = seeded(17);
  const means = Array.from({ length: samples }, () => {
    let sum = 0;
    for (let at = 0; at < values.length; at++) sum += values[Math.floor(chance() * values.length)] ?? 0;
    return sum / values.length;
  }).sort((a, b) => a - b);
  return [means[Math.floor(samples * 0.025)] ?? 0, means[Math.ceil(samples * 0.975) - 1] ?? 0];
}

/** The mean difference to a baseline, question by question, with its interval. */
export function paired(values: number[], base: number[]): { difference: number; low: number; high: number } {
  const differences = values.map((value, at) => value - (base[at] ?? 0));
  const [low, high] = interval(differences);
  return { difference: mean(differences), low, high };
}

const three = (value: number) => value.toFixed(3);
const signed = (value: number) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;

/** `.731 [.700 .762]`, and beside a baseline `+.020 [+.003 +.037]`. */
export function figures(scores: Scores, base?: Scores): Record<string, string> {
  const cells: Record<string, string> = {};
  for (const name of measures) {
    const [low, high] = interval(scores[name]);
    cells[name] = `${three(mean(scores[name]))} [${three(low)} ${three(high)}]`;
    if (!base) continue;
    const { difference, low: least, high: most } = paired(scores[name], base[name]);
    cells[`Δ ${name}`] = `${signed(difference)} [${signed(least)} ${signed(most)}]`;
  }
  return cells;
}

/** R@10 by category. */
export function categoryFigures(answers: Answer[], scores: Scores): Record<string, string> {
  const categories = new Map<string, number[]>();
  for (const [at, { question }] of answers.entries())
    categories.set(question.category, [...(categories.get(question.category) ?? []), scores["R@10"][at] ?? 0]);
  if (categories.size < 2) return {};
  return Object.fromEntries([...categories].sort().map(([name, values]) => [name, three(mean(values))]));
}

/** The measures that are below the baseline's mean. */
export const below = (scores: Scores, base: Scores): Measure[] =>
  measures.filter((name) => mean(scores[name]) < mean(base[name]) - 1e-9);
