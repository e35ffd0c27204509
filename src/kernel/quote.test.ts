import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isQuoted, linesOfQuote } from "./quote.ts";

describe("W4: a quote", () => {
  test.each([
    ["passes over white space", "Tests:\n   12   passed", "Tests: 12 passed", true],
    ["must have the same case", "12 Passed in all", "12 passed in all", false],
    ["must have the same digits", "Tests 42 passed", "Tests 43 passed", false],
    ["may not leave out the end of a number", "Tests 42 passed", "Tests 4", false],
    ["may not leave out the start of a number", "142 tests passed", "42 tests passed", false],
    ["may not leave out decimals", "took 1.25 seconds", "took 1", false],
    ["may not begin after a decimal point", "coverage 99.75 percent", "75 percent", false],
    ["may not leave out a minus", "returned -17 in total", "17 in total", false],
    ["may not begin inside a word", "invalid configuration", "valid configuration", false],
    ["may not end inside a word", "the build failed badly", "the build fail", false],
    ["may not leave out a negation", "not ok 3 - adds numbers", "ok 3 - adds numbers", false],
    ["may not leave out a contraction", "it doesn't return early", "return early", false],
    ["is not negated by the line before it", "colours: no\n12 tests passed", "12 tests passed", true],
    ["may stand between punctuation", 'say("Goodbye, Ada.");', "Goodbye, Ada.", true],
    ["that is trivial does not count", "everything is ok here", "ok", false],
    ["that is trivial counts as a whole line", "first\n  ok  \nlast", "ok", true],
    ["that is empty does not count", "anything", "  ", false],
    ["may end a sentence in a script without spaces", "测试全部通过了没有错误", "测试全部通过了", true],
  ])("%s", (_rule, text, quote, expected) => {
    expect(isQuoted(text, quote)).toBe(expected);
  });

  test("of whole lines is found wherever it is taken from, and not after one digit of it changed", () => {
    const line = fc.tuple(fc.stringMatching(/^[a-z]{3,12}$/), fc.integer({ min: 10, max: 99_999 }));
    fc.assert(
      fc.property(
        fc.uniqueArray(line, { minLength: 2, maxLength: 30, selector: ([, n]) => n }),
        fc.nat(),
        (lines, at) => {
          const text = lines.map(([word, n]) => `${word} took ${n} steps`).join("\n");
          const [word, n] = lines[at % lines.length] ?? ["", 0];
          expect(isQuoted(text, `${word} took ${n} steps`)).toBe(true);
          const other = String(n).replace(/\d$/, (digit) => String((Number(digit) + 1) % 10));
          if (!lines.some(([same, m]) => same === word && String(m) === other))
            expect(isQuoted(text, `${word} took ${other} steps`)).toBe(false);
        },
      ),
      { numRuns: 300 },
    );
  });
});

test.each([
  ["a\nb c\nd", "b c", { from: 2, to: 2 }],
  ["a\nb\n\nc\nd", "b c", { from: 2, to: 4 }],
  ["a\nb", "zz", undefined],
  ["a", " ", undefined],
])("O8: the quote in %j is found by its lines", (text, quote, expected) => {
  expect(linesOfQuote(text, quote)).toEqual(expected);
});
