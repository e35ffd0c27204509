import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import type { Diagnosis } from "../src/doctor/finding.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { historyRef } from "../src/store/git/history-ref.ts";
import { scriptorium } from "./support/commands.ts";
import { allEvents, backends, engines, person, read, type TestWorkspace } from "./support/workspace.ts";
import { append, commit, diagnosed, troubles, writtenBook } from "./support/written-book.ts";

const statement = (text: string) => (book: TestWorkspace) => book.app.db.write((tx) => sql.raw(text).execute(tx));

const blobOfVersion = async ({ app }: TestWorkspace, id: string, version: number) => {
  const rows = app.db.read.selectFrom("entry_versions").select("blob").where("entry_id", "=", id);
  return (await rows.where("version", "=", version).executeTakeFirstOrThrow()).blob;
};

function objectFile({ root }: TestWorkspace, name: string): string {
  const file = join(root, ".git/objects", name.slice(0, 2), name.slice(2));
  chmodSync(file, 0o644);
  return file;
}

type Case = { what: string; damage(book: TestWorkspace): unknown; repaired: RegExp; store?: "files" | "database" };

const cases: Case[] = [
  {
    what: "the history ref, deleted",
    damage: ({ git }) => git("update-ref", "-d", historyRef),
    repaired: /refs\/scriptorium\/history: missing → at \w{12}, as last recorded/,
    store: "files",
  },
  {
    what: "the history ref, reset",
    damage: ({ git }) => git("update-ref", historyRef, `${historyRef}~3`),
    repaired: /at \w{12} → at \w{12}, as last recorded/,
    store: "files",
  },
  {
    what: "the history ref, pointed elsewhere",
    damage: ({ git }) => git("update-ref", historyRef, git("commit-tree", "HEAD^{tree}", "-m", "Elsewhere")),
    repaired: /refs\/scriptorium\/replaced\/\w{12} keeps what it pointed at/,
    store: "files",
  },
  {
    what: "a version between others that git lacks",
    damage: async (book) => {
      const { git, app } = book;
      // Reset and written on: the versions between are missing, and the known commit is gone.
      git("update-ref", historyRef, `${historyRef}~1`);
      await statement("DELETE FROM meta WHERE key = 'history_tip'")(book);
      await commit(app, "vision", "Written on.\n");
      await app.recorder.drain(5000);
    },
    repaired: /1 versions missing → recorded again; refs\/scriptorium\/replaced\/\w{12} keeps/,
    store: "files",
  },
  {
    what: "a row of the git queue, lost",
    damage: async ({ app }) => {
      await commit(app, "vision", "Not recorded.\n");
      await app.db.write((tx) => tx.deleteFrom("git_queue").execute());
    },
    repaired: /vision, version 6: no text in git .* → text written again/,
    store: "files",
  },
  {
    what: "the newest text, lost",
    damage: async (book) => rmSync(objectFile(book, await blobOfVersion(book, "vision", 5))),
    repaired: /vision, version 5: no text in git/,
    store: "files",
  },
  {
    what: "an earlier text of a log, lost",
    damage: async (book) => rmSync(objectFile(book, await blobOfVersion(book, "decisions", 2))),
    repaired: /decisions, version 2: no text in git/,
    store: "files",
  },
  {
    what: "a damaged object",
    damage: async (book) => {
      const [damaged, other] = [await blobOfVersion(book, "vision", 5), await blobOfVersion(book, "vision", 2)];
      writeFileSync(objectFile(book, damaged), readFileSync(objectFile(book, other)));
    },
    repaired: /vision, version 5/,
    store: "files",
  },
  {
    what: "a version row, deleted",
    damage: statement("DELETE FROM entry_versions WHERE entry_id = 'vision' AND version = 2"),
    repaired: /vision, version 2: missing from the index → as in git and the event log/,
    store: "files",
  },
  {
    what: "a version row, changed",
    damage: statement("UPDATE entry_versions SET author = 'mallory' WHERE entry_id = 'vision' AND version = 2"),
    repaired: /vision, version 2: another author \(mallory or planner\)/,
    store: "files",
  },
  {
    what: "an index row, changed",
    damage: statement(
      "UPDATE entries SET version = 9, last_author = 'mallory', words = 1, links = '[]' WHERE id = 'vision'",
    ),
    repaired: /vision: .*version \(9\), author \(mallory\).* → index row written/,
  },
  {
    what: "the table of links",
    damage: statement("DELETE FROM entry_links WHERE entry_id = 'vision'"),
    repaired: /list of links/,
  },
  {
    what: "an index row, deleted",
    damage: statement("DELETE FROM entries WHERE id = 'vision'"),
    repaired: /vision: .* → index row written/,
  },
  {
    what: "an index row without a version",
    damage: statement(
      "INSERT INTO entries (id, version, blob, last_author, words, updated_at, stat, links) VALUES ('ghost', 1, 'x', 'm', 0, '2026-01-01T00:00:00.000Z', '', '[]')",
    ),
    repaired: /ghost: .* → index row removed/,
  },
  {
    what: "a deleted file",
    damage: ({ file }) => rmSync(file("vision.md")),
    repaired: /wiki\/vision\.md: missing → text of version \d/,
    store: "files",
  },
];

describe.each(backends)("N5: doctor --fix ($store, $engine)", (backend) => {
  const possible = cases.filter(({ store = backend.store }) => store === backend.store);
  test.each(possible)("repairs $what, and doctor then finds nothing", async ({ damage, repaired }) => {
    const book = await writtenBook(backend);
    await damage(book);
    const app = await book.open();
    expect(troubles(await diagnosed(app))).not.toEqual([]);
    const fixed = unwrap(await operations.doctor_fix.perform(app, {}, person()));
    const said = fixed.repaired.map(({ subject, before, after }) => `${subject}: ${before} → ${after}`).join("\n");
    expect(said).toMatch(repaired);
    expect(troubles(await diagnosed(app)), said).toEqual([]);
    expect(unwrap(await operations.doctor_fix.perform(app, {}, person())).repaired).toEqual([]);
    expect((await app.entries.fetch("vision")).content).not.toBe("");
    await append(app, "and on");
    await app.recorder.drain(5000);
    expect(troubles(await diagnosed(app))).toEqual([]);
    book.git("fsck", "--strict");
    const versions = () =>
      app.db.read
        .selectFrom("entry_versions")
        .select(["entry_id", "version", "blob", "author"])
        .orderBy("entry_id")
        .orderBy("version")
        .execute();
    const before = await versions();
    if (backend.store === "files") {
      await app.rebuild();
      expect(await versions()).toEqual(before);
    }
  });
});

describe.each(engines)("N6: a finding is acknowledged (%s)", (engine) => {
  test("by a person, with a note and an event; it returns when it changes", async () => {
    const { app, root, file } = await writtenBook({ engine });
    writeFileSync(file("decisions.md"), read(file("decisions.md")).replace("one", "ONE"));
    const before = await scriptorium(["doctor", "--json"], { cwd: root });
    expect(before.code).toBe(1);
    const found = before.json<Diagnosis>().findings.find(({ kind }) => kind === "log-rewritten");
    expect(found).toMatchObject({ id: expect.stringMatching(/^f-/), state: "problem", subject: "entry:decisions" });
    const id = found?.id ?? "";

    const denied = await scriptorium(["doctor", "--acknowledge", id], { cwd: root, env: { SCRIPTORIUM_TOKEN: "" } });
    expect(denied.code).toBe(1);
    const wrong = await scriptorium(["doctor", "--acknowledge", "f-none"], { cwd: root });
    expect(wrong.stderr).toContain("no problem or warning of this workspace has the id f-none");
    const done = await scriptorium(["doctor", "--acknowledge", id, "--note", "A typing mistake."], { cwd: root });
    expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining(`${id} acknowledged`) });

    const after = await scriptorium(["doctor"], { cwd: root });
    expect(after.code).toBe(0);
    expect(after.stdout).toContain("1 acknowledged finding: scriptorium doctor --all");
    expect(after.stdout).not.toContain("rewrote earlier lines");
    const all = await scriptorium(["doctor", "--all"], { cwd: root });
    expect(all.stdout).toMatch(/rewrote earlier lines[\s\S]*acknowledged by Ada Lovelace on .*: A typing mistake\./);
    expect(await allEvents(app)).toContainEqual(
      expect.objectContaining({ kind: "finding-acknowledged", actor: "Ada Lovelace", subject: `finding:${id}` }),
    );

    writeFileSync(file("decisions.md"), read(file("decisions.md")).replace("two", "TWO"));
    expect((await scriptorium(["doctor"], { cwd: root })).code).toBe(1);
  });
});

test("N5: doctor --fix says what it repaired and what it leaves, on the command line too", async () => {
  const book = await writtenBook();
  book.git("update-ref", "-d", historyRef);
  await statement("UPDATE events SET actor = 'mallory' WHERE subject = 'entry:design' AND kind = 'entry-committed'")(
    book,
  );
  const denied = await scriptorium(["doctor", "--fix"], { cwd: book.root, env: { SCRIPTORIUM_TOKEN: "" } });
  expect(denied).toMatchObject({ code: 1, stderr: expect.stringContaining("a person must confirm this") });
  const fixed = await scriptorium(["doctor", "--fix"], { cwd: book.root });
  expect(fixed.code).toBe(1);
  expect(fixed.stdout).toMatch(/^Repaired\n {2}refs\/scriptorium\/history: missing → at/);
  expect(fixed.stdout).toContain("author (architect or mallory)");
  const json = await scriptorium(["doctor", "--fix", "--json"], { cwd: book.root });
  expect(json.json()).toMatchObject({ healthy: false, repaired: [] });
});

test("N5: after .git was lost, doctor --fix records the texts that the files have, and names the lost ones", async () => {
  const book = await writtenBook();
  rmSync(join(book.root, ".git"), { recursive: true });
  book.git("init", "-q", "-b", "main", ".");
  book.git("config", "user.name", "Ada Lovelace");
  book.git("config", "user.email", "ada@example.org");
  const app = await book.open();
  unwrap(await operations.doctor_fix.perform(app, {}, person()));
  const left = troubles(await diagnosed(app));
  expect(new Set(left.map(({ kind }) => kind))).toEqual(new Set(["text-lost", "version-not-in-history"]));
  expect(book.git("show", `${historyRef}:wiki/vision.md`)).toContain("third");
  for (const { id } of left)
    unwrap(await operations.acknowledge_finding.perform(app, { id, note: "No backup." }, person()));
  expect((await diagnosed(app)).healthy).toBe(true);
  await append(app, "and on");
  await app.recorder.drain(5000);
  expect((await diagnosed(app)).healthy).toBe(true);
});
