import { expect, test } from "vitest";
import { bodyStart, findFrontmatter } from "./frontmatter.ts";

test.each([
  ["---\na: 1\n---\n\nbody", "a: 1\n", "body"],
  ["\ufeff---\r\na: 1\r\n--- \r\n\r\nbody", "a: 1\r\n", "body"],
  ["---\n---\nbody", "", "body"],
  ["---\na: 1\n---", "a: 1\n", ""],
  ["---\na: 1\n\nbody", undefined, "---\na: 1\n\nbody"],
  ["\ufeffbody", undefined, "body"],
  ["----\na\n----\n", undefined, "----\na\n----\n"],
])("%j has the frontmatter %j and the body %j", (text, yaml, body) => {
  expect(findFrontmatter(text)?.yaml).toBe(yaml);
  expect(text.slice(bodyStart(text))).toBe(body);
});
