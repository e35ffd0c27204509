import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import { type App, openApp } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import { startUpkeep } from "../src/http/upkeep.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { historyRef } from "../src/store/git/history-ref.ts";
import { mirrorBranch } from "../src/wiki/stores/mirror.ts";
import { agent, engines, gitIn, newWorkspace, person, temporaryFolder, testEnvironment } from "./support/workspace.ts";

const commit = async (app: App, id: string, content: string, version: number, role = "planner") =>
  unwrap(await operations.commit_entry.perform(app, { id, content, version }, agent(role)));
const append = async (app: App, entry: string) =>
  unwrap(await operations.append_log.perform(app, { id: "decisions", line: entry }, agent("engineer")));

const mirrored = (app: App, git: (...args: string[]) => string, count: number) =>
  expect
    .poll(async () => {
      while ((await app.mirror?.record())?.more);
      return Number(git("rev-list", "--count", "--all", `--branches=${mirrorBranch}`, "--not", "HEAD"));
    })
    .toBe(count);

describe.each(engines)("K16: the database store in git (%s)", (engine) => {
  test("has a commit for each version, in order, with its author, on a branch that nobody works on", async () => {
    const { app, git } = await newWorkspace({ store: "database", engine });
    const before = [git("rev-parse", "HEAD"), git("status", "--porcelain"), git("ls-files", "-s")];
    await commit(app, "vision", "To be read.\n", 0);
    await append(app, "Words first.");
    await commit(app, "vision", "To be read by all.\n", 1);
    await append(app, "Then pictures.");
    await mirrored(app, git, 4);

    const told = git(
      "log",
      "--reverse",
      "--format=%an|%(trailers:key=Entry,valueonly,separator=)|%(trailers:key=Version,valueonly,separator=)",
      mirrorBranch,
    );
    expect(told.split("\n")).toEqual([
      "planner|vision|1",
      "engineer|decisions|1",
      "planner|vision|2",
      "engineer|decisions|2",
    ]);
    expect(git("show", `${mirrorBranch}:wiki/vision.md`)).toBe("To be read by all.");
    expect(git("show", `${mirrorBranch}~1:wiki/decisions.md`)).toMatch(/Words first\.$/);
    expect(git("show", `${mirrorBranch}:wiki/decisions.md`)).toMatch(/Words first\.\n.*Then pictures\.$/s);
    expect([git("rev-parse", "HEAD"), git("status", "--porcelain"), git("ls-files", "-s")]).toEqual(before);
    git("fsck", "--strict");
  });

  test("M4: a server that is stopped leaves a backlog to the next one, which completes the branch", async () => {
    const { app, git } = await newWorkspace({ store: "database", engine });
    await commit(app, "vision", "To be read.\n", 0);
    const last = 1500;
    const numbers = sql`WITH RECURSIVE numbers (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${sql.lit(last)})`;
    await app.db.write(async (tx) => {
      await sql`INSERT INTO entry_versions (entry_id, version, blob, content, appended, author, role, at, summary)
        ${numbers} SELECT entry_id, n, blob, content, appended, author, role, at, summary
        FROM entry_versions, numbers WHERE entry_id = 'vision' AND version = 1`.execute(tx);
      await sql`INSERT INTO events (at, actor, kind, subject, data)
        ${numbers} SELECT at, actor, kind, subject, replace(data, '"version":1', '"version":' || n)
        FROM events, numbers WHERE subject = 'entry:vision' AND kind = 'entry-committed' ORDER BY n`.execute(tx);
    });
    const versions = () => {
      const tip = git("for-each-ref", "--format=%(objectname)", `refs/heads/${mirrorBranch}`);
      return tip === "" ? 0 : Number(git("rev-list", "--count", tip));
    };
    const upkeep = startUpkeep(app);
    await expect.poll(versions, { timeout: 30_000, interval: 20 }).toBeGreaterThan(0);
    await upkeep.stop();
    expect(versions()).toBeLessThan(last);

    const next = startUpkeep(app);
    await expect.poll(versions, { timeout: 60_000 }).toBe(last);
    await next.stop();
  });

  test("is gone on with by another process, and two at once double nothing", async () => {
    const { app, git, open } = await newWorkspace({ store: "database", engine });
    await commit(app, "vision", "one\n", 0);
    await mirrored(app, git, 1);
    const other = await open();
    for (let version = 1; version < 12; version++)
      await commit(version % 2 ? other : app, "vision", `${version}\n`, version);
    await Promise.all([app.mirror?.record(), other.mirror?.record(), app.mirror?.record()]);
    await mirrored(other, git, 12);
    await mirrored(app, git, 12);
    await other.close();
  });

  test("is kept while serving, and becomes the file store with the same versions", async () => {
    const { app, git, root } = await newWorkspace({ store: "database", engine });
    const upkeep = startUpkeep(app);
    await commit(app, "notes", "a\n", 0);
    await commit(app, "notes", "b\n", 1, "architect");
    await append(app, "Go on as files.");
    await expect.poll(() => git("branch", "--list", mirrorBranch)).toContain(mirrorBranch);
    await mirrored(app, git, 3);
    await upkeep.stop();
    const versions = unwrap(await operations.entry_history.perform(app, { id: "notes" }, person())).versions;

    const clone = join(temporaryFolder(), "clone");
    git("clone", "-q", "--no-local", root, clone);
    const inClone = gitIn(clone);
    inClone("checkout", "-q", `origin/${mirrorBranch}`, "--", "wiki");
    inClone("update-ref", historyRef, `origin/${mirrorBranch}`);
    const settings = join(clone, "scriptorium.yaml");
    writeFileSync(
      settings,
      readFileSync(settings, "utf8")
        .replace(/^store:.*$/m, "store: files")
        .replace(/^database:.*$/m, ""),
    );
    const files = await openApp(unwrap(await loadConfig(clone, testEnvironment())));
    const again = unwrap(await operations.entry_history.perform(files, { id: "notes" }, person())).versions;
    const shown = (all: typeof versions) => all.map(({ version, author, role }) => ({ version, author, role }));
    expect(shown(again)).toEqual(shown(versions));
    expect((await files.entries.fetch("notes")).content).toBe("b\n");
    await files.close();
  });
});

test("K16: a branch of that name which is someone's own is left alone, and doctor says so", async () => {
  const { app, git } = await newWorkspace({ store: "database" });
  git("branch", mirrorBranch);
  const theirs = git("rev-parse", mirrorBranch);
  await commit(app, "vision", "one\n", 0);
  expect(await app.mirror?.record()).toEqual({
    more: false,
    waits: `the branch ${mirrorBranch} was not created by Scriptorium; rename it`,
  });
  expect(git("rev-parse", mirrorBranch)).toBe(theirs);
  const { findings } = unwrap(await operations.doctor.perform(app, {}, person()));
  expect(findings).toContainEqual(expect.objectContaining({ check: "mirror", state: "warning" }));
});

test("K16: the branch of another database is left as it is, and said to be", async () => {
  const { app, git, root, open } = await newWorkspace({ store: "database" });
  for (let version = 0; version < 3; version++) await commit(app, "vision", `${version}\n`, version);
  await mirrored(app, git, 3);
  const before = git("rev-parse", mirrorBranch);
  await app.close();
  // With book.json, which names the database that holds the entries, an empty one is refused (N1).
  for (const name of ["scriptorium.db", "scriptorium.db-wal", "scriptorium.db-shm", "book.json"])
    rmSync(join(root, ".scriptorium", name), { force: true });
  const fresh = await open();
  await commit(fresh, "notes", "anew\n", 0);
  expect(await fresh.mirror?.record()).toMatchObject({ waits: expect.stringContaining("another database") });
  expect(git("rev-parse", mirrorBranch)).toBe(before);
  git("branch", "-m", mirrorBranch, "book-before");
  expect(await fresh.mirror?.record()).toEqual({ more: false });
  expect(git("log", "--format=%s", mirrorBranch)).toBe("Commit notes (version 1)");
  await fresh.close();
});
