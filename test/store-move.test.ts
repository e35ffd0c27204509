import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { proposePage } from "../src/review/proposals/propose.ts";
import { openTopic } from "../src/review/topics/operations.ts";
import type { Database } from "../src/store/database.ts";
import { openDatabase } from "../src/store/open.ts";
import { tableShapes } from "../src/store/queries/transfer.ts";
import { type Digest, digestOf } from "../src/store/transfer/rows.ts";
import { carriedTables, derivedTables } from "../src/store/transfer/tables.ts";
import { scriptorium, scriptoriumProcess, serve } from "./support/commands.ts";
import { agent, engines, freshDatabase, newWorkspace, person, temporaryFolder } from "./support/workspace.ts";

/** Something in as many tables as a few operations reach. */
async function fill(app: App): Promise<void> {
  const planner = agent("planner");
  const version = async (id: string) => (await app.entries.fetch(id)).version;
  for (const text of ["First.\n", "# Title\n\nSecond, without a line end", "Third.\n\n- a\n- b\n"])
    unwrap(await app.knowledge(planner).commitEntry("vision", text, await version("vision")));
  for (const line of ["one", "two", "three"])
    unwrap(await app.knowledge(agent("engineer")).appendLog("decisions", line));
  unwrap(await operations.add_source.perform(app, { name: "input.txt", content: "raw\n" }, person()));
  const topic = { source_path: "wiki/vision.md", content: "Why?", quote: "Third" };
  const { id, source_sha } = unwrap(await openTopic.perform(app, topic, person()));
  const about = { id, path: "wiki/vision.md", kind: "change", status: "open" };
  const { text } = unwrap(await app.pages.read("wiki/vision.md"));
  unwrap(await proposePage(app, about, { baseSha: source_sha ?? "", text: `${text}More.\n` }, agent("engineer")));
  unwrap(await operations.create_todo.perform(app, { title: "Do it", description: "All of it" }, person()));
  unwrap(await operations.create_token.perform(app, { kind: "agent", role: "planner" }, person()));
  unwrap(await operations.rename_section.perform(app, { id: "glossary", new_id: "terms" }, person()));
  await app.recorder.drain(10_000);
}

/** The book as its readers have it. */
async function bookOf(app: App) {
  const entries = await app.entries.list();
  const versions = await Promise.all(
    entries.map(async ({ id }) => ({
      id,
      history: await app.entries.history(id, 1000),
      texts: await Promise.all(
        (await app.entries.history(id, 1000)).map(({ version }) => app.entries.contentAt(id, version)),
      ),
    })),
  );
  return { entries, versions };
}

async function digests(db: Database): Promise<Record<string, Digest>> {
  const found: Record<string, Digest> = {};
  for (const shape of await carriedTables(db.read, db.engine)) found[shape.name] = await digestOf(db.read, shape);
  // A move is an event itself, and positions follow.
  const { events: _events, event_chain: _chain, ...others } = found;
  return others;
}

const settings = (root: string) => readFileSync(join(root, "scriptorium.yaml"), "utf8");

test("N1: files → database → PostgreSQL → files: every version, text, event and row is what it was", async () => {
  const { app, root, open, git } = await newWorkspace();
  await fill(app);
  const before = await bookOf(app);
  // Otherwise the trust of passages is computed by the first read after a move.
  await app.trust.rebuild();
  const rows = await digests(app.db);
  await app.close();
  const postgres = await freshDatabase();
  const moves = [["database"], ["database", "--to", postgres], ["files", "--to", "sqlite"]];
  for (const to of moves) {
    const moved = await scriptorium(["store", "move", ...to, "--json"], { cwd: root });
    expect([moved.code, moved.stderr, moved.json()]).toMatchObject([0, expect.anything(), { to: expect.any(String) }]);
    const now = await open();
    expect(await bookOf(now)).toEqual(before);
    expect(
      unwrap(await operations.doctor.perform(now, {}, person())).findings.filter((f) => f.state === "problem"),
    ).toEqual([]);
    const { results } = unwrap(await operations.search_entries.perform(now, { query: "third" }, agent("planner")));
    expect(results.map(({ id }) => id)).toContain("vision");
    await now.close();
  }
  expect(settings(root)).toMatch(/^store: files$/m);
  const back = await open();
  await back.trust.refresh();
  expect(await digests(back.db)).toEqual(rows);
  expect(git("status", "--porcelain")).toBe("");
  unwrap(await back.knowledge(agent("engineer")).appendLog("decisions", "four"));
  expect((await back.entries.fetch("decisions")).content.match(/one|two|three|four/g)).toHaveLength(4);
});

test("N1: what was written in the database store goes to the files and to git, with its authors", async () => {
  const { app, root, open, git, file } = await newWorkspace();
  await fill(app);
  await app.close();
  expect((await scriptorium(["store", "move", "database"], { cwd: root })).code).toBe(0);
  const rows = await open();
  const { version } = await rows.entries.fetch("vision");
  unwrap(await rows.knowledge(agent("planner")).commitEntry("vision", "In the database.\n", version));
  unwrap(await rows.knowledge(agent("engineer")).appendLog("decisions", "four"));
  unwrap(await operations.rename_section.perform(rows, { id: "notes", new_id: "remarks" }, person()));
  const before = await bookOf(rows);
  await rows.close();
  expect((await scriptorium(["store", "move", "files"], { cwd: root })).code).toBe(0);
  const files = await open();
  expect(await bookOf(files)).toEqual(before);
  expect(readFileSync(file("vision.md"), "utf8")).toContain("In the database.");
  await files.recorder.drain(10_000);
  expect(git("log", "-3", "--format=%an %s", "refs/scriptorium/history").split("\n").sort()).toEqual([
    "Ada Lovelace Rename notes to remarks (version 2)",
    "engineer Append to decisions (version 5)",
    "planner Commit vision (version 5)",
  ]);
  const report = unwrap(await operations.doctor.perform(files, {}, person()));
  expect(report.findings.filter(({ state }) => state === "problem")).toEqual([]);
  git("fsck", "--strict");
});

test("N1: a move that is killed leaves the old store in use, and the same command finishes it", async () => {
  const { app, root, open } = await newWorkspace();
  await fill(app);
  const before = await bookOf(app);
  await app.close();
  const postgres = await freshDatabase();
  for (let kills = 0; kills < 3; kills++) {
    const points = ["moved-table", "moved-rows", "moved-book"];
    const killed = await scriptoriumProcess(["store", "move", "database", "--to", postgres], {
      cwd: root,
      env: { SCRIPTORIUM_CRASH_AT: points[kills] ?? "" },
    });
    expect([points[kills], killed.signal, killed.stderr]).toEqual([points[kills], "SIGKILL", expect.anything()]);
    const still = await open();
    expect(still.db.engine).toBe("sqlite");
    expect(await bookOf(still)).toEqual(before);
    await still.close();
  }
  const moved = await scriptoriumProcess(["store", "move", "database", "--to", postgres], { cwd: root });
  expect([moved.code, moved.stderr]).toEqual([0, expect.stringContaining("already there")]);
  const now = await open();
  expect(now.db.engine).toBe("postgres");
  expect(await bookOf(now)).toEqual(before);
});

test("N1: a move is refused while a server runs, into a database in use, with a password, and over a person's edit", async () => {
  const { app, root, file } = await newWorkspace();
  await fill(app);
  const move = (...args: string[]) => scriptorium(["store", "move", ...args], { cwd: root });
  const { stop } = await serve(root);
  expect(await move("database")).toMatchObject({ code: 1, stderr: expect.stringContaining("stop it") });
  await stop();
  await app.close();
  const other = await newWorkspace({ engine: "postgres" });
  const used = /^database: (.*)$/m.exec(settings(other.root))?.[1] ?? "";
  expect(await move("files", "--to", used)).toMatchObject({ code: 1, stderr: expect.stringContaining("is not empty") });
  const secret = "postgres://me:secret@127.0.0.1/none";
  expect(await move("files", "--to", secret)).toMatchObject({ code: 1, stderr: expect.stringContaining("password") });
  expect((await move("database")).code).toBe(0);
  writeFileSync(file("vision.md"), "edited in vain\n");
  expect(await move("files")).toMatchObject({ code: 1, stderr: expect.stringContaining("wiki/vision.md: edited") });
  expect(settings(root)).toMatch(/^store: database$/m);
});

describe.each(engines)("N1: tables (%s)", (engine) => {
  test("N1: every table is carried or listed as derived", async () => {
    const db = await openDatabase(
      engine === "sqlite"
        ? { engine, file: join(temporaryFolder(), "test.db") }
        : { engine, url: await freshDatabase() },
    );
    const all = (await tableShapes(db.read, engine)).map(({ name }) => name);
    const carried = (await carriedTables(db.read, engine)).map(({ name }) => name);
    expect([...carried, ...derivedTables.filter((name) => all.includes(name))].sort()).toEqual([...all].sort());
    for (const { name, key } of await carriedTables(db.read, engine))
      expect([name, key.length > 0]).toEqual([name, true]);
    await db.close();
  });
});
