import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { worktrees } from "../src/crew/attempt/worktree.ts";
import { filePath } from "../src/crew/rules/plan.ts";
import { operations } from "../src/operation-list.ts";
import { gitAt } from "../src/store/git/git.ts";
import { newWorkspace, person, sampledEngines, testEnvironment } from "./support/workspace.ts";

/** Names that git, or a file system that it knows, takes for its own, and names that people cannot read. */
const hostile = [
  ...["git~1/config.md", "GIT~1/x.md", "docs/git~2.md", ".git/x.md", ".GIT/x.md", ".git./x.md", ".git /x.md"],
  ...[".g\u200cit/x.md", ".git\u200d/x.md", ".git::$INDEX_ALLOCATION/x.md", "gitmod~1.md", "GI7EBA~1.md"],
  ...["pay\u202eee.md", "a\u200bb.md", "a\u2066b.md", "a\ufeffb.md", "a\u3164.md", "a\u{e0041}.md", "a\u0007.md"],
];

describe.each(sampledEngines)("S8: names of files, on %s", (engine) => {
  test("S8: hostile names are refused as sources, pages and paths of a plan, and the refusal says why", async () => {
    const { app } = await newWorkspace({ engine });
    for (const name of hostile) {
      const added = await operations.add_source.perform(app, { name, content: "x" }, person());
      const why = /is not a valid source name: (it |".+" is another name|files and)/;
      expect(added, name).toMatchObject({ problem: { code: "invalid", message: expect.stringMatching(why) } });
      const read = await operations.read_page.perform(app, { path: name }, person());
      const message = expect.stringContaining("is not a valid page path");
      expect(read, name).toMatchObject({ problem: { code: "invalid", message } });
      expect(filePath.safeParse(name).success, name).toBe(false);
    }
  });

  test("S8: whatever name of a source is accepted, the repository passes git fsck --strict", async () => {
    const { app, git } = await newWorkspace({ engine });
    const piece = fc.oneof(
      fc.constantFrom(
        "git",
        ".git",
        "GIT",
        "~1",
        "~",
        ".",
        " ",
        "\u200c",
        "gi7eba",
        "mod",
        "::$DATA",
        "a",
        "ä",
        "語",
        "❤️",
        "aux",
      ),
      fc.string({ minLength: 1, maxLength: 3, unit: "grapheme" }),
    );
    const part = fc.array(piece, { minLength: 1, maxLength: 3 }).map((pieces) => pieces.join(""));
    const names = fc.sample(fc.array(part, { minLength: 1, maxLength: 3 }), 400).map((parts) => parts.join("/"));
    let accepted = 0;
    for (const name of [...names, ...hostile]) {
      const added = await operations.add_source.perform(app, { name, content: "x" }, person());
      if (added.ok) accepted++;
    }
    expect(accepted).toBeGreaterThan(50);
    expect(await app.recorder.drain(20_000)).toBeUndefined();
    expect(git("fsck", "--strict", "--no-dangling")).toBe("");
  });
});

describe("S8: files of a run", () => {
  test("S8: a hostile name is not a deliverable", async () => {
    const { app, root } = await newWorkspace();
    await app.close();
    const git = gitAt(root, testEnvironment());
    const author = { name: "C", email: "c@d.e" };
    const trees = worktrees({ git, folder: join(root, ".scriptorium/worktrees"), guarded: [], author });
    for (const name of ["git~1/config.md", "pay\u202eee.md", ".g\u200cit/config", "docs/.GIT./x"]) {
      const tree = await trees.open("1.1", (await git.head()).commit ?? "");
      mkdirSync(dirname(join(tree.folder, name)), { recursive: true });
      writeFileSync(join(tree.folder, name), "x");
      expect(await trees.collect(tree, tree.base, "w"), name).toMatchObject({
        problem: { code: "invalid", message: expect.stringContaining("is not a valid file name") },
      });
    }
  });
});
