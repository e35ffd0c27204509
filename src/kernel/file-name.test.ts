import { expect, test } from "vitest";
import { fileNameProblem } from "./file-name.ts";

test.each([
  ...[".git/config", "a/.GIT", ".git.", ".git . .", ".git::$INDEX_ALLOCATION/x", "git~1/config.md", "x/GIT~2"],
  ...["gitmod~1", "GI7EBA~1", "maba30~1"],
])("S8: %s is another name of git's own files", (path) => {
  expect(fileNameProblem(path)).toMatch(/is another name of git's own files/);
});

test.each(["pay\u202eee.md", ".g\u200cit/x", "a\u3164.md", "a\u{e0041}.md", "a\nb.md", "a\u0000", "\ufeffa.md"])(
  "S8: the name %j has a hidden character",
  (path) => {
    expect(fileNameProblem(path)).toMatch(/hidden/);
  },
);

test.each(["src/main.ts", ".gitignore", ".github/ci.yml", "git.md", "gitea/~1.md", "日本語/ä.md", "a~1.md", "❤️.md"])(
  "%s is an ordinary name",
  (path) => {
    expect(fileNameProblem(path)).toBeUndefined();
  },
);
