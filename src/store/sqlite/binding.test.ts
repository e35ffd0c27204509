import { expect, test } from "vitest";
import { hasWalResetBug, loadBinding, shipped } from "./binding.ts";
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

test.each([
  ["that ships", shipped],
  ["that is used", loadBinding],
])("the SQLite %s has no WAL-reset bug", (_, binding) => {
  const [row] = openConnection(":memory:", 0, binding()).prepare("SELECT sqlite_version() AS version").all([]);
  expect(hasWalResetBug(row?.version as string)).toBe(false);
});
