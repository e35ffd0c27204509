import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { draws } from "../../../test/support/thorough.ts";
import {
  fresh,
  holds,
  join,
  replace,
  slice,
  survival,
  type Tracked,
  tracked,
} from "../../../test/support/tracked-text.ts";
import { sharedWords } from "./anchor/resemble.ts";
import { type Anchor, anchorAt, anchorFor, type Refound, refind } from "./anchor.ts";

const of = (text: string, quote: string, nth = 1): Anchor => {
  let start = -1;
  for (let n = 0; n < nth; n++) start = text.indexOf(quote, start + 1);
  return anchorAt(text, start, start + quote.length, "old");
};

const place = (found: Refound) =>
  found.state === "needs-review" ? found.place : found.state === "orphaned" ? undefined : found.anchor;

const before = `# Handbook

Every parcel has one owner. The owner answers within a day.

## Staging

1. Drain the node before you touch it.
2. Restart it, and **watch** the error rate.
3. Write down the time.

See the dashboard before you act.

## Production

Raise the limit for an hour, not for good. Nobody is blamed for asking.

See the dashboard before you act.
`;

const staging = before.slice(before.indexOf("## Staging"), before.indexOf("## Production"));

/** What was said, what became of the page, and what must become of the anchor: state and text. */
const cases: [what: string, quote: string, nth: number, after: string, state: Refound["state"], text?: string][] = [
  ["an edit above", "one owner", 1, before.replace("# Handbook", "# The handbook\n\nNew."), "anchored", "one owner"],
  [
    "an edit around",
    "the limit for an hour",
    1,
    before.replace("Raise the limit for an hour, not for good.", "Lift the limit for an hour; no longer."),
    "anchored",
    "the limit for an hour",
  ],
  [
    "a word inside",
    "Raise the limit for an hour, not for good.",
    1,
    before.replace("Raise the", "Lift the"),
    "moved",
    "Lift the limit for an hour, not for good.",
  ],
  [
    "a moved section",
    "Nobody is blamed for asking.",
    1,
    before.replace(staging, "") + staging,
    "moved",
    "Nobody is blamed for asking.",
  ],
  [
    "a re-wrap",
    "Every parcel has one owner. The owner answers",
    1,
    before.replace("owner. The", "owner.\nThe"),
    "moved",
    "Every parcel has one owner.\nThe owner answers",
  ],
  [
    "a quotation",
    "Every parcel has one owner. The owner answers",
    1,
    before.replace("Every parcel has one owner. The", "> Every parcel has one\n> owner. The"),
    "moved",
    "Every parcel has one\n> owner. The owner answers",
  ],
  [
    "other marks",
    "**watch** the error rate",
    1,
    before.replace("**watch**", "__watch__"),
    "moved",
    "__watch__ the error rate",
  ],
  [
    "a new number in a list",
    "3. Write down the time.",
    1,
    before.replace("3. Write", "4. Write"),
    "moved",
    "Write down the time.",
  ],
  [
    "the first of two alike deleted",
    "See the dashboard before you act.",
    1,
    before.replace("See the dashboard before you act.\n\n", ""),
    "orphaned",
  ],
  [
    "the second of two alike deleted",
    "See the dashboard before you act.",
    2,
    before.replace(/See the dashboard before you act.\n$/, ""),
    "orphaned",
  ],
  [
    "a deleted passage",
    "Nobody is blamed for asking.",
    1,
    before.replace(" Nobody is blamed for asking.", ""),
    "orphaned",
  ],
  ["a deleted word that others use too", "owner", 1, before.replace("one owner", "a keeper"), "orphaned"],
  ["the page emptied", "one owner", 1, "", "orphaned"],
];

test.each(cases)("after %s the anchor is where it should be (R2)", (_what, quote, nth, after, state, text) => {
  const found = refind(of(before, quote, nth), before, after, "new");
  expect(found.state).toBe(state);
  const at = place(found);
  if (text !== undefined) expect(at && after.slice(at.start, at.end)).toBe(text);
  if (found.state === "orphaned") expect(found.anchor).toEqual(of(before, quote, nth));
});

test("words deleted here and newly written elsewhere are not taken for a move (R2)", () => {
  const after = `${before.replace(" Nobody is blamed for asking.", "")}\n## More\n\nWe said: Nobody is blamed for asking. True.\n`;
  expect(refind(of(before, "Nobody is blamed for asking."), before, after, "new").state).toBe("needs-review");
});

test("without the text it came from, an anchor is sure only where it stood, with both its sides (R2)", () => {
  const anchor = of(before, "Raise the limit for an hour");
  expect(refind(anchor, undefined, `${before}\nBelow.\n`, "new").state).toBe("anchored");
  expect(refind(anchor, undefined, `Above.\n\n${before}`, "new").state).toBe("needs-review");
  expect(refind(anchor, undefined, "# Other\n\nRaise the limit for an hour\n", "new").state).toBe("needs-review");
  expect(refind(anchor, "another text", before, "new")).toMatchObject({ anchor: { start: anchor.start } });
});

test("words shown in a browser are found in the source, and never in the middle of a character (R1)", () => {
  expect(anchorFor(before, "watch the error rate.", { blob: "b" })).toMatchObject({ ok: true });
  expect(anchorFor(before, "answers within\n a day", { blob: "b" })).toMatchObject({ ok: true });
  const fox = "The \u{1f98a} runs";
  expect(anchorAt(fox, 5, 5, "b").quote).toBe("\u{1f98a}");
});

const words = "river stone lamp harbour ledger north copper winter tide signal field paper".split(" ");
const sentence = fc
  .array(fc.constantFrom(...words), { minLength: 2, maxLength: 9 })
  .map((list) => `${list.join(" ").replace(/^./, (first) => first.toUpperCase())}.`);
const block = fc.oneof(
  { weight: 5, arbitrary: fc.array(sentence, { minLength: 1, maxLength: 4 }).map((list) => list.join(" ")) },
  { weight: 1, arbitrary: sentence.map((line) => `## ${line.slice(0, -1)}`) },
  { weight: 1, arbitrary: fc.array(sentence, { minLength: 2, maxLength: 4 }).map((list) => `- ${list.join("\n- ")}`) },
);

type Edit = { kind: "delete" | "insert" | "move" | "rewrap" | "swap"; at: number; to: number; text: string };
const edit: fc.Arbitrary<Edit> = fc.record({
  kind: fc.constantFrom("delete", "insert", "move", "rewrap", "swap"),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  to: fc.double({ min: 0, max: 1, noNaN: true }),
  text: sentence,
});

const blocksOf = (text: string) =>
  [...text.matchAll(/[^\n]+(?:\n[^\n]+)*\n*/g)].map((match) => ({
    start: match.index,
    end: match.index + match[0].length,
  }));

/** Few words, so that passages are alike; inserted text has words of its own, so that the truth is known. */
function apply(page: Tracked, { kind, at, to, text }: Edit): Tracked {
  const blocks = blocksOf(page.text);
  const pick = (share: number) => blocks[Math.min(blocks.length - 1, Math.floor(share * blocks.length))];
  const [one, other] = [pick(at), pick(to)];
  if (!one || !other) return page;
  const part = (block: { start: number; end: number }) => slice(page, block.start, block.end);
  switch (kind) {
    case "delete":
      return replace(page, one.start, one.end, "");
    case "insert":
      return replace(page, one.start, one.start, `${text.replace(/[a-z]+/gi, (word) => `${word}ish`)}\n\n`);
    case "rewrap": {
      const spaces = [...part(one).text.matchAll(/ /g)].filter((_, n) => n % 3 === 0).reverse();
      return spaces.reduce((now, { index }) => replace(now, one.start + index, one.start + index + 1, "\n"), page);
    }
    case "move":
    case "swap": {
      const [first, second] = one.start < other.start ? [one, other] : [other, one];
      // The truth about two equal blocks that change places is not in the text.
      if (first.start === second.start || part(first).text.trim() === part(second).text.trim()) return page;
      const between = slice(page, first.end, second.start);
      const [head, tail] = [slice(page, 0, first.start), slice(page, second.end)];
      const gap = fresh("\n\n");
      return kind === "swap"
        ? join(head, part(second), gap, between, part(first), gap, tail)
        : join(head, between, part(second), gap, part(first), tail);
    }
  }
}

/** The same cases each day; SCRIPTORIUM_TEST_ALL=1 makes them many, SCRIPTORIUM_TEST_SEED others. */
const thoroughly = (daily: number) => ({
  ...draws(daily, 40_000),
  seed: Number(process.env.SCRIPTORIUM_TEST_SEED ?? 20261115),
});

const bare = (text: string) => text.replace(/[\s>]+/g, "");

describe("whatever was done to a page", () => {
  const drawn = fc.record({
    blocks: fc.array(block, { minLength: 3, maxLength: 9 }),
    from: fc.double({ min: 0, max: 1, noNaN: true }),
    length: fc.integer({ min: 1, max: 90 }),
    edits: fc.array(edit, { minLength: 1, maxLength: 4 }),
  });

  test("the text at an anchor keeps its state's promise, and a lost passage is not guessed (R2)", () => {
    fc.assert(
      fc.property(drawn, ({ blocks, from, length, edits }) => {
        const text = `${blocks.join("\n\n")}\n`;
        const start = Math.floor(from * (text.length - 1));
        const anchor = anchorAt(text, start, Math.min(text.length, start + length), "old");
        const now = edits.reduce(apply, tracked(text));
        const found = refind(anchor, text, now.text, "new");
        const at = place(found);
        const said = at && now.text.slice(at.start, at.end);

        if (found.state === "anchored") expect(said).toBe(anchor.quote);
        if (found.state === "moved" && bare(said ?? "") !== bare(anchor.quote)) {
          expect(sharedWords(said ?? "", anchor.quote)).toBeGreaterThan(0.3);
        }
        if (found.state === "anchored" || found.state === "moved") {
          expect(found.anchor.quote).toBe(said);
          expect(survival(text, now, anchor)).toBeGreaterThan(0);
          expect(holds(text, now, anchor, found.anchor)).toBe(true);
        } else expect(found.anchor).toBe(anchor);
      }),
      thoroughly(800),
    );
  });

  test("an anchor in a page that only changed elsewhere is never lost (R2)", () => {
    fc.assert(
      fc.property(drawn, sentence, ({ blocks, from }, line) => {
        const text = `${blocks.join("\n\n")}\n`;
        const own = blocksOf(text)[Math.floor(from * blocksOf(text).length * 0.99)];
        if (!own) return;
        const anchor = anchorAt(text, own.start, text.slice(0, own.end).trimEnd().length, "old");
        const added = `\n\nNewly ${line.replace(/[a-z]+/gi, (word) => `${word}ish`)}\n`;
        const found = refind(anchor, text, text + added, "new");
        expect(place(found)).toMatchObject({ start: anchor.start, end: anchor.end });
      }),
      thoroughly(200),
    );
  });
});
