import { expect, test } from "vitest";
import { silent } from "../../kernel/log.ts";
import { ok } from "../../kernel/result.ts";
import { openThreads } from "../../kernel/threads/threads.ts";
import { blame } from "./blame.ts";

test.each<[string, string[], number[]]>([
  ["one text is all its own", ["a\nb\n"], [0, 0]],
  ["a line added later is of the later text", ["a\nc\n", "a\nb\nc\n"], [0, 1, 0]],
  ["a line that came back is of the text that brought it back", ["a\nb\n", "a\n", "a\nb\n"], [0, 2]],
  ["an empty text has no lines", ["a\n", ""], []],
])("%s", async (_, texts, origins) => {
  expect(await blame(texts, openThreads(silent))).toEqual(ok(origins));
});
