import { expect, test } from "vitest";
import { chunk } from "./chunk.ts";
import { linksIn } from "./links.ts";

const cut = (text: string) => chunk({ title: "T", text }).map(({ heading, line, body }) => [heading, line, body]);

test("a text is cut by its headings, and each part knows where it stands", () => {
  const text = "Intro.\n\n# One\n\nFirst.\n\n## Deeper\n\nSecond.\n\nThird.\n\n# Two\n\nFourth.\n";
  expect(cut(text)).toEqual([
    ["", 1, "Intro."],
    ["One", 5, "First."],
    ["One › Deeper", 9, "Second.\n\nThird."],
    ["Two", 15, "Fourth."],
  ]);
});

test("a line in a code block is not a heading", () => {
  expect(cut("# A\n\n```sh\n# not a heading\nls\n```\n")).toEqual([["A", 3, "```sh\n# not a heading\nls\n```"]]);
});

test("each turn of a conversation and each line of a log is a part of its own", () => {
  expect(cut("Ada: hello\nBob: hello\nAda: how is the queue\nBob: long")).toHaveLength(4);
  expect(cut("[08:47] Ada: hello\n[08:49] Bob: hello\n[08:50] Ada: so\nand so\n[08:51] Bob: yes")).toHaveLength(4);
  expect(cut("- 2026-10-01T08:32:10.415Z a: one\n- 2026-10-01T13:05:44.902Z b: two")).toHaveLength(2);
  expect(cut("Note: this is not a conversation.\n\nIt has one colon.")).toHaveLength(1);
});

test("a part is also found by what stands around it", () => {
  const parts = chunk({ title: "T", text: "Ada: what does it cost\nBob: nine\nAda: fine\nBob: bye" });
  expect(parts[1]?.near).toContain("what does it cost");
  expect(parts[1]?.near).toContain("fine");
});

test("what stands beside a part under another heading is another matter", () => {
  const long = "It says something of no weight, at some length. ".repeat(30);
  const [, first, second, other] = chunk({
    title: "T",
    text: `Intro.\n\n# One\n\n${long}\n\n${long}!\n\n# Two\n\nOwls.\n`,
  });
  expect(first?.near).not.toContain("Intro");
  expect(first?.near).toContain("no weight");
  expect(second?.near).not.toContain("Owls");
  expect(other?.near).toBe("");
});

test("what was recorded before and after an entry of a log is not about it", () => {
  const log = "- 2026-10-01T08:32:10.415Z ada: owls\n- 2026-10-01T13:05:44.902Z bob: herons\n";
  expect(chunk({ title: "T", text: log }).map(({ near }) => near)).toEqual(["", ""]);
});

test("a long paragraph is cut between sentences, nothing of it is lost, and lines are counted", () => {
  const sentences = Array.from({ length: 120 }, (_, at) => `Sentence ${at} says something of no weight.`);
  const text = sentences.map((sentence, at) => (at % 3 === 2 ? `${sentence}\n` : `${sentence} `)).join("");
  const parts = chunk({ title: "T", text });
  expect(parts.length).toBeGreaterThan(1);
  expect(parts.every(({ body }) => body.length <= 2400)).toBe(true);
  const words = (value: string) => value.split(/\s+/).filter(Boolean);
  expect(words(parts.map(({ body }) => body).join(" "))).toEqual(words(text));
  const lines = text.split("\n");
  for (const { line, body } of parts) expect(lines[line - 1]).toContain(body.split(/\s+/).slice(0, 2).join(" "));
});

test("a text without a word is one part, so that its title is found", () => {
  expect(cut("")).toEqual([["", 1, ""]]);
  expect(cut("# Only a heading\n")).toEqual([["Only a heading", 1, ""]]);
});

test.each([
  ["# a".padEnd(200_000), 1],
  ["1".padEnd(200_000), 1],
  ["[a](".repeat(50_000), 80],
  ["](".repeat(100_000), 80],
])("a hostile line is cut in its turn, not in minutes", (text, least) => {
  const parts = chunk({ title: "T", text });
  expect(parts.length).toBeGreaterThanOrEqual(least);
  expect(
    parts.flatMap(({ body }) => linksIn(body, { kind: "entry", id: "T" }, { wiki: "wiki", sources: "sources" })),
  ).toEqual([]);
  expect(linksIn(text, { kind: "entry", id: "T" }, { wiki: "wiki", sources: "sources" })).toEqual([]);
});
