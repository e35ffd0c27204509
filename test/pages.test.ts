import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { App } from "../src/app.ts";
import { unwrap } from "../src/kernel/result.ts";
import { approveProposal } from "../src/review/proposals/operations.ts";
import { proposePage } from "../src/review/proposals/propose.ts";
import { blobOf } from "../src/store/git/blob.ts";
import { listPages, readPage } from "../src/wiki/pages/operations.ts";
import { pagePath } from "../src/wiki/pages/pages.ts";
import { watchPages } from "../src/wiki/pages/watch-pages.ts";
import {
  agent,
  allEvents,
  backends,
  engines,
  gitPerson,
  newWorkspace,
  person,
  temporaryFolder,
} from "./support/workspace.ts";

const hostile = [
  "",
  " ",
  ".",
  "..",
  "/",
  "../secret.md",
  "../../etc/passwd.md",
  "docs/../../secret.md",
  "docs/../deploy.md",
  "docs/./deploy.md",
  "./deploy.md",
  "docs//deploy.md",
  "docs/deploy.md/",
  "/etc/passwd.md",
  "//host/share/a.md",
  "\\\\host\\share\\a.md",
  "\\\\?\\C:\\a.md",
  "\\??\\C:\\a.md",
  "//?/C:/a.md",
  "\\\\.\\pipe\\a.md",
  "C:\\a.md",
  "C:/a.md",
  "c:a.md",
  "file:///etc/a.md",
  "docs\\deploy.md",
  "..\\deploy.md",
  "docs/deploy.md\0",
  "docs/\0deploy.md",
  "docs/deploy.md\n",
  "docs/dep\rloy.md",
  "docs/\u001b[2Jdeploy.md",
  "docs/deploy\u007f.md",
  "docs/deploy\u0085.md",
  "docs/\u202edm.yolped.md",
  "docs/de\u200bploy.md",
  "docs/de\u00adploy.md",
  "\ufeffdocs/deploy.md",
  "docs/deploy\u2028.md",
  ".g\u200cit/a.md",
  "docs/deploy\ud800.md",
  "docs/caf\u0065\u0301.md",
  "docs/\u1100\u1161.md",
  "docs/\u212bngstrom.md",
  "%2e%2e/secret.md",
  "..%2fsecret.md",
  "docs%2Fdeploy.md",
  "docs/%00.md",
  "%252e%252e%252fsecret.md",
  "%c0%ae%c0%ae/secret.md",
  "\uff0e\uff0e/secret.md",
  "\u2025/secret.md",
  "docs\uff0fdeploy.md",
  "docs\uff3cdeploy.md",
  "C\uff1a/a.md",
  "docs/deploy.md.",
  "docs/deploy.md ",
  "docs./deploy.md",
  "docs /deploy.md",
  " docs/deploy.md",
  "docs/ deploy.md",
  "docs/deploy.md::$DATA",
  "docs/deploy.md:stream.md",
  "docs/nul.md",
  "docs/CON.md",
  "aux/deploy.md",
  "docs/com1.md",
  "docs/LPT9.markdown",
  "docs/conin$.md",
  ".git/config.md",
  ".GIT/config.md",
  "docs/.git/hooks.md",
  "git~1/config.md",
  ".scriptorium/token.md",
  ".claude/skills/a/SKILL.md",
  "docs/.hidden.md",
  ".md",
  "docs/.md",
  "~/a.md",
  "~root/a.md",
  "docs/deploy",
  "docs/deploy.txt",
  "docs/deploy.MD",
  "docs/deploy.md.exe",
  "docs/deploy.mdx",
  "scriptorium.yaml",
  "docs/a*.md",
  "docs/a?.md",
  'docs/"a".md',
  "docs/<a>.md",
  "docs/a|b.md",
  `docs/${"a".repeat(300)}.md`,
  `${"a/".repeat(300)}a.md`,
];

test("R19, T12: every hostile path is refused, with its reason, before any file is looked at", () => {
  expect(new Set(hostile).size).toBeGreaterThanOrEqual(60);
  const taken = hostile.filter((path) => pagePath(path).ok);
  expect(taken).toEqual([]);
  for (const path of hostile) {
    const refused = pagePath(path);
    expect(!refused.ok && refused.problem).toMatchObject({ code: "invalid", message: expect.stringMatching(/: \S/) });
  }
});

test("R19: plain paths of any language are taken as they are", () => {
  const good = [
    "README.md",
    "docs/deploy.md",
    "wiki/api/errors.md",
    "docs/café.markdown",
    "docs/部署（新）.md",
    "a b/c-d_e.f.md",
  ];
  expect(good.map((path) => unwrap(pagePath(path)))).toEqual(good);
});

describe("R19: a page that is not what its path says", () => {
  test("T12: links out of the workspace, within it, and on the way to a file are refused", async () => {
    const { root, app } = await newWorkspace();
    const outside = temporaryFolder();
    writeFileSync(join(outside, "secret.md"), "secret");
    mkdirSync(join(root, "docs"));
    writeFileSync(join(root, "docs/deploy.md"), "# Deploy\n");
    symlinkSync(join(outside, "secret.md"), join(root, "docs/secret.md"));
    symlinkSync(outside, join(root, "elsewhere"));
    symlinkSync("deploy.md", join(root, "docs/alias.md"));
    symlinkSync(join(root, ".git"), join(root, "repository"));
    symlinkSync("nowhere.md", join(root, "docs/dangling.md"));
    for (const path of ["docs/secret.md", "elsewhere/secret.md", "docs/alias.md", "docs/dangling.md"]) {
      expect(await app.pages.read(path), path).toMatchObject({
        ok: false,
        problem: { code: "invalid", message: expect.stringContaining("link") },
      });
    }
    const listed = await app.pages.list();
    expect(listed).toContain("docs/deploy.md");
    expect(listed.filter((path) => /secret|alias|elsewhere|dangling|repository/.test(path))).toEqual([]);
  });

  test("T12: pipes, folders, bytes that are not text, twins in case and other spellings are refused", async () => {
    const { root, app } = await newWorkspace();
    mkdirSync(join(root, "docs/folder.md"), { recursive: true });
    execFileSync("mkfifo", [join(root, "docs/pipe.md")]);
    writeFileSync(join(root, "docs/latin.md"), Buffer.from([0x63, 0x61, 0x66, 0xe9]));
    writeFileSync(join(root, "docs/Twin.md"), "a");
    writeFileSync(join(root, "docs/twin.md"), "b");
    writeFileSync(join(root, "docs/cafe\u0301.md"), "decomposed");
    writeFileSync(join(root, "docs/large.md"), Buffer.alloc(4 * 1024 * 1024 + 1, "x"));
    const refused = async (path: string) => {
      const found = await app.pages.read(path);
      return found.ok ? "read" : found.problem.message;
    };
    expect(await refused("docs/folder.md")).toMatch(/not a regular file/);
    expect(await refused("docs/pipe.md")).toMatch(/not a regular file/);
    expect(await refused("docs/latin.md")).toMatch(/not UTF-8/);
    expect(await refused("docs/twin.md")).toMatch(/docs\/Twin\.md are the same file/);
    expect(await refused("docs/café.md")).toMatch(/page docs\/café\.md does not exist/);
    expect(await refused("DOCS/latin.md")).toMatch(/did you mean docs\/latin\.md/);
    expect(await refused("docs/large.md")).toMatch(/the maximum for a page/);
    expect(await refused("docs/none.md")).toMatch(/page docs\/none\.md does not exist/);
  });
});

describe.each(backends)("pages, with entries in $store on $engine", (backend) => {
  test("R19: files and entries are listed and read by path, with the blob that names their bytes", async () => {
    const { root, app } = await newWorkspace(backend);
    mkdirSync(join(root, "docs"));
    writeFileSync(join(root, "docs/deploy.md"), "---\ntitle: How we deploy\n---\n\nSlowly.\n");
    writeFileSync(join(root, ".gitignore"), "ignored.md\n.scriptorium/\n");
    writeFileSync(join(root, "ignored.md"), "x");
    const { version } = await app.entries.fetch("vision");
    unwrap(await app.knowledge(agent("planner")).commitEntry("vision", "# Far\n\nAhead.\n", version));

    const { pages } = unwrap(await listPages.perform(app, {}, person("reader")));
    expect(pages).toContainEqual({ path: "docs/deploy.md", entry: null });
    expect(pages).toContainEqual({ path: "wiki/vision.md", entry: "vision" });
    expect(pages.map((page) => page.path)).not.toContain("ignored.md");

    const deploy = unwrap(await readPage.perform(app, { path: "docs/deploy.md" }, person("reader")));
    expect(deploy).toMatchObject({
      title: "How we deploy",
      entry: null,
      source_sha: blobOf(deploy.content),
      lastAuthor: null,
    });
    const vision = unwrap(await readPage.perform(app, { path: "wiki/vision.md" }, person("reader")));
    expect(vision).toMatchObject({
      title: backend.store === "files" ? "Vision" : "Far",
      entry: { id: "vision", version: version + 1, mode: "snapshot" },
      source_sha: blobOf(vision.content),
      lastAuthor: "planner",
    });
    expect(vision.content).toContain("# Far\n\nAhead.\n");
    expect(await readPage.perform(app, { path: "docs/deploy.md" }, agent("planner"))).toMatchObject({
      ok: false,
      problem: { code: "denied" },
    });
  });
});

describe.each(engines)("K13: a page that is no entry changes while it is served, on %s", (engine) => {
  const deploy = "docs/deploy.md";
  const told = async (app: App) =>
    (await allEvents(app))
      .filter(({ kind }) => kind.startsWith("page-"))
      .map(({ kind, actor, subject }) => `${kind} ${subject} ${actor}`);

  test("an edit, a new page and one that goes are told once; entries, other files and ignored ones are not", async () => {
    const config = "agent:\n  author_name: Scribe\n  author_email: scribe@example.org\n";
    const text = "# Deploy\n\nOn Fridays.\n";
    const { app, root } = await newWorkspace({ engine, config, files: { [deploy]: text, ".gitignore": "out/\n" } });
    const watching = await watchPages(app);
    onTestFinished(() => watching.stop());
    const write = (path: string, content: string) => {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), content);
    };
    const edited = `page-edited page:${deploy} ${gitPerson.name}`;
    write(deploy, "# Deploy\n\nOn Tuesdays.\n");
    write("out/built.md", "x");
    write("docs/notes.txt", "x");
    write("wiki/vision.md", "by hand");
    await expect.poll(() => told(app)).toEqual([edited]);
    write(deploy, text);
    await expect.poll(() => told(app)).toEqual([edited, edited]);

    const topic = { id: "t-1", path: deploy, kind: "change", status: "open" };
    const wanted = { baseSha: blobOf(text), text: "# Deploy\n\nOn Mondays.\n" };
    const { id } = unwrap(await proposePage(app, topic, wanted, agent("engineer")));
    unwrap(await approveProposal.perform(app, { id }, person()));
    write("deep/er/new.md", "# New\n");
    rmSync(join(root, "docs"), { recursive: true });
    const rest = [
      `page-written page:${deploy} Scribe`,
      `page-added page:deep/er/new.md ${gitPerson.name}`,
      `page-removed page:${deploy} ${gitPerson.name}`,
    ];
    await expect.poll(async () => (await told(app)).sort()).toEqual([edited, edited, ...rest].sort());
    write("deep/er/new.md", "# Newer\n");
    await expect.poll(async () => (await told(app)).at(-1)).toBe(`page-edited page:deep/er/new.md ${gitPerson.name}`);
  });
});

test("P15: a server that stops while it looks at a new folder does not leave a watcher behind, which would keep its process alive", async () => {
  const { app, root } = await newWorkspace();
  const watchers = () => process.getActiveResourcesInfo().filter((name) => name === "FSEventWrap").length;
  const before = watchers();
  let goOn: () => void = () => undefined;
  const looking = new Promise<void>((asked) => {
    const { isIgnored } = app.git;
    app.git.isIgnored = async (path) => {
      asked();
      await new Promise<void>((done) => (goOn = done));
      return isIgnored(path);
    };
  });
  const watching = await watchPages(app);
  mkdirSync(join(root, "guides"));
  writeFileSync(join(root, "guides/new.md"), "# New\n");
  await looking;
  const stopped = watching.stop();
  goOn();
  await stopped;
  await expect.poll(watchers, { timeout: 5000 }).toBe(before);
});
