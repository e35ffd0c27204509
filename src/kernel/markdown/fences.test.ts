import { expect, test } from "vitest";
import { type CodeFence, fenceAfter } from "./fences.ts";

const inCode = (text: string) => {
  let fence: CodeFence | undefined;
  return text.split("\n").map((line) => {
    const before = fence;
    fence = fenceAfter(fence, line);
    return before || fence ? "c" : ".";
  });
};

test.each([
  ["a fence is closed by its own mark", "a\n```sh\nb\n~~~\n```\nc", ".cccc."],
  ["a longer fence holds a shorter one", "````\n```\nb\n```\n````\nc", "ccccc."],
  ["a fence with words behind it does not close", "```\n```js\n```\nc", "ccc."],
  ["a code span on a line by itself is not a fence", "``` a`b\nc", ".."],
  ["four spaces make no fence", "    ```\nc", ".."],
  ["line ends of any kind", "```\r\nb\r\n```\r\nc", "ccc."],
])("%s", (_, text, expected) => {
  expect(inCode(text).join("")).toBe(expected);
});
