import { setImmediate as immediate } from "node:timers/promises";

type Options = {
  /** Maximum number of items in a batch. */
  size: number;
  /** Maximum number of batches in progress at once. */
  lanes: number;
  /** Collect all calls of the current turn before the first batch: worth it when a batch is a network round trip. */
  far: boolean;
};

/**
 * Collects calls that arrive while batches are in progress into the next batch, so that many callers
 * share few transactions. A single caller does not wait.
 */
export function batched<I, O>(
  { size, lanes, far }: Options,
  run: (items: I[]) => Promise<O[]>,
): (item: I) => Promise<O> {
  type Waiting = { item: I; resolve(answer: O): void; reject(error: unknown): void };
  const waiting: Waiting[] = [];
  let busy = 0;

  async function drain() {
    busy++;
    await (far ? immediate() : null);
    while (waiting.length > 0) {
      const batch = waiting.splice(0, size);
      try {
        const answers = await run(batch.map(({ item }) => item));
        batch.forEach(({ resolve }, index) => {
          resolve(answers[index] as O);
        });
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    busy--;
  }

  return (item) =>
    new Promise<O>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (busy < lanes) void drain();
    });
}
