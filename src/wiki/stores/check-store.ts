import { deepStrictEqual, strictEqual } from "node:assert";
import type { StoredVersion, VersionStore } from "./version-store.ts";

/**
 * Opens a store on the data called `book`: two calls with the same name share their data, as two processes do, and a
 * new name has none. A store that supports crash points calls `step` between two of its own steps of a write; `step`
 * may throw, and the store is then abandoned as it is.
 */
export type MakeStore = (book: string, step: (name: string) => void) => VersionStore | Promise<VersionStore>;

/** One property of a store. `run` throws when the store lacks it, and returns why when it cannot be checked. */
export type StoreCheck = { name: string; run(): Promise<string | undefined> };

export type StoreReport = { passed: string[]; skipped: { name: string; why: string }[] };

type Book = { open(step?: (name: string) => void): Promise<VersionStore> };
type Check = (book: Book, other: Book) => Promise<string | undefined>;

/** Runs every check and throws one error that lists those that failed. Needs no test runner. */
export async function checkStore(make: MakeStore): Promise<StoreReport> {
  const report: StoreReport = { passed: [], skipped: [] };
  const failed: string[] = [];
  for (const { name, run } of storeChecks(make)) {
    try {
      const why = await run();
      if (why === undefined) report.passed.push(name);
      else report.skipped.push({ name, why });
    } catch (error) {
      failed.push(`- ${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  const total = failed.length + report.passed.length + report.skipped.length;
  if (failed.length > 0) throw new Error(`${failed.length} of ${total} checks failed:\n${failed.join("\n")}`);
  return report;
}

/** The checks one by one, for a test runner: `for (const { name, run } of storeChecks(make)) test(name, run)`. */
export function storeChecks(make: MakeStore): StoreCheck[] {
  return Object.entries(checks).map(([name, check], index) => ({
    name,
    async run() {
      const opened: VersionStore[] = [];
      const bookNamed = (book: string): Book => ({
        async open(step = () => undefined) {
          const store = await make(book, step);
          opened.push(store);
          return store;
        },
      });
      const unique = `${Date.now().toString(36)}-${index}`;
      try {
        return await check(bookNamed(`check-${unique}-a`), bookNamed(`check-${unique}-b`));
      } finally {
        for (const store of opened) await store.close?.();
      }
    },
  }));
}

const at = "2026-01-02T03:04:05.678Z";

const versionOf = (version: number, content: string, more: object = {}): StoredVersion => ({
  version,
  content,
  facts: { author: "planner", at, summary: `version ${version}`, ...more },
});

const texts = [
  "# Title\n\nBody\n",
  "no newline at the end",
  "---\nlooks: like frontmatter\n---\n",
  "\n\nleading and trailing\n\n",
  "ünï ☂ 𝒻 日本語",
  " ",
  "",
  `${"a long line ".repeat(5000)}\n`.repeat(4),
];

/** Writes `texts` as versions 1, 2, 3, … */
async function writeAll(store: VersionStore, id: string, contents: string[]): Promise<void> {
  for (const [i, content] of contents.entries())
    strictEqual(await store.write(id, versionOf(i + 1, content)), true, `write of version ${i + 1} was refused`);
}

const sorted = (list: { id: string; version: number }[]) =>
  list.map(({ id, version }) => ({ id, version })).sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));

const checks: Record<string, Check> = {
  "an entry that was never written has no version": async (book) => {
    const store = await book.open();
    strictEqual(await store.read("notes"), undefined);
    strictEqual(await store.read("notes", 1), undefined);
    deepStrictEqual(await store.list(), []);
    return undefined;
  },

  "every version is read back to the letter, also after later ones": async (book) => {
    const store = await book.open();
    await writeAll(store, "notes", texts);
    for (const [i, content] of texts.entries()) {
      const read = await store.read("notes", i + 1);
      strictEqual(read?.content, content, `version ${i + 1} came back changed`);
      strictEqual(read.version, i + 1);
    }
    const latest = await store.read("notes");
    strictEqual(latest?.version, texts.length);
    strictEqual(latest.content, texts.at(-1));
    strictEqual(await store.read("notes", texts.length + 1), undefined);
    return undefined;
  },

  "the facts of a version are kept unchanged": async (book) => {
    const store = await book.open();
    const more = {
      role: "planner",
      run: null,
      epoch: 7,
      approval: { by: "Ada", topics: ["t-1"], deep: { a: [1, 2] } },
    };
    const made = versionOf(1, "text", more);
    strictEqual(await store.write("notes", made), true);
    deepStrictEqual((await store.read("notes"))?.facts, made.facts);
    return undefined;
  },

  "a stale write is refused and changes nothing": async (book) => {
    const store = await book.open();
    await writeAll(store, "notes", ["one", "two"]);
    for (const version of [1, 2])
      strictEqual(await store.write("notes", versionOf(version, "stale")), false, `version ${version} was overwritten`);
    strictEqual((await store.read("notes"))?.content, "two");
    strictEqual((await store.read("notes", 1))?.content, "one");
    return undefined;
  },

  "a version cannot be skipped": async (book) => {
    const store = await book.open();
    strictEqual(await store.write("notes", versionOf(2, "too early")), false);
    await writeAll(store, "notes", ["one"]);
    strictEqual(await store.write("notes", versionOf(3, "too early")), false);
    strictEqual((await store.read("notes"))?.version, 1);
    return undefined;
  },

  "list has every entry once, with its latest version": async (book) => {
    const store = await book.open();
    const ids = Array.from({ length: 60 }, (_, i) => `part-${i % 7}/entry-${i}`);
    for (const id of ids) await writeAll(store, id, ["one"]);
    await store.write("part-0/entry-0", versionOf(2, "two"));
    const expected = ids.map((id) => ({ id, version: id === "part-0/entry-0" ? 2 : 1 }));
    deepStrictEqual(sorted(await store.list()), sorted(expected));
    return undefined;
  },

  "ids that begin alike are different entries": async (book) => {
    const store = await book.open();
    const ids = ["api", "api/errors", "api/errors/http", "api-2", "ap"];
    await Promise.all(ids.map((id) => writeAll(store, id, [`text of ${id}`, `second text of ${id}`])));
    for (const id of ids) {
      strictEqual((await store.read(id))?.content, `second text of ${id}`);
      strictEqual((await store.read(id, 1))?.content, `text of ${id}`);
    }
    strictEqual((await store.list()).length, ids.length);
    return undefined;
  },

  "a caller cannot change a version through its objects": async (book) => {
    const store = await book.open();
    const made = versionOf(1, "one", { tags: ["a"] });
    await store.write("notes", made);
    made.content = "changed";
    (made.facts.tags as string[]).push("changed");
    const read = await store.read("notes");
    if (read) read.facts.author = "changed";
    deepStrictEqual(await store.read("notes"), versionOf(1, "one", { tags: ["a"] }));
    return undefined;
  },

  "a write is visible to other connections at once": async (book) => {
    const [one, two] = [await book.open(), await book.open()];
    for (let version = 1; version <= 10; version++) {
      const [writer, reader] = version % 2 === 0 ? [one, two] : [two, one];
      strictEqual(await writer.write("notes", versionOf(version, `text ${version}`)), true);
      strictEqual((await reader.read("notes"))?.content, `text ${version}`);
      deepStrictEqual(sorted(await reader.list()), [{ id: "notes", version }]);
    }
    return undefined;
  },

  "of twenty writers of one version, one wins": async (book) => {
    const stores = [await book.open(), await book.open()];
    for (const version of [1, 2, 3]) {
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, async (_, i) => {
          const store = stores[i % 2] as VersionStore;
          return { won: await store.write("notes", versionOf(version, `text ${i} of ${version}`)), i };
        }),
      );
      const winners = outcomes.filter(({ won }) => won);
      strictEqual(winners.length, 1, `${winners.length} writers of version ${version} got true`);
      const kept = await stores[0]?.read("notes", version);
      strictEqual(kept?.content, `text ${winners[0]?.i} of ${version}`, "the text is not the winner's");
    }
    return undefined;
  },

  "lines that two connections append at once all arrive, once each": async (book) => {
    const stores = [await book.open(), await book.open()];
    const append = async (store: VersionStore, line: string) => {
      for (;;) {
        const latest = await store.read("decisions");
        const content = `${latest?.content ?? ""}${line}\n`;
        if (await store.write("decisions", versionOf((latest?.version ?? 0) + 1, content))) return;
      }
    };
    const lines = Array.from({ length: 30 }, (_, i) => `line ${i}`);
    await Promise.all(
      [0, 1, 2].map(async (writer) => {
        const own = lines.filter((_, i) => i % 3 === writer);
        for (const line of own) await append(stores[writer % 2] as VersionStore, line);
      }),
    );
    const { content = "", version } = (await stores[0]?.read("decisions")) ?? {};
    strictEqual(version, lines.length);
    deepStrictEqual(content.trimEnd().split("\n").sort(), lines.toSorted());
    for (let at = 1; at < lines.length; at++) {
      const earlier = (await stores[1]?.read("decisions", at))?.content ?? "";
      strictEqual(content.startsWith(earlier) && earlier !== "", true, `version ${at} is not the beginning of the log`);
    }
    return undefined;
  },

  "what was written is there after the store is opened again": async (book) => {
    const store = await book.open();
    await writeAll(store, "notes", ["one", "two"]);
    await store.close?.();
    const again = await book.open();
    strictEqual((await again.read("notes"))?.content, "two");
    strictEqual((await again.read("notes", 1))?.content, "one");
    strictEqual(await again.write("notes", versionOf(3, "three")), true);
    return undefined;
  },

  "two books have nothing in common": async (book, other) => {
    const [here, there] = [await book.open(), await other.open()];
    await writeAll(here, "notes", ["one", "two"]);
    strictEqual(await there.read("notes"), undefined);
    deepStrictEqual(await there.list(), []);
    await writeAll(there, "notes", ["other"]);
    strictEqual((await here.read("notes"))?.content, "two");
    return undefined;
  },

  "a crash between two steps of a write leaves the old version or the new one": async (book) => {
    const steps: string[] = [];
    const watched = await book.open((name) => steps.push(name));
    await writeAll(watched, "notes", ["version 1", "version 2"]);
    if (steps.length === 0) return "the store never calls step(name)";
    let version = 2;
    for (const crashAt of new Set(steps)) {
      const crashing = await book.open((name) => {
        if (name === crashAt) throw new Error(`crash at ${name}`);
      });
      await crashing.write("notes", versionOf(version + 1, `version ${version + 1}`)).catch(() => false);
      const after = await book.open();
      const latest = await after.read("notes");
      const now = latest?.version ?? 0;
      strictEqual(now === version || now === version + 1, true, `after a crash at ${crashAt} the version is ${now}`);
      for (let earlier = 1; earlier <= now; earlier++)
        strictEqual((await after.read("notes", earlier))?.content, `version ${earlier}`, `after a crash at ${crashAt}`);
      deepStrictEqual(sorted(await after.list()), [{ id: "notes", version: now }], `list after a crash at ${crashAt}`);
      const next = versionOf(now + 1, `version ${now + 1}`);
      strictEqual(await after.write("notes", next), true, `no write succeeds after a crash at ${crashAt}`);
      version = now + 1;
    }
    return undefined;
  },
};
