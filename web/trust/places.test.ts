import { expect, test } from "vitest";
import { spansOf } from "./places.ts";

const file = "---\ntitle: Tea\n---\n# Tea\n\nBlack tea.\n\n- green\n- white\n";
const bodyFrom = file.indexOf("# Tea");

test("K10: a passage is found in the file by its line in the text, after the frontmatter", () => {
  const passages = [
    { line: 3, text: "Black tea." },
    { line: 6, text: "- white" },
  ];
  const found = spansOf(passages, file, bodyFrom).map(({ start, end }) => file.slice(start, end));
  expect(found).toEqual(["Black tea.", "- white"]);
});

test("K10: a line that the file does not have gives no mark", () => {
  expect(spansOf([{ line: 99, text: "gone" }], file, bodyFrom)).toEqual([]);
});
