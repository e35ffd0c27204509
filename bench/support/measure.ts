/** Milliseconds that `work` took. */
export async function timed(work: () => unknown): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

export function percentile(values: number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

export const median = (values: number[]) => percentile(values, 0.5);

/** The middle of what each round found; the machine's mood changes between rounds, less so within one. */
export const medianOfRounds = (rounds: number[][], share = 0.5) => median(rounds.map((r) => percentile(r, share)));

/** The middle of the ratios of rounds that ran side by side. */
export const ratioOfRounds = (rounds: number[][], base: number[][]) =>
  median(rounds.map((round, index) => median(round) / median(base[index] ?? [])));

/** A source of numbers from 0 to 1 that is the same in every run. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
