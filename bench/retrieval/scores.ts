import type { Question } from "./sets.ts";

export type Scores = {
  questions: number;
  r5: number;
  r10: number;
  mrr: number;
  ndcg10: number;
  byCategory: Map<string, number>;
};

/** What each question found, the best first, against what it should have. */
export function score(asked: { question: Question; found: string[]; gold: string[] }[]): Scores {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  const recall = (found: string[], gold: string[], k: number) =>
    gold.filter((one) => found.slice(0, k).includes(one)).length / gold.length;
  const categories = new Map<string, number[]>();
  for (const { question, found, gold } of asked)
    categories.set(question.category, [...(categories.get(question.category) ?? []), recall(found, gold, 10)]);
  return {
    questions: asked.length,
    r5: mean(asked.map(({ found, gold }) => recall(found, gold, 5))),
    r10: mean(asked.map(({ found, gold }) => recall(found, gold, 10))),
    mrr: mean(
      asked.map(
        ({ found, gold }) => 1 / (found.findIndex((one) => gold.includes(one)) + 1 || Number.POSITIVE_INFINITY),
      ),
    ),
    ndcg10: mean(
      asked.map(
        ({ found, gold }) =>
          gain(found.slice(0, 10).map((one, at) => gold.includes(one) && found.indexOf(one) === at)) /
          gain(gold.slice(0, 10).map(() => true)),
      ),
    ),
    byCategory: new Map([...categories].sort().map(([name, values]) => [name, mean(values)])),
  };
}

const gain = (hits: boolean[]) => hits.reduce((sum, hit, at) => sum + (hit ? 1 / Math.log2(at + 2) : 0), 0);

const rounded = (value: number) => value.toFixed(3);

export const figures = (scores: Scores) => ({
  "R@5": rounded(scores.r5),
  "R@10": rounded(scores.r10),
  MRR: rounded(scores.mrr),
  "nDCG@10": rounded(scores.ndcg10),
});

export const categoryFigures = (scores: Scores) =>
  Object.fromEntries([...scores.byCategory].map(([name, value]) => [name, rounded(value)]));
