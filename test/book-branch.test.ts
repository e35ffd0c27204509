import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openApp } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { proposePage } from "../src/review/proposals/propose.ts";
import { scribe, scribeProcess, scriptorium } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, writes } from "./support/crew.ts";
import {
  agent,
  type engines,
  freshDatabase,
  gitIn,
  person,
  read,
  sampledEngines,
  temporaryFolder,
  testEnvironment,
} from "./support/workspace.ts";

/** A person's repository with a page. */
function place() {
  const root = temporaryFolder();
  const git = gitIn(root);
  git("init", "-q", "-b", "trunk");
  git("config", "user.name", "Ada Lovelace");
  git("config", "user.email", "ada@example.org");
  mkdirSync(join(root, "docs"));
  writeFileSync(join(root, "docs/guide.md"), "# Guide\n\nfirst\n");
  git("add", "-A");
  git("commit", "-qm", "Begin");
  return { root, git };
}

const more = "agent: {author_name: Scribe, author_email: s@example.org}\ncrew: {sandbox: none}\n";

/** A workspace with a branch for its wiki, all committed. */
async function booked(engine: (typeof engines)[number] = "sqlite") {
  const made = place();
  const { root, git } = made;
  const init = await scriptorium(["init", "--book-branch", "book/wiki", "--yes", "--connect", "none"], { cwd: root });
  expect(init).toMatchObject({ code: 0 });
  const database = engine === "postgres" ? `database: ${await freshDatabase()}\n` : "";
  appendFileSync(join(root, "scriptorium.yaml"), more + database);
  git("commit", "-qam", "Configure");
  const open = async () => openApp(unwrap(loadConfig(root, testEnvironment())));
  return { ...made, init, open };
}

const on = (git: ReturnType<typeof gitIn>, path: string) => git("show", `book/wiki:${path}`);

/** HEAD, the bytes of the index, and every ref but those of Scriptorium. */
const untouched = (root: string, git: ReturnType<typeof gitIn>) => ({
  head: read(join(root, ".git/HEAD")),
  index: readFileSync(join(root, ".git/index")).toString("base64"),
  reflog: read(join(root, ".git/logs/HEAD")),
  refs: git("for-each-ref", "--format=%(refname) %(objectname)")
    .split("\n")
    .filter((line) => !/^refs\/(scriptorium\/|heads\/scriptorium\/run-|heads\/book\/wiki )/.test(line)),
  status: git("status", "--porcelain"),
});

describe.each(sampledEngines)("P14: book_branch (%s)", (engine) => {
  test("P14: commits, appends, edits, approvals, sources, a run and a revert leave HEAD, the index and every other ref as they were", async () => {
    const { root, git, open } = await booked(engine);
    const app = await open();
    const before = untouched(root, git);
    expect(before.status).toBe("");
    unwrap(await app.knowledge(agent("agent", "run-x")).commitEntry("status", "by the agent\n", 1));
    unwrap(await app.knowledge(agent("agent")).appendLog("decisions", "chose SQLite"));
    writeFileSync(join(root, "wiki/overview.md"), "---\ntitle: Overview\n---\n\nby the person\n");
    await app.entries.list();
    unwrap(await operations.add_source.perform(app, { name: "raw.txt", content: "raw\n" }, person()));
    const glossary = unwrap(await operations.read_page.perform(app, { path: "wiki/glossary.md" }, person()));
    const about = { id: "t-1", path: "wiki/glossary.md", kind: "change", status: "open" };
    const proposal = { baseSha: glossary.source_sha, text: `${glossary.content}\nword: meaning\n` };
    const { id } = unwrap(await proposePage(app, about, proposal, agent("agent")));
    const approved = unwrap(await operations.approve_proposal.perform(app, { id }, person()));
    const run = await newRun(app, [planned("0"), planned("1.1")]);
    await executed(app, run, playing({ worker: writes(), qc: passes }));
    unwrap(await operations.revert_run.perform(app, { run: "run-x", confirm: true }, person()));
    expect(await app.recorder.drain(5000)).toBeUndefined();
    expect(untouched(root, git)).toEqual(before);

    expect(on(git, "wiki/decisions.md")).toContain("chose SQLite");
    expect(on(git, "wiki/overview.md")).toContain("by the person");
    expect(on(git, "wiki/glossary.md")).toContain("word: meaning");
    expect(on(git, "sources/raw.txt")).toBe("raw");
    expect(on(git, "wiki/status.md")).not.toContain("by the agent");
    expect(on(git, "wiki/schema.yaml")).toContain("sections:");
    expect(git("log", "--format=%s", "book/wiki", "--", "wiki/status.md")).toContain("Commit status (version 2)");
    expect(approved).toMatchObject({ commit: git("log", "-1", "--format=%H", "book/wiki", "--", "wiki/glossary.md") });
    expect(git("fsck", "--strict", "--no-dangling")).toBe("");
    const pages = unwrap(await operations.list_pages.perform(app, {}, person())).pages.map(({ path }) => path);
    expect(pages).toEqual(expect.arrayContaining(["docs/guide.md", "wiki/status.md"]));
    await app.close();
  });

  test("P14: an approved page that is not an entry is a commit on the person's branch", async () => {
    const { root, git, open } = await booked(engine);
    const app = await open();
    const page = unwrap(await operations.read_page.perform(app, { path: "docs/guide.md" }, person()));
    const about = { id: "t-1", path: "docs/guide.md", kind: "change", status: "open" };
    const proposal = { baseSha: page.source_sha, text: "# Guide\n\nbetter\n" };
    const { id } = unwrap(await proposePage(app, about, proposal, agent("agent")));
    unwrap(await operations.approve_proposal.perform(app, { id }, person()));
    expect(await app.recorder.drain(5000)).toBeUndefined();
    expect(git("show", "trunk:docs/guide.md")).toContain("better");
    expect(git("ls-tree", "-r", "--name-only", "book/wiki")).not.toContain("docs/");
    expect(git("status", "--porcelain")).toBe("");
    await app.close();
    expect(read(join(root, "docs/guide.md"))).toContain("better");
  });
});

describe("P14: book_branch", () => {
  test("P14: commits do not wait for a branch or for the end of a rebase", async () => {
    const { root, git, open } = await booked();
    git("checkout", "-q", "--detach");
    const app = await open();
    unwrap(await app.knowledge(agent("agent")).appendLog("decisions", "while detached"));
    expect(await app.recorder.drain(5000)).toBeUndefined();
    await app.close();
    expect(on(git, "wiki/decisions.md")).toContain("while detached");
    expect(git("status", "--porcelain")).toBe("");
    expect(existsSync(join(root, ".git/index.lock"))).toBe(false);
  });

  test("P14: a process killed at any step of the commit leaves a branch that the next start completes", async () => {
    const { root, git } = await booked();
    for (const point of ["history-moved", "book-imported", "book-moved"]) {
      const args = ["append-log", "--id", "decisions", "--line", `died at ${point}`];
      expect(await scribeProcess(args, { cwd: root, env: { SCRIPTORIUM_CRASH_AT: point } })).toMatchObject({
        signal: "SIGKILL",
      });
      expect((await scriptorium(["doctor"], { cwd: root })).stdout).toContain("committed to the branch book/wiki");
      expect(on(git, "wiki/decisions.md").split(`died at ${point}`)).toHaveLength(2);
    }
    expect(git("log", "--format=%s", "book/wiki", "--", "wiki/decisions.md").split("\n")).toHaveLength(4);
    expect(git("fsck", "--strict", "--no-dangling")).toBe("");
  });

  test("P14: commits wait while the branch is checked out in another worktree, and go through the index where it is checked out here", async () => {
    const { root, git, open } = await booked();
    const other = join(temporaryFolder(), "other");
    git("worktree", "add", "-q", other, "book/wiki");
    const app = await open();
    unwrap(await app.knowledge(agent("agent")).appendLog("decisions", "one"));
    expect(await app.recorder.drain(5000)).toContain(`book/wiki is checked out in ${other}`);
    git("worktree", "remove", other);
    expect(await app.recorder.drain(5000)).toBeUndefined();
    expect(on(git, "wiki/decisions.md")).toContain("one");
    await app.close();
    expect(existsSync(join(root, "wiki/decisions.md"))).toBe(true);
  });

  test("P14: a fresh clone gets the wiki's files and versions from the branch", async () => {
    const { root, git } = await booked();
    const env = { cwd: root, input: "half done\n" };
    expect((await scribe(["commit-entry", "--id", "status", "--version", "1"], env)).code).toBe(0);
    const clone = join(temporaryFolder(), "clone");
    git("clone", "-q", root, clone);
    expect(existsSync(join(clone, "wiki"))).toBe(false);
    const shown = await scriptorium(["entry", "read", "status", "--json"], { cwd: clone });
    expect(shown.json()).toMatchObject({ content: "half done\n", version: 2 });
    expect(gitIn(clone)("status", "--porcelain")).toBe("");
    expect((await scriptorium(["doctor", "--json"], { cwd: clone })).stdout).not.toContain('"problem"');
  });

  test("P14: a fresh clone continues the branch that it was cloned from", async () => {
    const { root, git } = await booked();
    const clone = join(temporaryFolder(), "clone");
    git("clone", "-q", root, clone);
    expect((await scribe(["append-log", "--id", "decisions", "--line", "in the clone"], { cwd: clone })).code).toBe(0);
    const theirs = gitIn(clone);
    expect(on(theirs, "wiki/decisions.md")).toContain("in the clone");
    expect(theirs("rev-list", "--left-right", "--count", "origin/book/wiki...book/wiki")).toBe("0\t1");
    theirs("push", "-q", "origin", "book/wiki");
    expect(on(git, "wiki/decisions.md")).toContain("in the clone");
  });

  test("P14: two worktrees with the same setting commit to branches of their own, which begin at the same commit", async () => {
    const { root, git } = await booked();
    const side = join(temporaryFolder(), "side");
    git("worktree", "add", "-q", "-b", "side", side);
    const write = async (cwd: string, text: string, version: number) =>
      expect(
        await scribe(["commit-entry", "--id", "status", "--version", String(version)], { cwd, input: text }),
      ).toMatchObject({ code: 0, stderr: "" });
    await write(root, "main two\n", 1);
    await write(side, "side three\n", 2);
    await write(root, "main three\n", 2);
    await write(side, "side four\n", 3);
    expect((await scribe(["append-log", "--id", "decisions", "--line", "by main"], { cwd: root })).code).toBe(0);
    const [own = ""] = git("for-each-ref", "--format=%(refname:short)", "refs/heads/book/wiki-*").split("\n");
    expect(own).toMatch(/^book\/wiki-side-[0-9a-f]{8}$/);
    const subjects = (branch: string) => git("log", "--format=%s", branch, "--", "wiki/status.md").split("\n");
    expect(subjects("book/wiki").slice(0, 2)).toEqual(["Commit status (version 3)", "Commit status (version 2)"]);
    expect(subjects(own).slice(0, 3)).toEqual([
      "Commit status (version 4)",
      "Commit status (version 3)",
      "Commit status (version 2)",
    ]);
    expect(on(git, "wiki/status.md")).toMatch(/\nmain three$/);
    expect(git("show", `${own}:wiki/status.md`)).toMatch(/\nside four$/);
    expect(git("show", `${own}:wiki/decisions.md`)).not.toContain("by main");
    // The person brings the two together with git, as any two branches.
    expect(git("merge-base", "book/wiki", own)).toBe(git("rev-parse", "book/wiki~2"));
    for (const cwd of [root, side]) {
      expect((await scriptorium(["doctor", "--json"], { cwd })).stdout).not.toContain('"problem"');
      expect(gitIn(cwd)("status", "--porcelain")).toBe("");
    }
    expect((await scriptorium(["doctor"], { cwd: side })).stdout).toContain(
      `committed to the branch ${own}, because another worktree uses book/wiki`,
    );
    expect(git("fsck", "--strict", "--no-dangling")).toBe("");

    // Each removes its own; a worktree that comes later may have the name.
    expect(await scriptorium(["remove", "--yes", "--force"], { cwd: side })).toMatchObject({ code: 0 });
    expect(git("for-each-ref", "--format=%(refname:short)", "refs/heads/book")).toBe("book/wiki");
    expect(await scriptorium(["remove", "--yes", "--force"], { cwd: root })).toMatchObject({ code: 0 });
    expect(git("for-each-ref", "--format=%(refname:short)", "refs/heads/book")).toBe("");
    expect(readdirSync(join(root, ".git")).filter((name) => name.startsWith("scriptorium"))).toEqual([]);
    const init = ["init", "--book-branch", "book/wiki", "--yes", "--connect", "none"];
    const again = join(temporaryFolder(), "again");
    const begin = git("rev-list", "--max-parents=0", "trunk");
    git("worktree", "add", "-q", "-b", "again", again, begin);
    const first = await scriptorium(init, { cwd: again });
    expect(first.stderr + first.stdout).toContain("commits on book/wiki; again is not touched");
    git("reset", "-q", "--hard", begin);
    const second = (await scriptorium(init, { cwd: root })).stdout;
    expect(second).toMatch(/Another worktree of the repository uses book\/wiki; this one gets book\/wiki-main-\w{8}\./);
  });

  test("P14: worktrees that shared a branch before go their own ways with the texts that each has", async () => {
    const { root, git } = await booked();
    const side = join(temporaryFolder(), "side");
    git("worktree", "add", "-q", "-b", "side", side);
    for (const cwd of [root, side]) {
      const [newest = { version: 0 }] = (await scriptorium(["entry", "history", "status", "--json"], { cwd })).json<
        { version: number }[]
      >();
      const args = ["commit-entry", "--id", "status", "--version", String(newest.version)];
      expect((await scribe(args, { cwd, input: cwd === root ? "main\n" : "side\n" })).code).toBe(0);
    }
    // As 0.1 left it: both on one branch, with the text of the second.
    const [own = ""] = git("for-each-ref", "--format=%(refname:short)", "refs/heads/book/wiki-*").split("\n");
    git("update-ref", "refs/heads/book/wiki", own);
    git("branch", "-qD", own);
    for (const name of readdirSync(join(root, ".git")).filter((file) => file.startsWith("scriptorium-book")))
      rmSync(join(root, ".git", name));
    expect((await scribe(["append-log", "--id", "decisions", "--line", "side"], { cwd: side })).code).toBe(0);
    expect((await scribe(["append-log", "--id", "decisions", "--line", "main"], { cwd: root })).code).toBe(0);
    const [mine = ""] = git("for-each-ref", "--format=%(refname:short)", "refs/heads/book/wiki-*").split("\n");
    expect(git("show", `${mine}:wiki/status.md`)).toMatch(/\nmain$/);
    expect(git("show", `${mine}:wiki/decisions.md`)).not.toContain("agent: side");
    expect(on(git, "wiki/status.md")).toMatch(/\nside$/);
    expect(on(git, "wiki/decisions.md")).not.toContain("agent: main");
  });

  test("P14: init says where commits go, refuses a bad name, and remove takes the branch out when told", async () => {
    const { root, git, init } = await booked();
    expect(init.stdout).toContain("Agents' writes become commits on book/wiki; trunk is not touched.");
    expect(git("ls-files", "wiki", "sources")).toBe("");
    const refused = await scriptorium(["remove", "--yes"], { cwd: root });
    expect(refused.stderr).toContain("the branch book/wiki has the commits of the wiki; --keep-wiki keeps the branch");
    expect(await scriptorium(["remove", "--yes", "--force"], { cwd: root })).toMatchObject({ code: 0 });
    expect(git("for-each-ref", "--format=%(refname)")).toBe("refs/heads/trunk");
    expect(existsSync(join(root, ".gitignore"))).toBe(false);
    expect(git("status", "--porcelain")).toBe("");

    const { root: fresh } = place();
    const bad = await scriptorium(["init", "--book-branch", "a..b", "--yes"], { cwd: fresh });
    expect(bad.stderr).toContain("a..b is not the name of a git branch");
    expect(existsSync(join(fresh, "scriptorium.yaml"))).toBe(false);
  });

  test("P14: doctor explains a wiki that the person's branch has as well", async () => {
    const { root, git } = place();
    expect((await scriptorium(["init", "--yes", "--connect", "none"], { cwd: root })).code).toBe(0);
    appendFileSync(join(root, "scriptorium.yaml"), "book_branch: book/wiki\n");
    git("commit", "-qam", "Use a branch");
    expect((await scribe(["append-log", "--id", "decisions", "--line", "x"], { cwd: root })).code).toBe(0);
    expect(on(git, "wiki/decisions.md")).toContain("agent: x");
    expect(git("show", "HEAD:wiki/decisions.md")).not.toContain("agent: x");
    expect((await scriptorium(["doctor"], { cwd: root })).stdout).toContain("git rm -r --cached wiki sources");
  });
});

describe("N11: git's own configuration", () => {
  test("N11: an ignored wiki is kept in the history ref and never committed to the person's branch", async () => {
    const { root, git } = place();
    writeFileSync(join(root, ".gitignore"), "wiki/\n");
    git("add", "-A");
    git("commit", "-qm", "Ignore the wiki");
    const init = await scriptorium(["init", "--yes", "--connect", "none"], { cwd: root });
    expect(init.stdout).toContain("wiki/status.md (git ignores it)");
    git("add", "-A");
    git("commit", "-qm", "Rest", "--allow-empty");
    const head = git("rev-parse", "HEAD");
    expect((await scribe(["append-log", "--id", "decisions", "--line", "secret"], { cwd: root })).code).toBe(0);
    expect(git("rev-parse", "HEAD")).toBe(head);
    expect(git("status", "--porcelain")).toBe("");
    expect(git("show", "refs/scriptorium/history:wiki/decisions.md")).toContain("secret");
    const doctor = await scriptorium(["doctor"], { cwd: root });
    expect(doctor.stdout).toContain("git ignores wiki/; entries are kept in refs/scriptorium/history only");
    rmSync(join(root, ".scriptorium"), { recursive: true });
    const shown = await scriptorium(["entry", "history", "decisions", "--json"], { cwd: root });
    expect(shown.json<unknown[]>()).toHaveLength(2);
  });

  test("N11: an edit has the author of GIT_CONFIG_GLOBAL", async () => {
    const { root, git } = place();
    for (const key of ["user.name", "user.email"]) git("config", "--unset", key);
    const own = join(temporaryFolder(), "gitconfig");
    writeFileSync(own, "[user]\n\tname = Grace Hopper\n\temail = grace@example.org\n");
    const env = { GIT_CONFIG_GLOBAL: own };
    expect((await scriptorium(["init", "--yes", "--connect", "none"], { cwd: root, env })).code).toBe(0);
    writeFileSync(join(root, "wiki/status.md"), "by hand\n");
    const shown = await scriptorium(["entry", "history", "status", "--json"], { cwd: root, env });
    expect(shown.json<{ author: string }[]>()[0]).toMatchObject({ version: 2, author: "Grace Hopper" });
  });
});
