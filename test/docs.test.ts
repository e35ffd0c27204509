import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { fileOf, sidebar } from "../scripts/reference/llms.ts";

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

/** Relative links and the sources of images. */
const linksOf = (page: string) =>
  [...prose(page).matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g)]
    .map(([, link, image]) => link ?? image ?? "")
    .filter((link) => !/^(https?:|mailto:)/.test(link));

function isThere(page: string, link: string): boolean {
  const [path = "", heading] = link.split("#");
  const file = path === "" ? page : join(page, "..", decodeURIComponent(path));
  if (!existsSync(join(root, file))) return false;
  return heading === undefined || !file.endsWith(".md") || headingsOf(file).includes(heading);
}

/** The anchors that a forge makes of the headings. */
const headingsOf = (page: string) =>
  [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, text = ""]) =>
    text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );

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

  test("links only to pages, headings and images that exist", () => {
    const broken = pages().flatMap((page) =>
      linksOf(page)
        .filter((link) => !isThere(page, link))
        .map((link) => `${page}: ${link}`),
    );
    expect(broken).toEqual([]);
  });

  test("P5: every page is in the sidebar, every image on a page, and every picture has a light and a dark version", () => {
    const listed = sidebar(join(root, "docs")).flatMap(({ items }) => items.map(({ link }) => `docs/${fileOf(link)}`));
    const ours = tracked().filter((path) => /^docs\/(?!decisions\/).*\.md$/.test(path));
    expect(listed.toSorted()).toEqual(ours.toSorted());

    const images = tracked().filter((path) => path.startsWith("docs/images/"));
    const shown = new Set(pages().flatMap((page) => linksOf(page).map((link) => join(page, "..", link))));
    expect(images.filter((image) => !shown.has(image))).toEqual([]);
    expect(images.filter((image) => !images.includes(image.replace("-light.", "-dark.")))).toEqual([]);
  });

  test("P8: every message in Troubleshooting is one that the source prints", () => {
    const source = tracked()
      .filter((path) => /^src\/.*\.ts$/.test(path) && !path.endsWith(".test.ts"))
      .map(read)
      .join("\n");
    const quoted = [...read("docs/troubleshooting.md").matchAll(/^### `(.+)`$/gm)].map(([, message = ""]) => message);
    expect(quoted.length).toBeGreaterThanOrEqual(25);
    // An expression in the source is … on the page, so each part between two of them must be in the source.
    const unknown = quoted.filter((message) => message.split("…").some((part) => !source.includes(part.trim())));
    expect(unknown).toEqual([]);
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
