import { expect, test } from "vitest";
import { changeWaiter } from "./change-waiter.ts";

function database() {
  const listeners = new Set<() => void>();
  return {
    change: () => {
      for (const listener of listeners) listener();
    },
    listeners,
    onChange(listener: () => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

const longMs = 60_000;

test("a change between expect and next is not missed, and one before expect does not count", async () => {
  const db = database();
  const changes = changeWaiter(db);
  db.change();
  changes.expect();
  const waiting = changes.next(longMs).then(() => "woken");
  expect(await Promise.race([waiting, new Promise((done) => setTimeout(done, 20, "waits"))])).toBe("waits");
  db.change();
  expect(await waiting).toBe("woken");

  changes.expect();
  db.change();
  await changes.next(longMs);
});

test("waiting ends after its time, and when closed", async () => {
  const db = database();
  const changes = changeWaiter(db);
  changes.expect();
  await changes.next(1);
  const waiting = changes.next(longMs);
  changes.close();
  await waiting;
  await changes.next(longMs);
  expect(db.listeners.size).toBe(0);
});
