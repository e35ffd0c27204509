import fc from "fast-check";
import { expect, test } from "vitest";
import { fenceAfter } from "../../../kernel/markdown/fences.ts";
import { lineAt, placesIn } from "./place.ts";

test("R1: the heading above a passage is the last one before it that is not in a code block", () => {
  const text = "Intro.\n\n# One\n\nText.\n\n```\n# Not a heading\n```\n\n  ## Two ##\r\nLast.\n";
  const placeOf = placesIn(text);
  const at = (words: string) => placeOf({ start: text.indexOf(words), end: text.indexOf(words) + words.length });
  expect(at("Intro.")).toEqual({ line: 1, endLine: 1, heading: "" });
  expect(at("# One\n\nText.")).toEqual({ line: 3, endLine: 5, heading: "One" });
  expect(at("# Not a heading")).toEqual({ line: 8, endLine: 8, heading: "One" });
  expect(at("Last.\n")).toEqual({ line: 12, endLine: 12, heading: "Two" });
});

test("R1: scanning a text once gives the lines and headings that reading it up to each passage gives", () => {
  const line = fc.constantFrom("", "# A", "## B #", "   # C", "    # D", "```", "~~~", "``` x", "text", " \t# E", "#F");
  const texts = fc.array(line, { maxLength: 30 }).map((lines) => lines.join("\n"));
  fc.assert(
    fc.property(texts, fc.nat(120), fc.nat(40), (text, from, length) => {
      const start = Math.min(from, text.length);
      const end = Math.min(start + length, text.length);
      const line = lineAt(text, start);
      let fence: ReturnType<typeof fenceAfter>;
      let heading = "";
      for (const one of text.split("\n", line)) {
        fence = fenceAfter(fence, one);
        if (fence === undefined) heading = /^ {0,3}#{1,6}[ \t]+(.+?)[ \t#]*\r?$/.exec(one)?.[1] ?? heading;
      }
      const endLine = lineAt(text, Math.max(start, end - 1));
      expect(placesIn(text)({ start, end })).toEqual({ line, endLine, heading });
    }),
  );
});
