import { expect, test } from "vitest";
import { contradiction } from "./contradiction.ts";

const facts = [
  (n: number) => `The harbour handled ${n},400 containers in the spring quarter.`,
  (n: number) => `Water boils at ${n}.5 degrees at the height of the upper station.`,
  (n: number) => `Of all parcels ${n} % arrive within two days of their dispatch.`,
  (n: number) => `A retry waits ${n} seconds before the queue gives the job to another worker.`,
  (n: number) => `The bridge was opened in 18${n} and closed for repairs twice since.`,
];
const numbers = Array.from({ length: 20 }, (_, i) => 11 + 4 * i);

/** Ways in which a copy of a text is made to say something else. */
const altered = [
  (text: string) => text.replace(/\d/, (digit) => String((Number(digit) + 1) % 10)),
  (text: string) => text.replace(/\d(?=\D|$)/, (digit) => `${digit}0`),
  (text: string) => `${text.replace(/\d+/, (number) => String(Number(number) * 3))} See also the annex.`,
  (text: string) => `As is well known, ${text.replace(/\d+/, (number) => String(Number(number) + 7))}`,
];

test("T3: of copies whose numbers were altered at least 95 of 100 are noticed, and of those that agree none", () => {
  const cases = facts.flatMap((fact) => numbers.map((number) => fact(number)));
  const twins = cases.flatMap((text) => altered.map((alter) => ({ text, twin: alter(text) })));
  const caught = twins.filter(({ text, twin }) =>
    contradiction(text, [
      { id: "true", body: `Before. ${text} After.` },
      { id: "twin", body: `Before. ${twin} After.` },
    ]),
  );
  expect(twins.length).toBe(400);
  expect(caught.length / twins.length).toBeGreaterThanOrEqual(0.95);
  const alarms = cases.filter((text, i) =>
    contradiction(text, [
      { id: "true", body: text },
      { id: "second", body: `As others say: ${text.toLowerCase()}` },
      { id: "unrelated", body: cases[(i + numbers.length) % cases.length] ?? "" },
      { id: "list", body: `${text} In another year it was otherwise.\n${altered[0]?.(text)}` },
    ]),
  );
  expect(alarms).toEqual([]);
});
