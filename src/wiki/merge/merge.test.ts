import fc from "fast-check";
import { expect, test } from "vitest";
import { mergeByHeading } from "./merge.ts";

const page = (parts: Record<string, string>) =>
  Object.entries(parts)
    .map(([title, text]) => `# ${title}\n\n${text}\n\n`)
    .join("");

test("K7: two changes under different headings both stand", () => {
  const base = page({ a: "1", b: "2", c: "3" });
  expect(mergeByHeading(base, page({ a: "1", b: "2", c: "33" }), page({ a: "11", b: "2", c: "3" }))).toBe(
    page({ a: "11", b: "2", c: "33" }),
  );
});

test.each([
  ["the same heading differently", page({ a: "theirs" }), page({ a: "yours" })],
  ["a heading that the other removed", "", page({ a: "yours" })],
])("K7: changing %s is for someone to decide", (_what, theirs, yours) => {
  expect(mergeByHeading(page({ a: "base" }), theirs, yours)).toBeUndefined();
});

test("K7: new and removed headings merge, new ones after what they followed", () => {
  const base = page({ a: "1", b: "2" });
  expect(mergeByHeading(base, page({ b: "2" }), page({ a: "1", b: "2", c: "3" }))).toBe(page({ b: "2", c: "3" }));
  expect(mergeByHeading(base, page({ a: "1", b: "2", z: "9" }), page({ a: "1", n: "5", b: "2" }))).toBe(
    page({ a: "1", n: "5", b: "2", z: "9" }),
  );
});

test("K7: a # inside a code block is not a heading", () => {
  const base = "# a\n\n```sh\n# comment\nls\n```\n\n# b\n\ntext\n";
  const theirs = base.replace("ls", "ls -l");
  expect(mergeByHeading(base, theirs, base.replace("text", "more"))).toBe(theirs.replace("text", "more"));
  expect(mergeByHeading(base, theirs, base.replace("# comment", "# other"))).toBeUndefined();
});

test("K7: a last line without its end does not run into what follows", () => {
  expect(mergeByHeading("# a\n\nx", "# a\n\nx\n\n# b\n\ny", "# a\n\nz")).toBe(undefined);
  expect(mergeByHeading("# a\n\nx\n", "# a\n\nx\n# b\n\ny", "# a\n\nx\n# c\n\nz")).toBe("# a\n\nx\n# c\n\nz\n# b\n\ny");
});

test("K7: whatever is merged has every part that only one side changed, and one side's text is kept when the other is the base", () => {
  const parts = fc.dictionary(fc.constantFrom("a", "b", "c", "d"), fc.constantFrom("1", "2", "3"), { minKeys: 1 });
  fc.assert(
    fc.property(parts, parts, (one, two) => {
      expect(mergeByHeading(page(one), page(two), page(one))).toBe(page(two));
      const back = mergeByHeading(page(one), page(one), page(two));
      expect(back?.split("# ").sort()).toEqual(page(two).split("# ").sort());
    }),
  );
});
