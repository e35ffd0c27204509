import { execFileSync } from "node:child_process";
import { appendFileSync, chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { historyRef } from "../src/store/git/history-ref.ts";
import { scribe, scribeProcess, scriptorium } from "./support/commands.ts";
import {
  agent,
  backends,
  freshDatabase,
  gitIn,
  gitPerson,
  newWorkspace,
  read,
  type TestWorkspace,
  temporaryFolder,
} from "./support/workspace.ts";

const fileBackends = backends.filter((backend) => backend.store === "files");

describe.each(fileBackends)("K14: every version is in git ($engine)", (backend) => {
  test("with its author and the trailers that say version, role, run, task and epoch", async () => {
    const { app, git } = await newWorkspace(backend);
    const caller = { ...agent("planner", "r-1"), task: "1.2", epoch: 3 };
    unwrap(await app.knowledge(caller as never).commitEntry("vision", "Where to.\n", 1));
    await app.recorder.drain(5000);
    for (const ref of [historyRef, "main"]) {
      expect(git("log", "-1", "--format=%an|%s", ref)).toBe("planner|Commit vision (version 2)");
      expect(git("log", "-1", "--format=%(trailers:only)", ref).split("\n")).toEqual([
        "Entry: vision",
        "Version: 2",
        "Role: planner",
        "Run: r-1",
        "Task: 1.2",
        "Epoch: 3",
        expect.stringMatching(/^At: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        ...(ref === historyRef ? [expect.stringMatching(/^Events: 2 [0-9a-f]{64}$/)] : []),
      ]);
      expect(git("show", `${ref}:wiki/vision.md`)).toContain("Where to.");
    }
  });

  test("one commit a version, in order, also when many were written before git had any", async () => {
    const { app, git } = await newWorkspace(backend);
    for (let i = 0; i < 40; i++) {
      unwrap(await app.knowledge(agent("engineer")).appendLog("decisions", `line ${i}`));
      await write(app, i % 2 ? "notes" : "glossary", `text ${i}\n`);
    }
    await app.recorder.drain(5000);
    const subjects = git("log", "--reverse", "--format=%s", `main..${historyRef}`, "--", "wiki/decisions.md").split(
      "\n",
    );
    const onBranch = git("log", "--reverse", "--format=%s", "main", "--", "wiki/decisions.md").split("\n").slice(1);
    const expected = Array.from({ length: 40 }, (_, i) => `Append to decisions (version ${i + 2})`);
    expect(onBranch).toEqual(expected);
    // Commits that were made in the same second are the same commit on both refs.
    const onlyInHistory = subjects.filter(Boolean);
    expect(onlyInHistory).toEqual(expected.slice(expected.length - onlyInHistory.length));
    expect(git("show", "main:wiki/decisions.md")).toBe(read(join(app.config.root, "wiki/decisions.md")).trimEnd());
    expect(git("status", "--porcelain")).toBe("");
    git("fsck", "--strict");
  });

  test("what a person has staged stays staged, and their next commit takes nothing back", async () => {
    const { app, git, root } = await newWorkspace(backend);
    writeFileSync(join(root, "mine.txt"), "staged\n");
    writeFileSync(join(root, "wiki/glossary.md"), "---\ntitle: Glossary\n---\n\nstaged by hand\n");
    git("add", "mine.txt", "wiki/glossary.md");
    await write(app, "notes", "by agent\n");
    await app.recorder.drain(5000);
    expect(git("diff", "--cached", "--name-only").split("\n")).toEqual(["mine.txt", "wiki/glossary.md"]);
    git("commit", "-qm", "Mine");
    expect(git("show", "--name-only", "--format=", "HEAD").split("\n")).toEqual(["mine.txt", "wiki/glossary.md"]);
    expect(git("show", "HEAD:wiki/notes.md")).toContain("by agent");
    expect(git("status", "--porcelain")).toBe("");
  });

  test("a person's edit is left for the person to commit, with their own message and hooks", async () => {
    const { app, git, root } = await newWorkspace(backend);
    mkdirSync(join(root, ".git/hooks"), { recursive: true });
    writeFileSync(join(root, ".git/hooks/pre-commit"), "#!/bin/sh\necho ran >> hook-ran.txt\n");
    chmodSync(join(root, ".git/hooks/pre-commit"), 0o755);
    writeFileSync(join(root, "wiki/vision.md"), "---\ntitle: Vision\n---\n\nby hand\n");
    const seen = await app.entries.fetch("vision");
    await app.recorder.drain(5000);
    expect(git("log", "-1", "--format=%an", historyRef)).toBe(gitPerson.name);
    expect(git("status", "--porcelain")).toBe("M wiki/vision.md");
    git("commit", "-qam", "Reword the vision");
    expect(read(join(root, "hook-ran.txt"))).toBe("ran\n");
    await write(app, "vision", "by agent\n");
    await app.recorder.drain(5000);
    expect(git("log", "--format=%s", "-2", "--", "wiki/vision.md").split("\n")).toEqual([
      `Commit vision (version ${seen.version + 1})`,
      "Reword the vision",
    ]);
    expect(read(join(root, "hook-ran.txt"))).toBe("ran\n");
  });

  test("an agent's version on top of an uncommitted edit brings that edit along, in the person's name", async () => {
    const { app, git, root } = await newWorkspace(backend);
    appendFileSync(join(root, "wiki/notes.md"), "\nby hand\n");
    await write(app, "notes", "by agent\n");
    await app.recorder.drain(5000);
    expect(git("log", "-2", "--format=%an: %s", "--", "wiki/notes.md").split("\n")).toEqual([
      "planner: Commit notes (version 3)",
      `${gitPerson.name}: Edit notes (version 2)`,
    ]);
  });

  test("during a rebase or on a detached HEAD the branch waits, history does not, and both catch up", async () => {
    const { app, git, root } = await newWorkspace(backend);
    const tip = git("rev-parse", "main");
    git("checkout", "-q", "--detach");
    await write(app, "notes", "while detached\n");
    expect((await app.recorder.record()).waits).toBe("HEAD is detached");
    expect(git("rev-parse", "main")).toBe(tip);
    expect(git("log", "-1", "--format=%s", historyRef)).toBe("Commit notes (version 2)");
    git("checkout", "-q", "main");
    mkdirSync(join(root, ".git/rebase-merge"));
    expect((await app.recorder.record()).waits).toBe("a rebase is in progress");
    rmSync(join(root, ".git/rebase-merge"), { recursive: true });
    expect((await app.recorder.record()).waits).toBeUndefined();
    expect(git("log", "-1", "--format=%s", "main")).toBe("Commit notes (version 2)");
    expect(git("status", "--porcelain")).toBe("");
  });

  test("it works in a folder below the repository's top", async () => {
    const top = temporaryFolder();
    const git = gitIn(top);
    git("init", "-q", "-b", "main");
    const cwd = join(top, "docs/book");
    expect((await scriptorium(["init", cwd, "--template", "crew", "--json"], { cwd: top })).json()).toMatchObject({
      repository: "existing",
    });
    git("add", "-A");
    git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", "Begin");
    const env: Record<string, string> =
      backend.engine === "postgres" ? { SCRIPTORIUM_DATABASE_URL: await freshDatabase() } : {};
    const args = ["commit-entry", "--role", "planner", "--id", "vision", "--version", "1"];
    expect((await scribe(args, { cwd, env, input: "from below\n" })).json()).toEqual({ status: "success", version: 2 });
    expect(git("log", "-1", "--name-only", "--format=%s")).toBe(
      "Commit vision (version 2)\n\ndocs/book/wiki/vision.md",
    );
    expect(git("status", "--porcelain")).toBe("");
    rmSync(join(cwd, ".scriptorium"), { recursive: true });
    if (backend.engine === "sqlite") {
      expect((await scriptorium(["entry", "list", "--json"], { cwd })).json()).toContainEqual(
        expect.objectContaining({ id: "vision", version: 2, lastAuthor: "planner" }),
      );
    }
  });

  test("it works on a branch without commits", async () => {
    const { app, git } = await newWorkspace(backend);
    git("checkout", "-q", "--orphan", "fresh");
    git("rm", "-rq", "--cached", ".");
    await write(app, "notes", "first on a fresh branch\n");
    await app.recorder.drain(5000);
    expect(git("log", "--format=%s", "fresh")).toContain("Commit notes");
    expect(git("show", "fresh:wiki/notes.md")).toContain("first on a fresh branch");
  });

  test("names and titles cannot forge a trailer", async () => {
    const { app, git } = await newWorkspace(backend);
    git("config", "user.name", "Eve\nRole: planner");
    const done = await app.sources.add("a.txt", Buffer.from("a"), { name: "Eve\nApproved-by: everyone <x>" });
    expect(done.ok).toBe(true);
    await app.recorder.drain(5000);
    expect(git("log", "-1", "--format=%an", "main")).toBe("Eve Approved-by: everyone x");
    expect(git("log", "-1", "--format=%(trailers:key=Approved-by)", "main")).toBe("");
  });

  test("the index can be deleted: the next start has the same versions, authors and sources", async () => {
    const { app, open, root } = await newWorkspace(backend);
    await write(app, "notes", "one\n");
    await write(app, "notes", "two\n");
    for (const text of ["hand one\n", "hand two\n"]) {
      writeFileSync(join(root, "wiki/notes.md"), text);
      await app.entries.fetch("notes");
    }
    unwrap(await app.knowledge(agent("engineer", "r-5")).appendLog("decisions", "kept"));
    unwrap(await app.sources.add("in/put.txt", Buffer.from("raw"), { name: "Ada" }));
    await write(app, "api/errors", "codes\n", "engineer");
    await app.recorder.drain(5000);
    const before = await picture(app);
    for (const table of ["entries", "entry_versions", "sources"] as const)
      await app.db.write((tx) => tx.deleteFrom(table).execute());
    await app.close();
    if (backend.engine === "sqlite") rmSync(join(root, ".scriptorium"), { recursive: true });
    expect(await picture(await open())).toEqual(before);
  });

  test("a fresh clone, which has the branch but not the history, knows the same versions", async () => {
    const { app, root, git } = await newWorkspace(backend);
    await write(app, "notes", "one\n");
    await write(app, "notes", "two\n");
    await app.recorder.drain(5000);
    const clone = `${root}-clone`;
    execFileSync("git", ["clone", "-q", root, clone]);
    writeFileSync(join(clone, "scriptorium.yaml"), "name: Clone\n");
    expect(existsSync(join(clone, ".scriptorium"))).toBe(false);
    const seen = await scribe(["fetch-entry", "--role", "planner", "--id", "notes"], { cwd: clone });
    expect(seen.json()).toMatchObject({ content: "two\n", version: 3, metadata: { lastAuthor: "planner" } });
    rmSync(clone, { recursive: true });
    expect(git("status", "--porcelain")).toBe("");
  });
});

test("K14, K2: twenty processes write at once: nothing is lost or doubled, and git is whole", async () => {
  const { app, git, root } = await newWorkspace();
  const ran = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      scribeProcess(["append-log", "--role", "engineer", "--id", "decisions", "--line", `from ${i}`], { cwd: root }),
    ),
  );
  expect(ran.map((r) => r.code)).toEqual(Array.from({ length: 20 }, () => 0));
  const { content, version } = await app.entries.fetch("decisions");
  expect(
    new Set(
      content
        .trimEnd()
        .split("\n")
        .map((line) => line.split(": ")[1]),
    ),
  ).toEqual(new Set(Array.from({ length: 20 }, (_, i) => `from ${i}`)));
  expect(version).toBe(21);
  await app.recorder.drain(5000);
  expect(git("log", "--format=%s", "--", "wiki/decisions.md").split("\n").slice(0, 20)).toEqual(
    Array.from({ length: 20 }, (_, i) => `Append to decisions (version ${21 - i})`),
  );
  expect(git("status", "--porcelain")).toBe("");
  git("fsck", "--strict");
});

async function picture(app: TestWorkspace["app"]) {
  const entries = (await app.entries.list()).map(({ updatedAt: _at, ...entry }) => entry);
  const histories = await Promise.all(
    entries.map(async ({ id }) => (await app.entries.history(id)).map(({ at: _at, ...version }) => version)),
  );
  const sources = (await app.sources.list()).map(({ at: _at, ...source }) => source);
  return { entries, histories, sources };
}

async function write(app: TestWorkspace["app"], id: string, text: string, role = "planner"): Promise<void> {
  unwrap(await app.knowledge(agent(role)).commitEntry(id, text, (await app.entries.fetch(id)).version));
}
