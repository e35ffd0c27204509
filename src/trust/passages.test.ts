import { expect, test } from "vitest";
import { passagesOf } from "./passages.ts";

const text = `Intro of
two lines.

# Limits

- Retries wait 30 s.
  They stop after five.
- Jobs wait 60 s.

| name | value |
|---|---|
| retries | 5 |

\`\`\`sh
# not a heading
run --fast
\`\`\`

## Old

- Jobs wait 60 s.
`;

test("K10: a passage is a paragraph, a list item, a row of a table or a code block, with the heading above it", () => {
  expect(passagesOf(text).map(({ heading, line, text }) => [heading, line, text])).toEqual([
    ["", 1, "Intro of\ntwo lines."],
    ["Limits", 6, "- Retries wait 30 s.\n  They stop after five."],
    ["Limits", 8, "- Jobs wait 60 s."],
    ["Limits", 12, "| retries | 5 |"],
    ["Limits", 14, "```sh\n# not a heading\nrun --fast\n```"],
    ["Old", 21, "- Jobs wait 60 s."],
  ]);
});

test("K10: the same words under another heading are another passage; white space and list markers do not count", () => {
  const hashes = (text: string) => passagesOf(text).map(({ hash }) => hash);
  const [first] = hashes("# A\n\n- Jobs wait 60 s.\n");
  expect(hashes("# A\n\n* Jobs  wait\n  60 s.\n")).toEqual([first]);
  expect(hashes("# B\n\n- Jobs wait 60 s.\n")).not.toEqual([first]);
  expect(hashes("# A\n\n- Jobs wait 61 s.\n")).not.toEqual([first]);
});

test("K10: a part of a page has the passages that the page has", () => {
  const whole = new Set(passagesOf(text).map(({ hash }) => hash));
  const part = passagesOf("- Retries wait 30 s.\n  They stop after five.\n- Jobs wait 60 s.", "Limits");
  expect(part.map(({ hash }) => whole.has(hash))).toEqual([true, true]);
});
