import { expect, test } from "vitest";
import { watchChanges } from "./wait-for-change.ts";

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

test("a change between the look and the wait is not missed, and one before the look does not count", async () => {
  const db = database();
  const changes = watchChanges(db);
  db.change();
  const before = changes.count();
  const waiting = changes.after(before, longMs).then(() => "woken");
  expect(await Promise.race([waiting, new Promise((done) => setTimeout(done, 20, "waits"))])).toBe("waits");
  db.change();
  expect(await waiting).toBe("woken");

  const seen = changes.count();
  db.change();
  await changes.after(seen, longMs);
});

test("waiting ends after its time, when its signal aborts, and when closed", async () => {
  const db = database();
  const changes = watchChanges(db);
  await changes.after(changes.count(), 1);
  const stop = new AbortController();
  const stopped = changes.after(changes.count(), longMs, stop.signal);
  stop.abort();
  await stopped;
  const waiting = changes.after(changes.count(), longMs);
  changes.close();
  await waiting;
  await changes.after(changes.count(), longMs);
  expect(db.listeners.size).toBe(0);
});
