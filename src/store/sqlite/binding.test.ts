import { expect, test } from "vitest";
import { hasWalResetBug, shipped } from "./binding.ts";
import { openConnection } from "./connection.ts";

test.each([
  ["3.44.5", true],
  ["3.44.6", false],
  ["3.45.1", true],
  ["3.50.4", true],
  ["3.50.7", false],
  ["3.51.2", true],
  ["3.51.3", false],
  ["3.53.4", false],
  ["4.0.0", false],
])("SQLite %s has the WAL-reset bug: %s", (version, bug) => {
  expect(hasWalResetBug(version)).toBe(bug);
});

test("the SQLite that ships has no WAL-reset bug", () => {
  const [row] = openConnection(":memory:", 0, shipped()).prepare("SELECT sqlite_version() AS version").all([]);
  expect(hasWalResetBug(row?.version as string)).toBe(false);
});
