import { expect, test } from "vitest";
import { openLedger } from "./ledger.ts";

test("each destination is listed once, with its requests and bytes", () => {
  const ledger = openLedger();
  ledger.note({ destination: "a:443", allowed: true })({ sent: 1, received: 2 });
  ledger.note({ destination: "a:443", allowed: true })({ received: 3 });
  ledger.note({ destination: "b:80", allowed: false, reason: "no" });
  expect(ledger.entries()).toEqual([
    { destination: "a:443", allowed: true, reason: null, requests: 2, bytes_sent: 1, bytes_received: 5 },
    { destination: "b:80", allowed: false, reason: "no", requests: 1, bytes_sent: 0, bytes_received: 0 },
  ]);
});

test("an agent that tries many hosts or long names cannot fill the record", () => {
  const ledger = openLedger();
  for (let n = 0; n < 5000; n++) ledger.note({ destination: `${n}.${"x".repeat(500)}:443`, allowed: n % 2 === 0 });
  const entries = ledger.entries();
  expect(entries).toHaveLength(402);
  expect(entries.reduce((sum, { requests }) => sum + requests, 0)).toBe(5000);
  const reached = ledger.entries().filter(({ allowed }) => allowed);
  expect(reached).toHaveLength(201);
  expect(JSON.stringify(entries).length).toBeLessThan(200_000);
});
