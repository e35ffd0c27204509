import { expect, test } from "vitest";
import { fittingNames, typedMention, withName } from "./mention.ts";

test.each([
  ["Ask @", "", 4],
  ["Ask @gr", "gr", 4],
  ["Ask @Grace Ho", "Grace Ho", 4],
  ["(@ad", "ad", 1],
  ["One\n@ad", "ad", 4],
])("U11: a name is completed after %j", (text, query, start) => {
  expect(typedMention(text, text.length)).toEqual({ start, query });
});

test.each(["Ask", "ada@gr", "docs/@gr", "`@gr", "@Ada\nsaid"])("U11: no name is completed after %j", (text) => {
  expect(typedMention(text, text.length)).toBeUndefined();
});

const names = ["Ada Lovelace", "Grace Hopper", "engineer", "Hal"].map((name) => ({ name }));

test.each([
  ["", ["Ada Lovelace", "Grace Hopper", "engineer", "Hal"]],
  ["h", ["Hal", "Grace Hopper"]],
  ["GRACE h", ["Grace Hopper"]],
  ["Grace Hopper ", []],
])("U11: %j fits the names %j", (query, expected) => {
  expect(fittingNames(names, query, 8).map(({ name }) => name)).toEqual(expected);
});

test("U11: a chosen name replaces what was typed, and the caret stands after it", () => {
  expect(withName("Ask @gr about it", { start: 4, query: "gr" }, "Grace Hopper")).toEqual({
    text: "Ask @Grace Hopper about it",
    caret: 17,
  });
  expect(withName("@gr", { start: 0, query: "gr" }, "Grace Hopper")).toEqual({ text: "@Grace Hopper ", caret: 14 });
});
