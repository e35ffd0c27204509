import { setImmediate as immediate } from "node:timers/promises";

type How = {
  /** How many are answered together at the most. */
  most: number;
  /** How many answers may be in the making at once. */
  lanes: number;
  /** Whether it is worth waiting for all who ask in this turn: timers that run out together call one after the other. */
  far: boolean;
};

/**
 * Those who ask while answers are being made are answered together by the next. A crowd is then
 * served by few transactions, and whoever is alone does not wait.
 */
export function together<I, O>(
  { most, lanes, far }: How,
  answerAll: (items: I[]) => Promise<O[]>,
): (item: I) => Promise<O> {
  type Waiting = { item: I; resolve(answer: O): void; reject(error: unknown): void };
  const waiting: Waiting[] = [];
  let busy = 0;

  async function serve() {
    busy++;
    await (far ? immediate() : null);
    while (waiting.length > 0) {
      const some = waiting.splice(0, most);
      try {
        const answers = await answerAll(some.map(({ item }) => item));
        some.forEach(({ resolve }, index) => {
          resolve(answers[index] as O);
        });
      } catch (error) {
        for (const { reject } of some) reject(error);
      }
    }
    busy--;
  }

  return (item) =>
    new Promise<O>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (busy < lanes) void serve();
    });
}
