import { expect, test } from "vitest";
import { fillTemplate, missingValues, placeholdersIn } from "./fill-template.ts";

const text = "Fix {{ bug }}.\n\nIt is here: {{where}}\n\nIt is done when:\n\n{{done}}\n\nTest first.\n";

test("U6: empty values take their paragraph and its introduction with them", () => {
  expect(fillTemplate(text, { bug: "the login" })).toBe("Fix the login.\n\nTest first.");
  expect(fillTemplate(text, { bug: "x", where: " src ", done: "a\nb" })).toBe(
    "Fix x.\n\nIt is here: src\n\nIt is done when:\n\na\nb\n\nTest first.",
  );
});

test("U6: values are text: they are not searched for placeholders, and names of objects are not values", () => {
  expect(fillTemplate("Fix {{bug}} and {{where}}.", { bug: "{{where}}$&", where: "here" })).toBe(
    "Fix {{where}}$& and here.",
  );
  expect(fillTemplate("Fix {{constructor}} in {{a}}.", { a: "b" })).toBe("Fix  in b.");
  expect(placeholdersIn(text)).toEqual(["bug", "where", "done"]);
});

test("U6: what is missing are values that are not optional", () => {
  const parameter = (name: string, optional: boolean) => ({ name, label: name, hint: null, optional, long: false });
  const parameters = [parameter("bug", false), parameter("where", true), parameter("toString", false)];
  expect(missingValues(parameters, { bug: "  " }).map(({ name }) => name)).toEqual(["bug", "toString"]);
});
