import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type App, openApp } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import { checkStore, type MakeStore, storeChecks } from "../src/contract.ts";
import { unwrap } from "../src/kernel/result.ts";
import { approveProposal, rejectProposal } from "../src/review/proposals/operations.ts";
import { proposePage } from "../src/review/proposals/propose.ts";
import { blobOf } from "../src/store/git/blob.ts";
import { setApproval } from "../src/store/queries/proposals.ts";
import type { Author, EntryStore } from "../src/wiki/entry.ts";
import type { Section } from "../src/wiki/schema.ts";
import { fileStore } from "../src/wiki/stores/files.ts";
import { rowStore } from "../src/wiki/stores/rows.ts";
import type { StoredVersion, VersionStore } from "../src/wiki/stores/version-store.ts";
import { scribeProcess, scriptoriumProcess } from "./support/commands.ts";
import { startObjectStorage } from "./support/object-storage.ts";
import {
  agent,
  backends,
  gitPerson,
  newWorkspace,
  person,
  temporaryFolder,
  testEnvironment,
} from "./support/workspace.ts";

const examples = new URL("../docs/examples/stores/", import.meta.url);
const { memoryStore } = await import(new URL("memory.mjs", examples).href);
const { folderStore } = await import(new URL("folder.mjs", examples).href);
const { objectStore } = await import(new URL("object-storage.mjs", examples).href);

describe("N10: the example stores pass checkStore", () => {
  test("N10: in memory", async () => {
    const report = await checkStore((book) => memoryStore(book));
    expect(report.passed).toHaveLength(13);
    expect(report.skipped).toEqual([
      { name: expect.stringContaining("crash"), why: "the store never calls step(name)" },
    ]);
  });

  test("N10: in a folder, with its crash points", async () => {
    const folder = temporaryFolder();
    const report = await checkStore((book, step) => folderStore(join(folder, book), step));
    expect(report).toMatchObject({ passed: { length: 14 }, skipped: [] });
  });

  test("N10: in object storage with compare-and-swap on ETags, with its crash points", async () => {
    const bucket = await startObjectStorage();
    const report = await checkStore((book, step) => objectStore({ bucket, prefix: `${book}/`, step }));
    expect(report).toMatchObject({ passed: { length: 14 }, skipped: [] });
  });
});

describe.each(backends)("N10: entries in $store on $engine pass checkStore", (backend) => {
  test("N10: all checks but that of the facts, of which Scriptorium writes time and summary itself", async () => {
    const { app, root } = await newWorkspace(backend);
    const make: MakeStore = (book) => {
      const known = new Map<string, Section>();
      const sections = async () => [...known.values()];
      const { db, threads } = app;
      const deps = { db, threads, sections, wiki: "wiki", sources: "sources", now: () => new Date() };
      const entries =
        backend.store === "files"
          ? fileStore({ ...deps, git: app.git, publications: app.publications, root })
          : rowStore(deps);
      return asVersionStore(entries, book, known);
    };
    const checks = storeChecks(make).filter(({ name }) => !/facts|objects/.test(name));
    expect(checks).toHaveLength(12);
    for (const { run } of checks) await run();
  });
});

/** One of our own stores through the contract that others implement. */
function asVersionStore(entries: EntryStore, book: string, known: Map<string, Section>): VersionStore {
  const inBook = (id: string) => {
    const whole = `${book}/${id}`;
    const section: Section = { id: whole, title: id, mode: "snapshot", writable_by: ["planner"], description: "" };
    known.set(whole, section);
    return whole;
  };
  const authorOf = ({ facts }: StoredVersion): Author => ({ name: facts.author, role: facts.author });
  return {
    async list() {
      const listed = await entries.list();
      return listed
        .filter(({ version }) => version > 0)
        .map(({ id, version }) => ({ id: id.slice(book.length + 1), version }));
    },
    async read(id, version) {
      const whole = inBook(id);
      const wanted = version ?? (await entries.fetch(whole)).version;
      const content = wanted === 0 ? undefined : await entries.contentAt(whole, wanted);
      const about = (await entries.history(whole)).find((one) => one.version === wanted);
      return content === undefined || !about
        ? undefined
        : { version: wanted, content, facts: { author: about.author, at: about.at, summary: about.summary } };
    },
    async write(id, next) {
      const done = await entries.commit(inBook(id), next.content, next.version - 1, authorOf(next));
      return done.ok && done.value.version === next.version;
    },
  };
}

describe("N10: checkStore finds", () => {
  type Wrong = {
    mistake: string;
    change: (right: VersionStore, step: (name: string) => void) => Partial<VersionStore>;
    says: string;
  };
  const wrong: Wrong[] = [
    {
      mistake: "a store without compare-and-swap",
      change: (right) => ({
        async write(id, next) {
          const latest = await right.read(id);
          await right.write(id, { ...next, version: (latest?.version ?? 0) + 1 });
          return true;
        },
      }),
      says: "a stale write is refused and changes nothing",
    },
    {
      mistake: "a check and a write that are two steps",
      change: (right) => ({
        async write(id, next) {
          const latest = await right.read(id);
          if ((latest?.version ?? 0) !== next.version - 1) return false;
          await new Promise(setImmediate);
          await right.write(id, next);
          return true;
        },
      }),
      says: "of twenty writers of one version, one wins",
    },
    {
      mistake: "a store that keeps only the latest text",
      change: (right) => ({
        read: async (id, version) => (version === undefined ? right.read(id) : undefined),
      }),
      says: "every version is read back to the letter",
    },
    {
      mistake: "a store that trims texts",
      change: (right) => ({ write: (id, next) => right.write(id, { ...next, content: next.content.trim() }) }),
      says: "every version is read back to the letter",
    },
    {
      mistake: "a store that drops facts it does not know",
      change: (right) => ({
        write: (id, next) => {
          const { author, at, summary } = next.facts;
          return right.write(id, { ...next, facts: { author, at, summary } });
        },
      }),
      says: "the facts of a version are kept unchanged",
    },
    {
      mistake: "a list that ends after its first page",
      change: (right) => ({ list: async () => (await right.list()).slice(0, 50) }),
      says: "list has every entry once",
    },
    {
      mistake: "a write that moves its pointer before its text",
      change: (right, step) => ({
        async write(id, next) {
          const latest = await right.read(id);
          if ((latest?.version ?? 0) !== next.version - 1) return false;
          const half = await right.write(id, { ...next, content: "" });
          step("pointer moved");
          const held = await right.read(id, next.version);
          if (held) await right.write(id, { ...next, version: next.version + 1 });
          return half;
        },
      }),
      says: "a crash between two steps of a write",
    },
  ];

  test.each(wrong)("N10: $mistake", async ({ change, says }) => {
    const broken: MakeStore = (book, step) => {
      const right: VersionStore = memoryStore(`${book}-${says}`);
      return { ...right, ...change(right, step) };
    };
    await expect(checkStore(broken)).rejects.toThrow(says);
  });
});

const ownStore = { store: "./folder.mjs", engine: "sqlite" } as const;

describe.each(["sqlite", "postgres"] as const)("N10: a workspace with a store of its own (%s)", (engine) => {
  const folderIn = (root: string): VersionStore => folderStore(join(root, "book"));
  const facts = { author: "Grace", at: "2026-03-04T05:06:07.000Z", summary: "Written elsewhere" };

  test("N10: versions that another machine wrote to the store are found, with their authors", async () => {
    const { app, root } = await newWorkspace({ ...ownStore, engine });
    const store = folderIn(root);
    const before = (await store.read("notes"))?.version ?? 0;
    await store.write("notes", { version: before + 1, content: "from elsewhere", facts });
    const entry = unwrap(await app.knowledge(agent("engineer")).fetchEntry("notes"));
    expect(entry).toMatchObject({ content: "from elsewhere", version: before + 1, metadata: { lastAuthor: "Grace" } });
    await store.write("glossary", { version: 1, content: "words", facts });
    const { entries } = unwrap(await app.knowledge(agent("engineer")).listEntries());
    expect(entries.find(({ id }) => id === "glossary")).toMatchObject({ version: 1, lastAuthor: "Grace" });
    expect((await app.entries.history("notes"))[0]).toMatchObject({ author: "Grace", at: facts.at });
  });

  test("N10: a store that has lost versions is refused by name", async () => {
    const { app, root } = await newWorkspace({ ...ownStore, engine });
    unwrap(await app.knowledge(agent("engineer")).appendLog("decisions", "first"));
    rmSync(join(root, "book/decisions"), { recursive: true });
    await expect(app.entries.fetch("decisions")).rejects.toThrow(
      /decisions is at version \d+ in the database and at version 0 in the store \.\/folder\.mjs/,
    );
  });

  const config = "agent:\n  author_name: Larkspur Scribe\n  author_email: scribe@example.org\n";
  const proposed = async (app: App) => {
    unwrap(await app.knowledge(agent("engineer")).commitEntry("notes", "We deploy on Fridays.\n", 0));
    const about = { id: "t-1", path: "wiki/notes.md", kind: "change", status: "open" };
    const asked = { baseSha: blobOf("We deploy on Fridays.\n"), text: "We deploy on Tuesdays.\n" };
    return unwrap(await proposePage(app, about, asked, agent("engineer"))).id;
  };

  test("N10: an approval becomes the next version, with its approver", async () => {
    const { app, root } = await newWorkspace({ ...ownStore, engine, config });
    const id = await proposed(app);
    expect(await approveProposal.perform(app, { id }, person())).toMatchObject({ ok: true });
    expect(await folderIn(root).read("notes")).toMatchObject({
      version: 2,
      content: "We deploy on Tuesdays.\n",
      facts: { author: "Larkspur Scribe", approval: { by: gitPerson.name } },
    });
    expect(await app.entries.fetch("notes")).toMatchObject({ version: 2, content: "We deploy on Tuesdays.\n" });
  });

  test("N10: an approval on a text that changed meanwhile is a conflict and writes nothing", async () => {
    const { app, root } = await newWorkspace({ ...ownStore, engine, config });
    const id = await proposed(app);
    await folderIn(root).write("notes", { version: 2, content: "We deploy on Sundays.\n", facts });
    expect(await approveProposal.perform(app, { id }, person())).toMatchObject({ problem: { code: "conflict" } });
    expect((await folderIn(root).read("notes"))?.version).toBe(2);
    expect((await app.proposals.find(id))?.status).toBe("open");
  });

  test.each(["at the next start", "when a person rejects it"])(
    "N10: an approval that a crash interrupted after the text was written is completed %s",
    async (when) => {
      const { app, root, open } = await newWorkspace({ ...ownStore, engine, config });
      const id = await proposed(app);
      const intent = {
        by: { name: gitPerson.name },
        text: "We deploy on Tuesdays.\n",
        base: blobOf("We deploy on Fridays.\n"),
      };
      await app.db.write((tx) => setApproval(tx, id, intent));
      const published = { ...facts, proposal: id };
      await folderIn(root).write("notes", { version: 2, content: "We deploy on Tuesdays.\n", facts: published });
      await folderIn(root).write("notes", { version: 3, content: "We deploy on Tuesdays and Mondays.\n", facts });
      const later = when === "at the next start" ? await open() : app;
      if (later === app)
        expect(await rejectProposal.perform(app, { id }, person())).toMatchObject({ problem: { code: "conflict" } });
      expect(await later.proposals.find(id)).toMatchObject({ status: "approved", decidedBy: gitPerson.name });
      expect((await folderIn(root).read("notes"))?.version).toBe(3);
    },
  );

  test("N10: an approval that a crash interrupted before the text was written stays open", async () => {
    const { app, open } = await newWorkspace({ ...ownStore, engine, config });
    const id = await proposed(app);
    const intent = {
      by: { name: gitPerson.name },
      text: "We deploy on Tuesdays.\n",
      base: blobOf("We deploy on Fridays.\n"),
    };
    await app.db.write((tx) => setApproval(tx, id, intent));
    const later = await open();
    expect((await later.proposals.find(id))?.status).toBe("open");
    expect(await approveProposal.perform(later, { id }, person())).toMatchObject({ ok: true });
  });

  test("N10: commands of the built package use it", async () => {
    const { root } = await newWorkspace({ ...ownStore, engine });
    const append = ["append-log", "--role", "engineer", "--id", "decisions", "--line", "from a process"];
    expect(await scribeProcess(append, { cwd: root })).toMatchObject({ code: 0 });
    // The first start compiles the code, the second takes it from the cache.
    for (let i = 0; i < 2; i++) {
      const shown = await scriptoriumProcess(["entry", "read", "decisions"], { cwd: root });
      expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining("from a process") });
    }
    expect((await folderIn(root).read("decisions"))?.content).toContain("from a process");
  });
});

describe("N10: store: ./my-store.js", () => {
  const open = async (module: string | undefined, env: Record<string, string> = {}) => {
    const { root } = await newWorkspace();
    if (module !== undefined) writeFileSync(join(root, "my-store.mjs"), module);
    writeFileSync(join(root, "scriptorium.yaml"), "store: ./my-store.mjs\n");
    const config = loadConfig(root, { ...testEnvironment(), ...env });
    return openApp(unwrap(config));
  };

  test.each([
    [undefined, "my-store.mjs does not exist"],
    ["export default {", "the module could not be loaded"],
    ["export const store = 1;", "its default export must be a function that opens the store, and it is nothing"],
    ["export default () => { throw new Error('no bucket'); };", "it could not be opened: no bucket"],
    ["export default () => ({ read() {} });", "the store has no function list, write"],
  ])("N10: %j is refused: %s", async (module, why) => {
    await expect(open(module)).rejects.toThrow(why);
  });

  test("N10: nothing of it runs until a person has allowed this content", async () => {
    const folder = temporaryFolder();
    const module = `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(join(folder, "ran"))}, "");`;
    await expect(open(module, { SCRIPTORIUM_TRUSTED_FOLDERS: "" })).rejects.toThrow(
      "scriptorium.yaml sets store to ./my-store.mjs, which nobody has allowed on this machine",
    );
    expect(spawnSync("ls", [folder]).stdout.toString()).toBe("");
  });

  test("N10: another name than files, database or a module path is refused with what is expected", async () => {
    const { root } = await newWorkspace();
    writeFileSync(join(root, "scriptorium.yaml"), "store: redis\n");
    expect(loadConfig(root, testEnvironment())).toMatchObject({
      ok: false,
      problem: {
        message: expect.stringContaining("expected files, database, or the path of a module such as ./my-store.js"),
      },
    });
  });
});
