import { expect, test } from "vitest";
import { findDuplicates } from "./duplicates.ts";

const words =
  "alpha beta gamma delta parcel driver ledger route depot invoice tracker window harbour crane bridge".split(" ");
/** A repeatable sequence. */
function random(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
const sentence = (next: (below: number) => number, length: number) =>
  Array.from({ length }, () => `${words[next(words.length)]}${next(400)}`).join(" ");

test("K10: near-duplicates and contradictions are found, and passages about other things are not", async () => {
  const passages = [
    { id: "a", text: "- Parcels that arrive after noon are sorted on the next working day by the night crew." },
    { id: "b", text: "Parcels that arrive after noon are sorted on the next working day by the night crew!" },
    { id: "c", text: "Parcels that arrive after noon are sorted on the following working day by the night crew." },
    { id: "d", text: "The depot keeps parcels for 14 days before they are returned to the sender." },
    { id: "e", text: "The depot keeps parcels for 30 days before they are returned to the sender." },
    { id: "f", text: "Drivers rest for 30 minutes after four hours on the road." },
    { id: "g", text: "Yes." },
    { id: "h", text: "Yes." },
    { id: "i", text: "\u51fa\u8377\u3055\u308c\u305f\u8377\u7269\u306f\u7fcc\u65e5\u306b\u5c4a\u304d\u307e\u3059" },
    {
      id: "j",
      text: "\u51fa\u8377\u3055\u308c\u305f\u8377\u7269\u306f\u7fcc\u65e5\u306b\u5c4a\u304d\u307e\u3059\u3002",
    },
  ];
  const { groups, complete } = await findDuplicates(passages);
  expect(complete).toBe(true);
  expect(groups.map(({ kind, ids }) => [kind, ids.toSorted()])).toEqual(
    expect.arrayContaining([
      ["same", ["a", "b", "c"]],
      ["same", ["i", "j"]],
      ["contradicting", ["d", "e"]],
    ]),
  );
  expect(groups).toHaveLength(3);
});

test("K10: 30,000 passages are compared within the time limit, planted pairs are found, and the answer says when time is over", async () => {
  const next = random(7);
  const passages = Array.from({ length: 30_000 }, (_, n) => ({ id: `p${n}`, text: sentence(next, 12 + next(20)) }));
  const planted = Array.from({ length: 50 }, (_, n) => {
    const text = passages[n * 500]?.text ?? "";
    return { id: `copy-${n}`, text: `${text} indeed` };
  });
  const found = await findDuplicates([...passages, ...planted], { ms: 120_000, most: 1000 });
  expect(found.complete).toBe(true);
  const pairs = new Set(found.groups.map(({ ids }) => ids.toSorted().join(" ")));
  expect(planted.filter(({ id }, n) => !pairs.has([id, `p${n * 500}`].toSorted().join(" ")))).toEqual([]);
  expect(found.groups).toHaveLength(50);
  expect(await findDuplicates(passages, { ms: 0 })).toMatchObject({ complete: false, groups: [] });
});

test("K10: thousands of passages with the same words do not make the comparison quadratic", async () => {
  const text = "This page is a stub, please write what you know about this service and its owner.";
  const passages = Array.from({ length: 20_000 }, (_, n) => ({ id: `s${n}`, text }));
  const { groups, compared } = await findDuplicates(passages, { ms: 120_000 });
  expect(compared).toBe(20_000);
  expect(groups).toMatchObject([{ kind: "same", similarity: 1 }]);
  expect(groups[0]?.ids).toHaveLength(20_000);
});
