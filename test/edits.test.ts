import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setImmediate as immediate, setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { doctor } from "../src/doctor/doctor.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { watchEntries } from "../src/wiki/stores/watch.ts";
import { long } from "./support/programs.ts";
import { swapping } from "./support/swap.ts";
import {
  agent,
  backends,
  gitPerson,
  newWorkspace,
  person,
  read,
  type TestWorkspace,
  temporaryFolder,
} from "./support/workspace.ts";

const fileBackends = backends.filter((backend) => backend.store === "files");

describe.each(fileBackends)("K13: people edit the files themselves ($engine)", (backend) => {
  test("an edit becomes a new version with its author, and a stale agent commit a conflict", async () => {
    const { app, file } = await newWorkspace(backend);
    const before = await app.entries.fetch("vision");
    writeFileSync(file("vision.md"), "---\ntitle: Our vision\n---\n\nBy hand.\n");
    const stale = await app.knowledge(agent("planner")).commitEntry("vision", "by agent", before.version);
    expect(stale).toMatchObject({
      problem: { code: "conflict", details: { latestContent: "By hand.\n", latestVersion: before.version + 1 } },
    });
    const after = await app.entries.fetch("vision");
    expect(after).toMatchObject({
      content: "By hand.\n",
      metadata: { title: "Our vision", lastAuthor: gitPerson.name },
    });
    expect(read(file("vision.md"))).toBe("---\ntitle: Our vision\n---\n\nBy hand.\n");
  });

  test("without a name in git the author is the file's owner", async () => {
    const { app, file, git } = await newWorkspace(backend);
    git("config", "user.name", "");
    writeFileSync(file("vision.md"), "mine");
    const { userInfo } = await import("node:os");
    expect((await app.entries.fetch("vision")).metadata.lastAuthor).toBe(userInfo().username);
  });

  test("what an agent writes keeps the person's frontmatter, line ends and byte order mark", async () => {
    const { app, file } = await newWorkspace(backend);
    writeFileSync(file("notes.md"), "\ufeff---\r\ntags: [a, b] # mine\r\n---\r\n\r\nold\r\n");
    await commit(app, "notes", "new\nlines\n");
    expect(read(file("notes.md"))).toBe("\ufeff---\r\ntags: [a, b] # mine\r\n---\r\n\r\nnew\r\nlines\r\n");
    expect((await app.entries.fetch("notes")).content).toBe("new\nlines\n");
  });

  test("a touch without a change is no version", async () => {
    const { app, file } = await newWorkspace(backend);
    const { version } = await app.entries.fetch("vision");
    utimesSync(file("vision.md"), new Date(), new Date());
    await app.entries.list();
    expect((await app.entries.fetch("vision")).version).toBe(version);
  });

  test("an edit of the same length in the same instant is noticed", async () => {
    const { app, file } = await newWorkspace(backend);
    await commit(app, "notes", "aaaa");
    const { version } = await app.entries.fetch("notes");
    writeFileSync(file("notes.md"), read(file("notes.md")).replace("aaaa", "bbbb"));
    const listed = (await app.entries.list()).find((entry) => entry.id === "notes");
    expect(listed?.version).toBe(version + 1);
  });

  test("an editor that saves by rename is followed", async () => {
    const { app, file } = await newWorkspace(backend);
    writeFileSync(file("vision.md.swp~"), "saved by rename");
    renameSync(file("vision.md.swp~").replace("wiki/", "wiki/"), file("vision.md"));
    expect((await app.entries.fetch("vision")).content).toBe("saved by rename");
  });

  // Half-written means written again within 80 ms, which a busy machine does not always manage: hence the retries.
  test("a file half written is not taken for a version", { retry: 4 }, async () => {
    const { app, file } = await newWorkspace(backend);
    await commit(app, "notes", "before");
    const { version } = await app.entries.fetch("notes");
    // A process of its own: this one may be too busy to write the second half in time.
    const script = `printf -- '---\\ntitle: Notes\\n---\\n\\nfirst half, ' > "$1"; sleep 0.04; printf 'second half\\n' >> "$1"`;
    const written = once(spawn("sh", ["-c", script, "sh", file("notes.md")]), "exit");
    await expect.poll(() => read(file("notes.md")), { interval: 1 }).toContain("first half");
    const reading = app.entries.fetch("notes");
    await written;
    await reading;
    expect(await app.entries.fetch("notes")).toMatchObject({
      content: "first half, second half\n",
      version: version + 1,
    });
  });

  test("a file that is gone for 50 ms is not taken for deleted", { retry: 4 }, async () => {
    const { app, file } = await newWorkspace(backend);
    await commit(app, "notes", "still here");
    const { version } = await app.entries.fetch("notes");
    const text = read(file("notes.md"));
    rmSync(file("notes.md"));
    const reading = app.entries.fetch("notes");
    await sleep(50);
    writeFileSync(file("notes.md"), text);
    expect(await reading).toMatchObject({ content: "still here", version });
  });

  test("a deleted file is an empty version, and the next commit brings it back", async () => {
    const { app, file } = await newWorkspace(backend);
    await commit(app, "notes", "here");
    const { version } = await app.entries.fetch("notes");
    rmSync(file("notes.md"));
    expect(await app.entries.fetch("notes")).toMatchObject({ content: "", version: version + 1 });
    await commit(app, "notes", "back");
    expect(read(file("notes.md"))).toContain("back");
    expect(await app.entries.contentAt("notes", version)).toBe("here");
  });

  test("broken frontmatter costs nothing: the text is readable and the doctor says what is wrong", async () => {
    const { app, file } = await newWorkspace(backend);
    writeFileSync(file("notes.md"), "---\ntitle: [oops\n---\n\nthe text\n");
    expect(await app.entries.fetch("notes")).toMatchObject({ content: "the text\n", metadata: { title: "Notes" } });
    await commit(app, "notes", "agent's text\n");
    expect(read(file("notes.md"))).toBe("---\ntitle: [oops\n---\n\nagent's text\n");
    const { findings } = unwrap(await doctor.perform(app, {}, person()));
    expect(findings.find((f) => f.check === "files" && f.state === "warning")?.message).toMatch(
      /^wiki\/notes\.md:\d+:\d+: /,
    );
  });

  test("a log rewritten by hand is kept as it is and reported by the doctor", async () => {
    const { app, file } = await newWorkspace(backend);
    for (const line of ["one", "two"]) unwrap(await app.knowledge(agent("engineer")).appendLog("decisions", line));
    appendFileSync(file("decisions.md"), "- added by hand, which is fine\n");
    expect(unwrap(await doctor.perform(app, {}, person())).healthy).toBe(true);
    writeFileSync(file("decisions.md"), read(file("decisions.md")).replace("one", "ONE"));
    const report = unwrap(await doctor.perform(app, {}, person()));
    expect(report.healthy).toBe(false);
    expect(report.findings.find((f) => f.check === "logs")?.message).toContain(
      `${gitPerson.name} rewrote earlier lines in version`,
    );
    unwrap(await app.knowledge(agent("engineer")).appendLog("decisions", "three"));
    expect((await app.entries.fetch("decisions")).content).toMatch(/ONE[\s\S]*two[\s\S]*by hand[\s\S]*three/);
  });

  test("an edit that lands between our look and our write wins, and is never overwritten", async () => {
    const { app, file } = await newWorkspace(backend);
    for (let round = 0; round < 30; round++) {
      const { version } = await app.entries.fetch("notes");
      const text = `round ${round} by hand\n`;
      const committing = app.knowledge(agent("planner")).commitEntry("notes", `round ${round} by agent`, version);
      await sleep(Math.random() * 4);
      writeFileSync(file("notes.md"), text);
      await committing;
      const seen = [];
      const latest = await app.entries.fetch("notes");
      for (let v = version + 1; v <= latest.version; v++) seen.push(await app.entries.contentAt("notes", v));
      expect(seen).toContain(text);
    }
  });

  test("T13: what a link, a folder or a pipe stands for is never read as an entry", async () => {
    const { app, file, root } = await newWorkspace(backend);
    const secret = join(temporaryFolder(), "secret.md");
    writeFileSync(secret, "a secret of this machine\n");
    for (const name of ["notes.md", "design.md", "glossary.md"]) rmSync(file(name));
    symlinkSync(secret, file("notes.md"));
    mkdirSync(file("design.md"));
    execFileSync("mkfifo", [file("glossary.md")]);
    rmSync(join(root, "wiki/api"), { recursive: true });
    symlinkSync(dirname(secret), join(root, "wiki/api"));
    writeFileSync(join(dirname(secret), "errors.md"), "a secret of this machine\n");
    for (const id of ["notes", "design", "glossary", "api/errors"])
      expect((await app.entries.fetch(id)).content, id).toBe("");
    const found = await operations.search_entries.perform(app, { query: "secret machine" }, agent("planner"));
    expect(JSON.stringify(found)).not.toContain("of this machine");
    expect((await app.entries.list()).length).toBeGreaterThan(4);
  });

  test("T13: a link that leads out of the workspace is not written through", async () => {
    const { app, file, root } = await newWorkspace(backend);
    const { version } = await app.entries.fetch("notes");
    rmSync(file("notes.md"));
    writeFileSync(`${root}-outside`, "outside");
    symlinkSync(`${root}-outside`, file("notes.md"));
    await expect(app.knowledge(agent("planner")).commitEntry("notes", "x", version + 1)).rejects.toThrow(
      "through a symbolic link out of the workspace",
    );
    expect(read(`${root}-outside`)).toBe("outside");
    rmSync(`${root}-outside`);
  });

  test("T13: a folder that is a link out of the workspace is not written through", async () => {
    const { app, root } = await newWorkspace(backend);
    const { version } = await app.entries.fetch("api/errors");
    mkdirSync(`${root}-away`);
    rmSync(`${root}/wiki/api`, { recursive: true });
    symlinkSync(`${root}-away`, `${root}/wiki/api`);
    await expect(app.knowledge(agent("engineer")).commitEntry("api/errors", "x", version + 1)).rejects.toThrow(
      "through a symbolic link out of the workspace",
    );
    expect(readdirSync(`${root}-away`)).toEqual([]);
    rmSync(`${root}-away`, { recursive: true });
  });
});

test(
  "T13: a folder of entries that becomes a link out, 100,000 times, while one is written, leads nowhere",
  long,
  async () => {
    const { app, root } = await newWorkspace();
    const outside = temporaryFolder();
    const swap = await swapping(join(root, "wiki/api"), outside, 100_000);
    const write = async (text: string) => {
      const { version } = await app.entries.fetch("api/errors");
      return app.entries.commit("api/errors", text, version, { name: "engineer", role: "engineer" });
    };
    for (let n = 0; !swap.isOver(); n++) {
      // What is there can be gone, or a link, at the next look: whatever is said then, nothing is written elsewhere.
      await write(`${n}\n`).catch(() => undefined);
      await immediate();
    }
    await swap.ended;
    expect(readdirSync(outside)).toEqual([]);
    expect(await write("after all\n")).toMatchObject({ ok: true });
  },
);

describe.each(fileBackends)("K13: while serving ($engine)", (backend) => {
  test("an edit, a rename-save, a deletion and another branch are noticed within a second", async () => {
    const workspace = await newWorkspace(backend);
    const { app, file, git } = workspace;
    await commit(app, "vision", "on main\n");
    await app.recorder.drain(5000);
    git("checkout", "-q", "-b", "other");
    writeFileSync(file("vision.md"), "---\ntitle: Vision\n---\n\non the other branch\n");
    git("-c", "user.name=Grace Hopper", "commit", "-qam", "Change it here");
    git("checkout", "-q", "main");

    const watching = await watchEntries(app);
    try {
      writeFileSync(file("notes.md"), "typed\n");
      await eventually(workspace, "notes", (entry) => entry.content === "typed\n");
      writeFileSync(file("x.tmp"), "moved in\n");
      renameSync(file("x.tmp"), file("notes.md"));
      await eventually(workspace, "notes", (entry) => entry.content === "moved in\n");
      rmSync(file("notes.md"));
      await eventually(workspace, "notes", (entry) => entry.content === "");
      git("checkout", "-q", "other");
      await eventually(workspace, "vision", (entry) => entry.content === "on the other branch\n");
      expect((await app.entries.history("vision"))[0]?.author).toBe("Grace Hopper");
    } finally {
      await watching.stop();
    }
  });
});

/** Asks the index alone, as a serving process does: somebody else must have noticed. */
async function eventually(workspace: TestWorkspace, id: string, wanted: (entry: { content: string }) => boolean) {
  const { app } = workspace;
  const before = Date.now();
  for (;;) {
    const row = await app.db.read
      .selectFrom("entry_versions")
      .select("version")
      .where("entry_id", "=", id)
      .orderBy("version", "desc")
      .executeTakeFirst();
    const content = row && (await app.entries.contentAt(id, row.version));
    if (content !== undefined && wanted({ content })) return;
    if (Date.now() - before > 5000) throw new Error(`${id} was not noticed; the index has ${JSON.stringify(content)}`);
    await sleep(50);
  }
}

async function commit(app: TestWorkspace["app"], id: string, text: string): Promise<void> {
  unwrap(await app.knowledge(agent("planner")).commitEntry(id, text, (await app.entries.fetch(id)).version));
}
