import { expect, test } from "vitest";
import { openTurns } from "./turns.ts";

const spin = (ms: number) => {
  const until = performance.now() + ms;
  while (performance.now() < until);
};

/** Counts the iterations of the event loop until it is stopped. */
function iterations() {
  let count = 0;
  let isOver = false;
  const again = () => {
    count++;
    if (!isOver) setImmediate(again);
  };
  setImmediate(again);
  return () => {
    isOver = true;
    return count;
  };
}

test("V5: many pieces of work that wait for a turn do not all get the same one", async () => {
  const turns = openTurns(1);
  const stop = iterations();
  const work = async () => {
    for (let step = 0; step < 3; step++) {
      spin(2);
      await turns.next();
    }
  };
  await Promise.all(Array.from({ length: 20 }, work));
  // A first step of each, before it could wait; then each of 40 steps lasts longer than a turn.
  expect(stop()).toBeGreaterThanOrEqual(40);
});

test("V5: work that waits is released in order, round by round", async () => {
  const turns = openTurns(50);
  const order: string[] = [];
  const work = async (name: string) => {
    for (let step = 0; step < 3; step++) {
      order.push(`${name}${step}`);
      await turns.next();
    }
  };
  turns.begin();
  spin(60);
  await Promise.all([work("a"), work("b"), work("c")]);
  expect(order.join(" ")).toBe("a0 b0 c0 a1 b1 c1 a2 b2 c2");
});

test("V5: the step before the first wait counts once the turn was begun", async () => {
  const turns = openTurns(5);
  turns.begin();
  spin(6);
  expect(turns.next()).toBeInstanceOf(Promise);
});
