import { expect, test } from "vitest";
import { isForPerson } from "./for-you.ts";

test.each([
  ["of nobody", null, true],
  ["their own", "Ada", true],
  ["of somebody else who can decide", "Grace", false],
  ["of somebody who has left", "Alan", true],
])("U11: what waits is for a person if it is %s: %s → %s", (_, responsible, expected) => {
  expect(isForPerson("Ada", responsible, new Set(["Ada", "Grace"]))).toBe(expected);
});
