import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const root = new URL("..", import.meta.url).pathname;
const read = (path: string) => readFileSync(join(root, path), "utf8");
/** The page without code blocks and code spans, where a link is only an example. */
const prose = (path: string) =>
  read(path)
    .replaceAll(/^```[\s\S]*?^```/gm, "")
    .replaceAll(/`[^`\n]*`/g, "");
const tracked = () => execFileSync("git", ["-C", root, "ls-files"], { encoding: "utf8" }).split("\n").filter(Boolean);
/** Our own pages; the example workspace describes another project, and decisions describe their own day. */
const pages = () =>
  tracked().filter((path) => path.endsWith(".md") && !/^(docs\/decisions|example|templates)\//.test(path));

describe("the documentation", () => {
  test("names only files and folders that exist", () => {
    const missing = pages().flatMap((page) =>
      [...read(page).matchAll(/`((?:src|web|test|scripts|bench|prove|skills|templates)\/[\w./-]+)`/g)]
        .map(([, path = ""]) => path)
        .filter((path) => !existsSync(join(root, path)))
        .map((path) => `${page}: ${path}`),
    );
    expect(missing).toEqual([]);
  });

  test("links only to pages and images that exist", () => {
    const broken = pages().flatMap((page) =>
      [...prose(page).matchAll(/\]\((?!https?:|#|mailto:)([^)\s#]+)(?:#[^)]*)?\)/g)]
        .map(([, path = ""]) => path)
        .filter((path) => !existsSync(join(root, page, "..", decodeURIComponent(path))))
        .map((path) => `${page}: ${path}`),
    );
    expect(broken).toEqual([]);
  });

  test("describes every folder of src/ in ARCHITECTURE.md, in the order that the linter checks", () => {
    const folders = readdirSync(join(root, "src"), { withFileTypes: true }).flatMap((item) =>
      item.isDirectory() ? item.name : [],
    );
    const described = [...read("ARCHITECTURE.md").matchAll(/^\| `src\/(\w+)\/` \|/gm)].map(([, name = ""]) => name);
    expect([...described].sort()).toEqual([...folders].sort());

    const { overrides } = JSON.parse(read("biome.json")) as {
      overrides: { includes: string[]; linter: { rules: { style?: { noRestrictedImports?: Rule } } } }[];
    };
    type Rule = { options: { patterns: { group: string[] }[] } };
    for (const [at, folder] of described.entries()) {
      const rule = overrides.find(({ includes }) => includes.includes(`src/${folder}/**`));
      const banned =
        rule?.linter.rules.style?.noRestrictedImports?.options.patterns.flatMap(({ group }) => group) ?? [];
      // The page lists the highest folder first: everything above this one is banned in it.
      for (const above of described.slice(0, at))
        expect(banned, `${folder} imports ${above}`).toContain(`../${above}/**`);
    }
  });

  test("answers «where is it decided?» with files that exist", () => {
    const [, table = ""] = read("CONTRIBUTING.md").split("## Where is it decided?");
    const answers = [...table.matchAll(/^\| .+\? \| `(src\/[\w./-]+)` \|$/gm)].map(([, path = ""]) => path);
    expect(answers.length).toBeGreaterThanOrEqual(20);
    expect(answers.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});
