import { expect, test } from "vitest";
import { unwrap } from "../../kernel/result.ts";
import { changesBetween, takeSome } from "./changes.ts";

const base = "a\nb\nc\nd\ne\n";
const text = "a\nB\nc\nd\nE\nf\n";

test("R3: each run of changed lines is a change with its first line", () => {
  expect(changesBetween(base, text)).toEqual([
    { number: 1, line: 2, removed: ["b\n"], added: ["B\n"] },
    { number: 2, line: 5, removed: ["e\n"], added: ["E\n", "f\n"] },
  ]);
});

test.each([
  ["one", [{ number: 1 }], "a\nB\nc\nd\ne\n", [2], []],
  ["the other", [{ number: 2 }], "a\nb\nc\nd\nE\nf\n", [1], []],
  ["one in other words", [{ number: 1, content: "x\ny" }], "a\nx\ny\nc\nd\ne\n", [2], [1]],
  ["both, one edited to nothing", [{ number: 1, content: "" }, { number: 2 }], "a\nc\nd\nE\nf\n", [], [1]],
])("R3: taking %s change leaves the rest of the base text as it is", (_, taken, wanted, leftOut, edited) => {
  const made = unwrap(takeSome(base, text, taken));
  expect(made).toMatchObject({ text: wanted, edited });
  expect(made.leftOut.map(({ number }) => number)).toEqual(leftOut);
});

test.each([
  ["a change that is not there", [{ number: 3 }], /no change 3; the proposal has 2/],
  ["one twice", [{ number: 1 }, { number: 1 }], /occurs twice/],
  ["all as they are", [{ number: 1 }, { number: 2 }], /approve it instead/],
])("R3: taking %s is refused", (_, taken, said) => {
  expect(takeSome(base, text, taken)).toMatchObject({ problem: { message: expect.stringMatching(said) } });
});
