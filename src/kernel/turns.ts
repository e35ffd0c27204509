/**
 * Divides long work into turns of the event loop. An `await` of something that is already there does not return to the
 * event loop: a chain of such awaits would delay all other requests until its end.
 *
 *   turn 1: a a a a a │ I/O │ turn 2: b c a b c a b │ I/O │ turn 3: …
 *
 * When a turn is over, all work waits in one queue, and the next turn releases it one by one. Released all at once,
 * 200 waiters would each do a step in the same turn, however long that takes.
 */
export function openTurns(longestMs = 15) {
  const waiting: (() => void)[] = [];
  let began: number | undefined;

  const isOver = () => began !== undefined && performance.now() - began >= longestMs;

  function begin(): void {
    if (began !== undefined) return;
    began = performance.now();
    setImmediate(end);
  }

  function end(): void {
    began = undefined;
    if (waiting.length === 0) return;
    begin();
    release();
  }

  function release(): void {
    waiting.shift()?.();
    if (waiting.length === 0) return;
    // A tick from a microtask runs when all microtasks are done, and so is the step of the work just released.
    queueMicrotask(() =>
      process.nextTick(() => {
        if (!isOver()) release();
      }),
    );
  }

  return {
    /** Call it before a long step: otherwise the turn begins at the first `next`, after that step. */
    begin,
    /** A promise to wait for if this turn has lasted too long. Call it between two steps of the work. */
    next(): Promise<void> | undefined {
      begin();
      if (waiting.length === 0 && !isOver()) return undefined;
      return new Promise((resolve) => waiting.push(resolve));
    },
  };
}

export type Turns = ReturnType<typeof openTurns>;

/** The turns of this process: it has one event loop, and two turns in it would last twice as long. */
export const turns = openTurns();

/** Maps a long list without blocking the event loop. */
export async function mapInTurns<A, B>(items: readonly A[], make: (item: A) => B): Promise<B[]> {
  turns.begin();
  const made: B[] = [];
  for (const item of items) {
    made.push(make(item));
    // Awaiting something for each of thousands of items takes longer than making most of them.
    const wait = turns.next();
    if (wait) await wait;
  }
  return made;
}
