import { appendFileSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openApp } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { historyRef } from "../src/store/git/history-ref.ts";
import { scribeProcess, scriptoriumProcess } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, writes } from "./support/crew.ts";
import {
  agent,
  backends,
  engines,
  gitIn,
  newWorkspace,
  person,
  read,
  type TestWorkspace,
  temporaryFolder,
  testEnvironment,
} from "./support/workspace.ts";
import { append, commit, diagnosed, troubles, writtenBook } from "./support/written-book.ts";

/** What a person or an agent may well do. Doctor must find nothing in it. */
type History = {
  what: string;
  live(book: TestWorkspace): unknown;
  /** What doctor says about it, without making a problem of it. */
  says?: RegExp;
};

const schemaWith = (change: (schema: string) => string) => (book: TestWorkspace) =>
  writeFileSync(book.file("wiki/schema.yaml"), change(read(book.file("wiki/schema.yaml"))));
const asLog = schemaWith((schema) =>
  schema.replace(
    "id: notes\n      title: Notes\n      mode: snapshot",
    "id: notes\n      title: Notes\n      mode: log",
  ),
);
const asSnapshot = schemaWith((schema) =>
  schema.replace(
    "id: notes\n      title: Notes\n      mode: log",
    "id: notes\n      title: Notes\n      mode: snapshot",
  ),
);

const looked = async ({ app }: TestWorkspace) => void (await app.entries.list());
const byHand = (book: TestWorkspace, entry: string, text: string) =>
  writeFileSync(book.file(`${entry}.md`), `---\ntitle: ${entry}\n---\n\n${text}`);

const renamed = async ({ app }: TestWorkspace, id: string, new_id: string) =>
  unwrap(await operations.rename_section.perform(app, { id, new_id }, person()));

async function branchesWithLogs(book: TestWorkspace): Promise<void> {
  const { app, git } = book;
  git("commit", "-qam", "My edits");
  git("switch", "-qc", "other");
  await append(app, "on the other branch");
  await app.recorder.drain(5000);
  git("switch", "-q", "main");
  await looked(book);
}

const histories: History[] = [
  {
    what: "a branch switched",
    live: branchesWithLogs,
    says: /decisions has another text since version \d+: the branch changed from other to main/,
  },
  {
    what: "a branch switched and back, twice",
    async live(book) {
      await branchesWithLogs(book);
      for (const branch of ["other", "main", "other"]) {
        book.git("switch", "-q", branch);
        await looked(book);
      }
      await append(book.app, "and on");
    },
  },
  {
    what: "a section changed from snapshot to log and back",
    async live(book) {
      byHand(book, "notes", "first\nsecond\n");
      await looked(book);
      byHand(book, "notes", "other\nsecond\n");
      await looked(book);
      asLog(book);
      await append(book.app, "as a log", "notes");
      asSnapshot(book);
      await commit(book.app, "notes", "All new.\n");
      asLog(book);
      await append(book.app, "again", "notes");
    },
  },
  {
    what: "a section removed and added again",
    async live(book) {
      const schema = read(book.file("wiki/schema.yaml"));
      schemaWith((text) => text.replace(/ {4}- id: glossary[\s\S]*?(?= {4}- id: decisions)/, ""))(book);
      rmSync(book.file("glossary.md"), { force: true });
      await looked(book);
      await diagnosed(book.app);
      writeFileSync(book.file("wiki/schema.yaml"), schema);
      byHand(book, "glossary", "Back.\n");
    },
  },
  {
    what: "a section added for an existing file",
    async live(book) {
      byHand(book, "plans", "Already here.\n");
      await looked(book);
      const section =
        "    - { id: plans, title: Plans, mode: snapshot, writable_by: [planner], description: Plans. }\n";
      schemaWith((text) => text.replace("    - id: decisions\n", `${section}    - id: decisions\n`))(book);
      await commit(book.app, "plans", "Written on.\n");
    },
  },
  {
    what: "schema.yaml changed by hand, broken and valid again",
    async live(book) {
      const schema = read(book.file("wiki/schema.yaml"));
      schemaWith((text) => text.replace("title: Notes", "title: My notes"))(book);
      await looked(book);
      writeFileSync(book.file("wiki/schema.yaml"), "wiki: [");
      await looked(book);
      writeFileSync(book.file("wiki/schema.yaml"), schema);
      await looked(book);
      book.git("commit", "-qam", "My schema");
      await commit(book.app, "notes", "After it.\n");
    },
  },
  {
    what: "a section renamed, there and back, and its old id used again",
    async live(book) {
      await renamed(book, "design", "architecture");
      await commit(book.app, "architecture", "Under the new name.\n", "architect");
      await diagnosed(book.app);
      await renamed(book, "architecture", "design");
      await renamed(book, "vision", "aim");
      await commit(book.app, "aim", "The aim, after [[design]].\n");
      const section =
        "    - { id: vision, title: Vision, mode: snapshot, writable_by: [planner], description: Again. }\n";
      schemaWith((text) => text.replace("    - id: decisions\n", `${section}    - id: decisions\n`))(book);
      await commit(book.app, "vision", "Another vision.\n");
      await renamed(book, "decisions", "log/decisions");
      await append(book.app, "under the new name", "log/decisions");
    },
  },
  {
    what: "a section renamed, and the index rebuilt",
    async live(book) {
      await renamed(book, "vision", "aim");
      await book.app.recorder.drain(5000);
      await book.app.rebuild();
      await commit(book.app, "aim", "After it.\n");
    },
  },
  {
    what: "renames by processes that were killed",
    async live(book) {
      const names = ["vision", "aim"];
      for (const point of ["version-committed", "file-moved", "file-renamed", "history-imported", "branch-moved"]) {
        const [from = "", to = ""] = names;
        const env = { SCRIPTORIUM_CRASH_AT: point };
        const killed = await scriptoriumProcess(["section", "rename", from, to], { cwd: book.root, env });
        expect([point, killed.signal, killed.stderr]).toEqual([point, "SIGKILL", expect.anything()]);
        const app = await book.open();
        const { sections } = unwrap(await app.schema());
        expect(sections.map(({ id }) => id)).toContain(to);
        expect((await app.entries.fetch(to)).content).toContain("A book for");
        expect(existsSync(book.file(`${from}.md`))).toBe(false);
        names.reverse();
      }
    },
  },
  {
    what: "a person's edits and commits",
    async live(book) {
      byHand(book, "design", "By hand.\n");
      await looked(book);
      book.git("commit", "-qam", "Design by hand");
      byHand(book, "design", "By hand, and committed before anybody looked.\n");
      book.git("commit", "-qam", "Design again");
      await commit(book.app, "design", "By an agent.\n", "architect");
    },
  },
  {
    what: "a person's lines at the end of a log",
    live: (book) => writeFileSync(book.file("decisions.md"), `${read(book.file("decisions.md"))}- By hand.\n`),
  },
  {
    what: "an amended commit",
    async live(book) {
      byHand(book, "design", "One.\n");
      book.git("commit", "-qam", "One");
      await looked(book);
      byHand(book, "design", "Two.\n");
      book.git("commit", "-qa", "--amend", "-m", "Two");
      await looked(book);
    },
  },
  {
    what: "a rebase of the person's branch",
    async live(book) {
      const { git } = book;
      git("commit", "-qam", "My edits");
      git("switch", "-qc", "topic");
      byHand(book, "design", "On the topic.\n");
      git("commit", "-qam", "Topic");
      await looked(book);
      git("switch", "-q", "main");
      await append(book.app, "meanwhile");
      await book.app.recorder.drain(5000);
      git("switch", "-q", "topic");
      await looked(book);
      git("rebase", "-q", "main");
      await looked(book);
    },
  },
  {
    what: "a merge of two branches that both added to a log",
    async live(book) {
      await branchesWithLogs(book);
      const { app, git, file } = book;
      await append(app, "on main");
      await app.recorder.drain(5000);
      const ours = read(file("decisions.md"));
      execMerge(git);
      const theirs = git("show", "other:wiki/decisions.md")
        .split("\n")
        .filter((line) => !ours.includes(line));
      const lines = ours.trimEnd().split("\n");
      lines.splice(-1, 0, ...theirs);
      writeFileSync(file("decisions.md"), `${lines.join("\n")}\n`);
      git("commit", "-qam", "Merge other");
      await looked(book);
    },
  },
  {
    what: "a revert of an agent's writes",
    async live({ app }) {
      unwrap(await operations.revert_run.perform(app, { run: "r-1" } as never, person()));
    },
  },
  {
    what: "an approval",
    async live({ app }) {
      const input = { source_path: "wiki/vision.md", content: "Why?", quote: "third" };
      const topic = unwrap(await operations.open_topic.perform(app, input, person())).id;
      const { text, blob } = unwrap(await app.pages.read("wiki/vision.md"));
      const proposal = { topic_id: topic, base_sha: blob, content: `${text}\nBecause.\n` };
      const { id } = unwrap(await operations.insert_proposal.perform(app, proposal, person()));
      unwrap(await operations.approve_proposal.perform(app, { id }, person()));
    },
  },
  {
    what: "a linked worktree of the repository",
    async live({ git, root }) {
      const folder = join(temporaryFolder(), "linked");
      git("worktree", "add", "-q", folder, "-b", "linked");
      writeFileSync(join(folder, "elsewhere.md"), "Elsewhere.\n");
      gitIn(folder)("add", "-A");
      gitIn(folder)("commit", "-qm", "Elsewhere");
      expect(root).not.toBe(folder);
    },
  },
  {
    what: "line ends of Windows",
    async live(book) {
      book.git("config", "core.autocrlf", "true");
      writeFileSync(book.file("design.md"), "---\r\ntitle: Design\r\n---\r\n\r\nOne\r\ntwo\r\n");
      await looked(book);
      await commit(book.app, "design", "One\nthree\n", "architect");
    },
  },
  {
    what: "a stash",
    async live(book) {
      book.git("commit", "-qam", "My edits");
      writeFileSync(book.file("decisions.md"), `${read(book.file("decisions.md"))}- By hand.\n`);
      await looked(book);
      book.git("stash", "-q");
      await looked(book);
      book.git("stash", "pop", "-q");
      await looked(book);
    },
    says: /decisions has another text since version \d+: git reset/,
  },
  {
    what: "a garbage collection",
    live({ git }) {
      git("reflog", "expire", "--expire=now", "--all");
      git("gc", "--quiet", "--prune=now");
    },
  },
  {
    what: "an entry emptied by a person",
    live: (book) => writeFileSync(book.file("design.md"), ""),
  },
  {
    what: "a discarded edit of a log",
    async live(book) {
      book.git("commit", "-qam", "My edits");
      writeFileSync(book.file("decisions.md"), "Rubbish.\n- A line.\n");
      book.git("checkout", "-q", "--", "wiki/decisions.md");
      await looked(book);
    },
  },
  {
    what: "hand-offs along the pipeline",
    async live({ app }) {
      for (const [from, to] of [
        ["planner", "architect"],
        ["architect", "engineer"],
      ] as const)
        unwrap(await operations.transfer_focus.perform(app, { target: to, summary: "Done." }, agent(from, "r-7")));
    },
  },
  {
    what: "a source",
    live: async ({ app }) =>
      unwrap(await app.sources.add("owls.txt", Buffer.from("Owls.\n"), { name: "Ada Lovelace" })),
  },
  {
    what: "a title changed in the frontmatter",
    live: (book) => writeFileSync(book.file("design.md"), "---\ntitle: How it is made\n---\n\nHow it is built.\n"),
  },
  {
    what: "an index rebuilt",
    async live({ app }) {
      await app.rebuild();
      await append(app, "after it");
    },
  },
  {
    what: "a run of the crew",
    async live({ file, git, open }) {
      appendFileSync(file("scriptorium.yaml"), "crew: {sandbox: none}\n");
      git("commit", "-qam", "Run without a sandbox");
      const app = await open();
      const run = await newRun(app, [planned("0"), planned("1.1")]);
      const agents = playing({ worker: writes((number) => `made ${number}\n`), qc: passes });
      expect(await executed(app, run, agents)).toMatchObject({ state: "completed" });
    },
  },
  {
    what: "a commit, an append and an edit by processes that were killed",
    async live({ root }) {
      for (const point of ["file-renamed", "version-committed", "history-imported", "history-moved", "branch-moved"]) {
        const args = ["append-log", "--role", "engineer", "--id", "decisions", "--line", `killed at ${point}`];
        await scribeProcess(args, { cwd: root, env: { SCRIPTORIUM_CRASH_AT: point } });
      }
    },
  },
  {
    what: "an import of many versions",
    async live({ app }) {
      for (let line = 0; line < 40; line++) await append(app, `line ${line}`);
    },
  },
];

function execMerge(git: TestWorkspace["git"]): void {
  try {
    git("merge", "-q", "other");
  } catch {
    // The logs conflict; the person resolves it.
  }
}

describe("N6: doctor finds nothing in a legitimate history", () => {
  test.each(histories)("$what", async ({ live, says }) => {
    const book = await writtenBook();
    await live(book);
    const app = await book.open();
    await app.recorder.drain(5000);
    const report = await diagnosed(app);
    expect(troubles(report)).toEqual([]);
    if (says) expect(report.findings.map(({ message }) => message).join("\n")).toMatch(says);
    expect(troubles(await diagnosed(app))).toEqual([]);
  });
});

describe.each(backends)("N6: doctor finds nothing ($store, $engine)", (backend) => {
  test("in a book that agents and a person have written", async () => {
    const { app } = await writtenBook(backend);
    expect(troubles(await diagnosed(app))).toEqual([]);
  });

  test("in a book whose sections were renamed", async () => {
    const book = await writtenBook(backend);
    await renamed(book, "vision", "aim");
    await append(book.app, "before the rename");
    await renamed(book, "decisions", "log/decisions");
    await append(book.app, "after it", "log/decisions");
    await commit(book.app, "aim", "After it.\n");
    expect(troubles(await diagnosed(book.app))).toEqual([]);
  });

  test("in a fresh workspace", async () => {
    const { app } = await newWorkspace(backend);
    expect(troubles(await diagnosed(app))).toEqual([]);
  });

  test("while another process writes", async () => {
    const book = await writtenBook(backend);
    const [app, other] = [book.app, await book.open()];
    let done = false;
    const writing = (async () => {
      for (let line = 0; line < 30; line++) await append(other, `line ${line}`);
      done = true;
    })();
    while (!done) expect(troubles(await diagnosed(app)).filter(({ state }) => state === "problem")).toEqual([]);
    await writing;
  });
});

describe.each(engines)("N6: doctor finds nothing (%s)", (engine) => {
  test("on PostgreSQL and SQLite alike after a branch switch and a changed mode", async () => {
    const book = await writtenBook({ engine });
    await branchesWithLogs(book);
    asLog(book);
    await append(book.app, "as a log", "notes");
    expect(troubles(await diagnosed(book.app))).toEqual([]);
  });
});

test("N6: doctor finds nothing in a clone whose index was built from the branch or from the fetched history", async () => {
  const book = await writtenBook();
  book.git("commit", "-qam", "My edits");
  for (const fetched of [false, true]) {
    const root = join(temporaryFolder(), "clone");
    book.git("clone", "-q", book.root, root);
    const git = gitIn(root);
    git("config", "user.name", "Ada Lovelace");
    git("config", "user.email", "ada@example.org");
    if (fetched) git("fetch", "-q", "origin", `${historyRef}:${historyRef}`);
    const app = await openApp(unwrap(loadConfig(root, testEnvironment())));
    try {
      await append(app, "in the clone");
      await app.recorder.drain(5000);
      expect(troubles(await diagnosed(app))).toEqual([]);
    } finally {
      await app.close();
    }
  }
});

test("N6: doctor finds nothing after the clock was set back", async () => {
  const book = await writtenBook();
  await append(book.app, "before");
  const row = book.app.db.read.selectFrom("events").select("at").orderBy("seq", "desc").limit(1);
  expect((await row.executeTakeFirst())?.at).toBeDefined();
  expect(troubles(await diagnosed({ ...book.app, now: () => new Date(Date.now() - 3000) }))).toEqual([]);
});
