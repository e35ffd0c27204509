/**
 * Those who ask while an answer is being made are answered together by the next. A crowd is then
 * served by few transactions, and whoever is alone does not wait.
 */
export function together<I, O>(most: number, answerAll: (items: I[]) => Promise<O[]>): (item: I) => Promise<O> {
  type Waiting = { item: I; resolve(answer: O): void; reject(error: unknown): void };
  const waiting: Waiting[] = [];
  let busy = false;

  async function serve() {
    busy = true;
    await null;
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
    busy = false;
  }

  return (item) =>
    new Promise<O>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (!busy) void serve();
    });
}
