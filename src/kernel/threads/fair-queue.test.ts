import fc from "fast-check";
import { expect, test } from "vitest";
import { fairQueue } from "./fair-queue.ts";

const requests = [{}, {}, {}, {}];
const item = (client: string, request: number, name: string) => ({ client, request: requests[request] ?? {}, name });
const anyone = () => true;

function drained(queue: ReturnType<typeof fairQueue<ReturnType<typeof item>>>, mayRun: (client: string) => boolean) {
  const names: string[] = [];
  for (let next = queue.next(mayRun); next; next = queue.next(mayRun)) names.push(next.name);
  return names.join(" ");
}

test("S7: clients take turns, then the requests of a client, then their items in order", () => {
  const queue = fairQueue<ReturnType<typeof item>>();
  for (const name of ["a1", "a2", "a3", "a4"]) queue.add(item("a", 0, name));
  for (const name of ["A1", "A2"]) queue.add(item("a", 1, name));
  for (const name of ["b1", "b2"]) queue.add(item("b", 2, name));
  expect(drained(queue, anyone)).toBe("a1 b1 A1 b2 a2 A2 a3 a4");
  expect(queue.size).toBe(0);
});

test("S7: a client that may not run another item is passed over", () => {
  const queue = fairQueue<ReturnType<typeof item>>();
  queue.add(item("a", 0, "a1"));
  queue.add(item("b", 1, "b1"));
  expect(drained(queue, (client) => client !== "a")).toBe("b1");
  expect(queue.size).toBe(1);
});

test("S7: nobody waits for more than one item of each other client, and nothing is lost", () => {
  const job = fc.record({ client: fc.constantFrom("a", "b", "c"), request: fc.nat(3), drop: fc.boolean() });
  fc.assert(
    fc.property(fc.array(job, { maxLength: 60 }), (jobs) => {
      const queue = fairQueue<ReturnType<typeof item>>();
      const items = jobs.map(({ client, request }, n) => item(client, request, String(n)));
      for (const one of items) queue.add(one);
      const dropped = new Set(items.filter((_, n) => jobs[n]?.drop));
      for (const one of dropped) queue.remove(one);
      const left = items.filter((one) => !dropped.has(one));
      expect(queue.size).toBe(left.length);
      const served: typeof items = [];
      for (let next = queue.next(anyone); next; next = queue.next(anyone)) served.push(next);
      expect(new Set(served)).toEqual(new Set(left));
      for (const [at, { client }] of served.entries()) {
        const waiting = new Set(served.slice(at).map((one) => one.client));
        const next = served.slice(at + 1, at + 1 + waiting.size).map((one) => one.client);
        const hasMore = served.slice(at + 1).some((one) => one.client === client);
        if (hasMore) expect(next).toContain(client);
      }
    }),
  );
});
