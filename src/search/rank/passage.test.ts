import { expect, test } from "vitest";
import { passage } from "./passage.ts";

const marked = (text: string) => passage(text.replaceAll("«", "\u0001").replaceAll("»", "\u0002"));
const filler = (count: number) => Array.from({ length: count }, (_, i) => `w${i}`).join(" ");

test.each([
  ["", ""],
  ["short «text» here", "short «text» here"],
  ["lines\n\nare  joined", "lines are joined"],
])("a short text is its own passage: %j", (text, expected) => {
  expect(marked(text).replaceAll("\u0001", "«").replaceAll("\u0002", "»")).toBe(expected);
});

test("a passage is few words around where the most was found, and says that there is more", () => {
  const found = marked(`«one» ${filler(100)} «two» and «three» ${filler(100)}`);
  expect(found).toMatch(/^….*\u0001two\u0002 and \u0001three\u0002.*…$/);
  expect(found.split(" ")).toHaveLength(24);
  expect(marked(filler(100))).toBe(`${filler(24)}…`);
  expect(marked(`${filler(100)} «end»`)).toMatch(/^….*\u0001end\u0002$/);
});

test("what is dropped for a later window never was in the best one", () => {
  const found = marked(`«a» ${filler(22)} «b» ${filler(50)}`);
  expect(found).toContain("\u0001b\u0002");
});
