import {
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { listEntries, searchEntries } from "../src/wiki/operations.ts";
import { watchFolders } from "../src/wiki/stores/folder-watch.ts";
import { gitIn, newWorkspace, person } from "./support/workspace.ts";

const sections = ["vision", "api/errors", "api/limits", "deep/er/note"];
const schema = `schema:
  sections:
${sections.map((id) => `    - { id: ${id}, title: "${id}", mode: snapshot, writable_by: [engineer], description: x }\n`).join("")}pipeline: [engineer]
`;
const text = (body: string) => `---\ntitle: T\n---\n${body}\n`;

/** A workspace that has been listed so often that its folders are watched. */
async function watched(prepare: (root: string) => void = () => undefined) {
  const files = Object.fromEntries(sections.map((id) => [`wiki/${id}.md`, text("One two.")]));
  const { app, root } = await newWorkspace({ files: { "wiki/schema.yaml": schema, ...files } });
  const list = async () => unwrap(await listEntries.perform(app, { all: true }, person())).entries;
  const of = async (id: string) => (await list()).find((entry) => entry.id === id);
  const fileOf = (id: string) => join(root, `wiki/${id}.md`);
  prepare(root);
  // Until no file is as young as its version, and all looks the same.
  await list();
  await pause(2_100);
  for (let look = 0; look < 3; look++) await list();
  return { app, root, list, of, fileOf };
}

describe("N12: a process that does not serve and lists entries again and again", () => {
  test("N12: sees an edit that ended before the list began, every time", async () => {
    const { of, fileOf } = await watched();
    for (let words = 1; words <= 40; words++) {
      const id = sections[words % sections.length] ?? "";
      writeFileSync(fileOf(id), text(Array.from({ length: words }, () => "word").join(" ")));
      expect(await of(id)).toMatchObject({ wordCount: words });
    }
  });

  test("N12: sees an edit that keeps the size and the time of the file", async () => {
    const { app, of, fileOf } = await watched();
    const { version = 0 } = (await of("api/errors")) ?? {};
    const before = statSync(fileOf("api/errors"));
    writeFileSync(`${fileOf("api/errors")}.new`, text("Uno dos."));
    utimesSync(`${fileOf("api/errors")}.new`, before.atime, before.mtime);
    renameSync(`${fileOf("api/errors")}.new`, fileOf("api/errors"));
    expect(await of("api/errors")).toMatchObject({ version: version + 1 });
    const { results } = unwrap(await searchEntries.perform(app, { query: "uno" }, person()));
    expect(results.map(({ id }) => id)).toEqual(["api/errors"]);
  });

  test("N12: sees two edits within one tick of the clock", async () => {
    const { app, of, fileOf } = await watched();
    for (const word of ["aaaa", "bbbb", "cccc", "dddd"]) {
      writeFileSync(fileOf("vision"), text(word));
      await of("vision");
      expect((await app.entries.fetch("vision")).content.trim()).toBe(word);
    }
  });

  test("N12: sees a file that was deleted, and one that comes back", async () => {
    const { of, fileOf } = await watched();
    unlinkSync(fileOf("vision"));
    expect(await of("vision")).toMatchObject({ wordCount: 0 });
    writeFileSync(fileOf("vision"), text("One two three."));
    expect(await of("vision")).toMatchObject({ wordCount: 3 });
  });

  test("N12: sees the files of a folder that was replaced, and edits in the new folder", async () => {
    const { root, of, fileOf } = await watched();
    const folder = join(root, "wiki/api");
    mkdirSync(join(root, "other"));
    for (const name of ["errors", "limits"]) writeFileSync(join(root, `other/${name}.md`), text("One two three four."));
    renameSync(folder, join(root, "old"));
    renameSync(join(root, "other"), folder);
    expect(await of("api/errors")).toMatchObject({ wordCount: 4 });
    expect(await of("api/limits")).toMatchObject({ wordCount: 4 });
    writeFileSync(fileOf("api/errors"), text("One."));
    expect(await of("api/errors")).toMatchObject({ wordCount: 1 });
  });

  test("N12: sees what git checks out, also in a folder that the other branch does not have", async () => {
    const { root, of } = await watched();
    const git = gitIn(root);
    await git("checkout", "-qb", "other");
    await git("rm", "-rq", "wiki/deep");
    writeFileSync(join(root, "wiki/vision.md"), text("Of the other branch."));
    await git("commit", "-qam", "Other");
    expect(await of("deep/er/note")).toMatchObject({ wordCount: 0 });
    await git("checkout", "-q", "-");
    expect(await of("deep/er/note")).toMatchObject({ wordCount: 2 });
    expect(await of("vision")).toMatchObject({ wordCount: 2 });
  });

  test("N12: sees an edit under another name of the same file", async () => {
    const link = (root: string) => linkSync(join(root, "wiki/vision.md"), join(root, "elsewhere.md"));
    const { root, of } = await watched(link);
    writeFileSync(join(root, "elsewhere.md"), text("One two three four five."));
    expect(await of("vision")).toMatchObject({ wordCount: 5 });
  });

  test("N12: of lists that begin at the same time, none answers before the edit is a version", async () => {
    const { of, fileOf } = await watched();
    for (let words = 3; words < 8; words++) {
      writeFileSync(fileOf("vision"), text(Array.from({ length: words }, () => "word").join(" ")));
      const all = await Promise.all([of("vision"), of("vision"), of("vision")]);
      expect(all.map((entry) => entry?.wordCount)).toEqual([words, words, words]);
    }
  });

  test("N12: sees a section that was added to the schema, in a folder made later", async () => {
    const { root, of, fileOf } = await watched();
    const added = `    - { id: new/one, title: New, mode: snapshot, writable_by: [engineer], description: x }\npipeline`;
    const file = join(root, "wiki/schema.yaml");
    writeFileSync(file, readFileSync(file, "utf8").replace("pipeline", added));
    expect(await of("new/one")).toMatchObject({ version: 0 });
    await of("new/one");
    mkdirSync(join(root, "wiki/new"));
    writeFileSync(fileOf("new/one"), text("One two three."));
    expect(await of("new/one")).toMatchObject({ wordCount: 3 });
    rmSync(join(root, "wiki/new"), { recursive: true });
    expect(await of("new/one")).toMatchObject({ wordCount: 0 });
  });
});

describe.runIf(process.platform === "linux")("N12: a watch of folders", () => {
  const files = { has: (path: string) => /^f\d\/.*\.md$/.test(path), folders: new Set(["", "f1", "f2"]) };

  async function open() {
    const { root } = await newWorkspace();
    const folder = join(root, "watched");
    for (const name of ["f1", "f2"]) mkdirSync(join(folder, name), { recursive: true });
    let time = 0;
    const watch = watchFolders(folder, () => time);
    onTestFinished(() => watch.close());
    const look = async (inDoubt: string[] = []) => {
      const { suspects, end } = await watch.look(files);
      end(inDoubt);
      return suspects;
    };
    return { folder, watch, look, wait: (ms: number) => (time += ms) };
  }

  test("N12: names only the files that changed, from the third look on", async () => {
    const { folder, look } = await open();
    expect([await look(), await look(), await look()]).toEqual(["all", "all", []]);
    writeFileSync(join(folder, "f1/a.md"), "a");
    writeFileSync(join(folder, "f1/.a.md.swp"), "a");
    expect(await look()).toEqual(["f1/a.md"]);
    expect(await look()).toEqual([]);
  });

  test("N12: names a file again while it stays in doubt, and when the look before did not end", async () => {
    const { folder, watch, look } = await open();
    await look();
    await look();
    expect(await look(["f1/a.md"])).toEqual([]);
    expect(await look(["f1/a.md"])).toEqual(["f1/a.md"]);
    expect(await look()).toEqual(["f1/a.md"]);
    writeFileSync(join(folder, "f2/b.md"), "b");
    expect((await watch.look(files)).suspects).toEqual(["f2/b.md"]);
    expect(await look()).toEqual(["f2/b.md"]);
    expect(await look()).toEqual([]);
  });

  test("N12: an event during a look leaves its file in doubt", async () => {
    const { folder, watch, look } = await open();
    await look();
    await look();
    writeFileSync(join(folder, "f1/a.md"), "a");
    const first = await watch.look(files);
    writeFileSync(join(folder, "f1/a.md"), "b");
    const second = await watch.look(files);
    first.end([]);
    expect((await watch.look(files)).suspects).toEqual(["f1/a.md"]);
    second.end([]);
    expect(await look()).toEqual([]);
  });

  test("N12: compares every file after 30 s, after too many events, and until a look at every file has ended", async () => {
    const { folder, watch, look, wait } = await open();
    await look();
    await look();
    wait(30_000);
    expect((await watch.look(files)).suspects).toBe("all");
    expect(await look()).toBe("all");
    expect(await look()).toEqual([]);
    for (let n = 0; n < 4_000; n++) writeFileSync(join(folder, `f1/x${n % 7}.txt`), "x");
    expect(await look()).toBe("all");
    expect(await look()).toEqual([]);
  });
});
