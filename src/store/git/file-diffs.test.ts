import { expect, test } from "vitest";
import { parsePatches } from "./file-diffs.ts";

test("W7: a removed line that looks like a header stays a line, and a binary file has no lines", () => {
  const text = [
    ...["diff --git a/a.sql b/a.sql", "index 1..2 100644", "--- a/a.sql", "+++ b/a.sql", "@@ -1,2 +1,2 @@"],
    ...["--- a comment", "-diff --git a/x b/x", "+++ more", "+kept", "\\ No newline at end of file"],
    ...["diff --git a/b.bin b/b.bin", "Binary files a/b.bin and b/b.bin differ", ""],
  ].join("\n");
  const [sql, bin] = parsePatches(text);
  expect(sql?.hunks.map(({ lines }) => lines)).toEqual([
    ["--- a comment", "-diff --git a/x b/x", "+++ more", "+kept", "\\ No newline at end of file"],
  ]);
  expect(bin).toEqual({ isBinary: true, hunks: [] });
});
