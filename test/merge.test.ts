import { describe, expect, test } from "vitest";
import { reader } from "../src/http/markdown/read.ts";
import { findHeadings } from "../src/wiki/merge/headings.ts";
import { mergeByHeading } from "../src/wiki/merge/merge.ts";
import { mergeLines } from "../src/wiki/merge/merge-lines.ts";
import { drawCase, factsOf, judge } from "./support/merge-oracle.ts";
import { draws } from "./support/thorough.ts";

const { numRuns } = draws(300, 10_000);
const seeds = Array.from({ length: numRuns }, (_, nth) => nth + 1);

describe("N4: a merge that is offered is right", () => {
  test.each([
    ["by headings", mergeByHeading],
    ["by lines", mergeLines],
  ])("%s, over random edits judged by an oracle, and useful", (_, merge) => {
    let offered = 0;
    for (const seed of seeds) {
      const drawn = drawCase(seed);
      const merged = merge(drawn.base, drawn.theirs.text, drawn.yours.text);
      if (merged === undefined) continue;
      offered++;
      expect({ seed, wrong: judge(drawn, merged) }).toEqual({ seed, wrong: [] });
    }
    // Of the same pairs the merge before offered 66 % by headings, and a quarter of those were wrong.
    expect(offered / seeds.length).toBeGreaterThan(0.35);
  });

  test("the oracle sees what is lost, doubled, brought back, moved or out of order", () => {
    const text = (...parts: string[]) => parts.map((part) => `${part} words\n\n`).join("");
    const side = (written: string) => ({ text: written, moved: new Set<string>() });
    const base = text("# h1.v0", "p1.v0", "# h2.v0", "p2.v0");
    const drawn = {
      base,
      theirs: side(text("# h1.v0", "p1.v1", "# h2.v0", "p2.v0")),
      yours: side(text("# h1.v0", "p1.v0", "# h2.v0", "p2.v0", "p3.v0")),
      edits: [],
    };
    expect(judge(drawn, text("# h1.v0", "p1.v1", "# h2.v0", "p2.v0", "p3.v0"))).toEqual([]);
    for (const wrong of [
      base,
      text("# h1.v0", "p1.v1", "# h2.v0", "p2.v0"),
      text("# h1.v0", "p1.v1", "p3.v0", "# h2.v0", "p2.v0"),
      text("# h1.v0", "p1.v1", "# h2.v0", "p3.v0", "p2.v0"),
      text("# h1.v0", "p1.v1", "# h2.v0", "p2.v0", "p3.v0", "p3.v0"),
      text("# h2.v0", "p2.v0", "p3.v0", "# h1.v0", "p1.v1"),
      text("# h1.v0", "p1.v1", "h2.v0", "p2.v0", "p3.v0"),
    ])
      expect(judge(drawn, wrong)).not.toEqual([]);
  });

  const page = "# A\n\nalpha\n\n## S\n\nsub\n\n# B\n\nbeta\n\n# C\n\ngamma\n";

  test.each<[string, string, string, string]>([
    [
      "one side reorders, the other edits",
      page,
      "# B\n\nbeta\n\n# A\n\nalpha\n\n## S\n\nsub\n\n# C\n\ngamma\n",
      page.replace("beta", "BETA"),
    ],
    [
      "one adds a subsection, the other deletes its parent",
      page,
      page.replace("# C", "## N\n\nnew\n\n# C"),
      page.replace("# B\n\nbeta\n\n", ""),
    ],
    [
      "one renames the parent of a new subsection",
      page,
      page.replace("# B", "## N\n\nnew\n\n# B"),
      page.replace("# A", "# Z"),
    ],
    [
      "both move the same section",
      page,
      `${page.replace("## S\n\nsub\n\n", "")}\n## S\n\nsub\n`,
      page.replace("## S\n\nsub\n\n# B\n\nbeta\n", "# B\n\nbeta\n\n## S\n\nsub\n"),
    ],
    [
      "one moves what the other deletes",
      page,
      `${page.replace("## S\n\nsub\n\n", "")}\n## S\n\nsub\n`,
      page.replace("## S\n\nsub\n\n", ""),
    ],
    ["both rename the same heading", page, page.replace("# B", "# B1"), page.replace("# B", "# B2")],
    [
      "two headings are the same",
      `${page}\n# A\n\nagain\n`,
      `${page}\n# A\n\nagain\n`.replace("beta", "BETA"),
      `${page}\n# A\n\nagain\n`.replace("gamma", "GAMMA"),
    ],
    ["one opens a fence above what the other adds", page, page.replace("gamma", "```sh"), `${page}\n# D\n\ndelta\n`],
    ["one opens a comment above what the other adds", page, page.replace("gamma", "<!--"), `${page}\n# D\n\ndelta\n`],
    [
      "a heading may be a part of a list item",
      page.replace("beta", "- x\n\n  # in the item"),
      page.replace("beta", "- x\n\n  # in the item").replace("alpha", "ALPHA"),
      page.replace("beta", "- x\n\n  # in the item").replace("gamma", "GAMMA"),
    ],
  ])("not offered: %s", (_what, base, theirs, yours) => {
    expect(mergeByHeading(base, theirs, yours)).toBeUndefined();
    expect(mergeByHeading(base, yours, theirs)).toBeUndefined();
  });

  test.each<[string, string, string, string, string]>([
    [
      "a moved subsection and an edit elsewhere",
      page,
      page.replace("## S\n\nsub\n\n", "").replace("beta\n", "beta\n\n## S\n\nsub\n"),
      page.replace("gamma", "GAMMA"),
      page.replace("## S\n\nsub\n\n", "").replace("beta\n", "beta\n\n## S\n\nsub\n").replace("gamma", "GAMMA"),
    ],
    [
      "setext headings",
      "One\n===\n\na\n\nTwo\n---\n\nb\n",
      "One\n===\n\nA\n\nTwo\n---\n\nb\n",
      "One\n===\n\na\n\nTwo\n---\n\nB\n",
      "One\n===\n\nA\n\nTwo\n---\n\nB\n",
    ],
    [
      "# in a comment, in raw HTML and in frontmatter",
      "---\n# note\na: 1\n---\n\n# A\n\n<!--\n# A\n-->\n\n<pre>\n# A\n</pre>\n\n# B\n\nb\n",
      "---\n# note\na: 2\n---\n\n# A\n\n<!--\n# A\n-->\n\n<pre>\n# A\n</pre>\n\n# B\n\nb\n",
      "---\n# note\na: 1\n---\n\n# A\n\n<!--\n# A\n-->\n\n<pre>\n# A\n</pre>\n\n# B\n\nB\n",
      "---\n# note\na: 2\n---\n\n# A\n\n<!--\n# A\n-->\n\n<pre>\n# A\n</pre>\n\n# B\n\nB\n",
    ],
    [
      "the text before the first heading",
      `before\n\n${page}`,
      `BEFORE\n\n${page}`,
      `before\n\n${page.replace("beta", "BETA")}`,
      `BEFORE\n\n${page.replace("beta", "BETA")}`,
    ],
    [
      "a missing last line break",
      page.trimEnd(),
      `${page}\n# D\n\ndelta`,
      page.trimEnd().replace("alpha", "ALPHA"),
      `${page.replace("alpha", "ALPHA")}\n# D\n\ndelta`,
    ],
    [
      "the same title under different parents",
      "# A\n\n## Notes\n\na\n\n# B\n\n## Notes\n\nb\n",
      "# A\n\n## Notes\n\nA\n\n# B\n\n## Notes\n\nb\n",
      "# A\n\n## Notes\n\na\n\n# B\n\n## Notes\n\nB\n",
      "# A\n\n## Notes\n\nA\n\n# B\n\n## Notes\n\nB\n",
    ],
  ])("offered: %s", (_what, base, theirs, yours, merged) => {
    expect(mergeByHeading(base, theirs, yours)).toBe(merged);
    expect(mergeByHeading(base, yours, theirs)).toBe(merged);
  });
});

test("N4: headings are found where the parser of rendered pages finds them, or not at all", () => {
  const lines = [
    "# a",
    "## b ##",
    "#c",
    " # d",
    "    # e",
    "e",
    "- f",
    "  g",
    "> h",
    "===",
    "---",
    "",
    "",
    "",
    "```",
    "  ```",
    "<!--",
    "-->",
    "<div>",
    "<pre>",
    "</pre>",
    "$$",
    "| i |",
    "[j]: /k",
    "1. l",
    "14. m",
    "***",
    "\tn",
    "- ```",
    "* * *",
  ];
  const random = (seed: number) => drawCase(seed).base.length * 7919 + seed;
  let certain = 0;
  for (const seed of seeds) {
    let state = random(seed);
    const text = Array.from({ length: 8 }, () => {
      state = (Math.imul(state, 1103515245) + 12345) >>> 0;
      return `${lines[(state >>> 8) % lines.length]}\n`;
    });
    const found = findHeadings(text);
    if (!found || text.join("").startsWith("---\n")) continue;
    certain++;
    const parsed = reader
      .parse(text.join(""))
      .children.flatMap((node) =>
        node.type === "heading" ? [{ line: (node.position?.start.line ?? 0) - 1, depth: node.depth }] : [],
      );
    expect({ text, found: found.map(({ line, depth }) => ({ line, depth })) }).toEqual({ text, found: parsed });
  }
  expect(certain / seeds.length).toBeGreaterThan(0.2);
  expect(factsOf("# h1.v0\n\np1.v0\n").get("p1")).toMatchObject({ below: "h1" });
});
