import { expect, test } from "vitest";
import { fileNameFor } from "./file-name.ts";

test.each([
  ["How we deploy!", "how-we-deploy.md"],
  ["  Größe & Gewicht ", "größe-gewicht.md"],
  ["概要", "概要.md"],
  ["../../etc", "etc.md"],
  ["!?", ""],
])("W5: a title becomes a file name: %j", (title, name) => {
  expect(fileNameFor(title)).toBe(name);
});
