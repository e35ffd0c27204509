import { execFileSync } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openApp } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import { worktrees } from "../src/crew/attempt/worktree.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { proposePage } from "../src/review/proposals/propose.ts";
import { blobOf } from "../src/store/git/blob.ts";
import { gitAt } from "../src/store/git/git.ts";
import { scriptorium } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing } from "./support/crew.ts";
import { put } from "./support/hostile-repository.ts";
import {
  agent,
  engines,
  newWorkspace,
  person,
  temporaryFolder,
  testEnvironment,
  untrusted,
} from "./support/workspace.ts";

/** Stores text in capitals and checks it out in small letters; it records where it runs. */
const capitals = (log: string) =>
  `[filter "capitals"]\n\tclean = "pwd >> '${log}'; tr a-z A-Z"\n\tsmudge = "pwd >> '${log}'; tr A-Z a-z"\n\trequired = true\n`;

type Kind = {
  name: string;
  attributes: string;
  config?: string;
  page: string;
  stored: string;
  file: string;
  raw: string;
  kept: string;
};

const crlf = (text: string) => text.replaceAll("\n", "\r\n");
const page = "# guide\n\nfirst\n\nsecond\n";
const code = "one\ntwo\nthree\n";

/** Repositories of every day: how a page and a file of code look in the work tree and in git. */
const kinds: Kind[] = [
  {
    name: "eol=crlf",
    attributes: "*.md text eol=crlf\n*.txt text eol=crlf\n",
    page: crlf(page),
    stored: page,
    file: crlf(code),
    raw: "ONE\r\n",
    kept: "ONE\n",
  },
  {
    name: "core.autocrlf=true",
    attributes: "",
    config: "[core]\n\tautocrlf = true\n",
    page: crlf(page),
    stored: page,
    file: crlf(code),
    raw: "ONE\r\n",
    kept: "ONE\n",
  },
  {
    name: "working-tree-encoding=UTF-16",
    attributes: "*.txt working-tree-encoding=UTF-16LE\n",
    page,
    stored: page,
    file: code,
    raw: "ONE\n",
    kept: "ONE\n",
  },
  {
    name: "ident",
    attributes: "*.txt ident\n*.md ident\n",
    page,
    stored: page,
    file: code,
    raw: "ONE $Id: 123 $\n",
    kept: "ONE $Id$\n",
  },
  {
    name: "a filter of the person, as of LFS",
    attributes: "*.md filter=capitals\n*.txt filter=capitals\n",
    config: "capitals",
    page,
    stored: page.toUpperCase(),
    file: code,
    raw: "one $id\n",
    kept: "ONE $ID\n",
  },
];

const asBytes = (kind: Kind, text: string) => Buffer.from(text, kind.name.endsWith("UTF-16") ? "utf16le" : "utf8");

async function repository(kind: Kind, engine: "sqlite" | "postgres") {
  const log = join(temporaryFolder(), "filter.log");
  const own = join(temporaryFolder(), "gitconfig");
  writeFileSync(own, kind.config === "capitals" ? capitals(log) : (kind.config ?? ""));
  const env = { ...testEnvironment(), GIT_CONFIG_GLOBAL: own };
  const made = await newWorkspace({ engine, config: "agent:\n  author_name: Scribe\n  author_email: s@example.org\n" });
  await made.app.close();
  const git = (...args: string[]) => execFileSync("git", ["-C", made.root, ...args], { env, encoding: "utf8" });
  put(made.root, {
    ".gitattributes": kind.attributes,
    "docs/guide.md": kind.page,
    "src/code.txt": asBytes(kind, kind.file),
  });
  git("add", "-A");
  git("add", "--renormalize", ".");
  git("commit", "-qm", "Add files");
  // As a fresh clone has them.
  for (const path of git("ls-files", "-z").split("\0")) if (path) rmSync(join(made.root, path));
  git("checkout", "-q", "--", ".");
  expect(git("status", "--porcelain")).toBe("");
  const app = await openApp(unwrap(loadConfig(made.root, env)));
  return { ...made, app, git, env, log };
}

/** The file with this text in one of the checkouts of a run. */
function checkoutWith(root: string, path: string, text: string): string {
  const home = join(root, ".scriptorium/worktrees");
  const files = readdirSync(home).map((name) => join(home, name, path));
  const found = files.find((file) => textOf(file) === text);
  if (!found) throw new Error(`no checkout has ${path}`);
  return found;
}

/** Undefined for a file that is gone: a finished attempt removes its checkout. */
function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

describe.each(engines)("S4, V2: repositories with conversions, on %s", (engine) => {
  test.each(kinds)(
    "S4, V2: $name: pages, entries, runs and reverts leave right blobs and a clean status",
    async (kind) => {
      const { app, git, root } = await repository(kind, engine);
      const notes = await app.entries.fetch("notes");
      unwrap(
        await operations.commit_entry.perform(
          app,
          { id: "notes", content: "by agent\n", version: notes.version },
          agent("planner", "run-x"),
        ),
      );
      unwrap(await operations.append_log.perform(app, { id: "decisions", line: "chosen" }, agent("planner")));
      expect(unwrap(await operations.read_page.perform(app, { path: "docs/guide.md" }, person())).content).toBe(
        kind.page,
      );

      const wanted = kind.page.replace("first", "better");
      const about = { id: "t-1", path: "docs/guide.md", kind: "change", status: "open" };
      const { id } = unwrap(
        await proposePage(app, about, { baseSha: blobOf(kind.page), text: wanted }, agent("engineer")),
      );
      unwrap(await operations.approve_proposal.perform(app, { id }, person()));
      expect(await app.recorder.drain(5000)).toBeUndefined();
      expect(git("cat-file", "blob", "HEAD:docs/guide.md")).toBe(
        kind.stored.replace(/first/i, (word) => (word === "FIRST" ? "BETTER" : "better")),
      );
      for (const path of ["wiki/notes.md", "wiki/decisions.md"])
        expect(git("cat-file", "blob", `HEAD:${path}`)).not.toContain("\r");
      expect(git("status", "--porcelain")).toBe("");

      const run = await newRun(app, [planned("0"), planned("1.1"), planned("1.2")]);
      const agents = playing({
        worker: async ({ number, use }) => {
          const path = number === "1.1" ? "src/code.txt" : "src/more.txt";
          if (number !== "0") {
            await use("write_file", { path, content: `to be replaced in ${number}` });
            writeFileSync(checkoutWith(root, path, `to be replaced in ${number}`), asBytes(kind, kind.raw));
          }
          await use("submit_output", { output: `made ${number}` });
        },
        qc: passes,
      });
      expect(await executed(app, run, agents)).toMatchObject({ state: "completed", reason: null });
      const accepted = `scriptorium/${run}/accepted`;
      expect(git("diff", "--name-only", `HEAD...${accepted}`).trim().split("\n")).toEqual([
        "src/code.txt",
        "src/more.txt",
      ]);
      expect(git("cat-file", "blob", `${accepted}:src/code.txt`)).toBe(kind.kept);
      expect(git("cat-file", "blob", `${accepted}:src/more.txt`)).toBe(kind.kept);
      git("merge", "-q", "--no-edit", accepted);
      expect(git("status", "--porcelain", "--untracked-files=no")).toBe("");

      unwrap(await operations.revert_run.perform(app, { run: "run-x", confirm: true }, person()));
      expect(await app.recorder.drain(5000)).toBeUndefined();
      expect(git("status", "--porcelain", "--untracked-files=no")).toBe("");
      expect(git("fsck", "--strict", "--no-dangling")).toBe("");
      await app.close();
    },
  );
});

describe("S4, T32: filters and the files of agents", () => {
  test("S4, T32: a filter never runs in the folder of an agent, which could replace what it loads", async () => {
    const kind = kinds.at(-1) as Kind;
    const { app, root, env, log } = await repository(kind, "sqlite");
    await app.close();
    const git = gitAt(root, env);
    const trees = worktrees({
      git,
      folder: join(root, ".scriptorium/worktrees"),
      guarded: [],
      author: { name: "C", email: "c@d.e" },
    });
    rmSync(log, { force: true });
    const tree = await trees.open("1.1", (await git.head()).commit ?? "", {
      branch: "scriptorium/run-1/task-1.1/attempt-1-1",
    });
    expect(readFileSync(join(tree.folder, "src/code.txt"), "utf8")).toBe(code);
    expect(unwrap(await trees.collect(tree, tree.base, "w")).files).toEqual([]);
    writeFileSync(join(tree.folder, "src/code.txt"), "changed\n");
    const { commit, files } = unwrap(await trees.collect(tree, tree.base, "w"));
    expect(files).toEqual([{ path: "src/code.txt", status: "changed" }]);
    expect(await git.text(["cat-file", "blob", `${commit}:src/code.txt`])).toBe("CHANGED");
    expect([...new Set(readFileSync(log, "utf8").trim().split("\n"))]).toEqual([root]);
  });

  test("S4: a filter of .git/config runs after `scriptorium allow`, until it or the script that it names changes", async () => {
    const { root, git, app } = await newWorkspace({
      files: { "tools/strip.sh": "#!/bin/sh\ntr a-z A-Z\n", "docs/a.md": "a\n" },
    });
    await app.close();
    chmodSync(join(root, "tools/strip.sh"), 0o755);
    git("config", "filter.strip.clean", "./tools/strip.sh");
    put(root, { ".git/info/attributes": "docs/* filter=strip\n" });
    const env = { ...testEnvironment(), ...untrusted, XDG_STATE_HOME: temporaryFolder() };
    const open = () => openApp(unwrap(loadConfig(root, env)));
    const stored = async () => {
      const opened = await open();
      const blob = await opened.git.storedBlob("docs/a.md", Buffer.from("a\n"));
      await opened.close();
      return blob;
    };
    expect(await stored()).toBe(blobOf("a\n"));
    expect((await scriptorium(["doctor"], { cwd: root, env })).stdout).toMatch(/filter\.strip\.clean/);

    const opened = await open();
    const { hash, waiting } = unwrap(await operations.show_settings.perform(opened, {}, person()));
    expect(waiting.flatMap(({ changes }) => changes.map(({ key }) => key))).toEqual([
      "filter.strip.clean",
      "filter.strip.clean ./tools/strip.sh",
    ]);
    unwrap(await operations.allow_settings.perform(opened, { hash }, person()));
    await opened.close();
    expect(await stored()).toBe(blobOf("A\n"));
    writeFileSync(join(root, "tools/strip.sh"), "#!/bin/sh\ntouch pwned\n");
    expect(await stored()).toBe(blobOf("a\n"));
  });
});
