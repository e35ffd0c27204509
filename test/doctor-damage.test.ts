import { execFileSync } from "node:child_process";
import { appendFileSync, chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { historyRef } from "../src/store/git/history-ref.ts";
import { mirrorBranch } from "../src/wiki/stores/mirror.ts";
import { agent, backends, person, type TestWorkspace, testEnvironment } from "./support/workspace.ts";
import { commit, diagnosed, troubles, writtenBook } from "./support/written-book.ts";

type Damage = {
  what: string;
  plant(book: TestWorkspace): unknown;
  /** The kind of the finding, and what its message must name. */
  kind: string;
  names?: RegExp;
  /** The only store that it can happen to. */
  store?: "files" | "database";
};

const statement = (text: string) => (book: TestWorkspace) => book.app.db.write((tx) => sql.raw(text).execute(tx));

/** Adds a commit by hand, as another program could. */
function commitByHand({ root }: TestWorkspace, ref: string, message: string, path: string, text: string): void {
  const stream = [
    `commit ${ref}\ncommitter Mallory <m@example.org> 1700000000 +0000\n`,
    `data ${Buffer.byteLength(message)}\n${message}\nfrom ${ref}^0\n`,
    `M 100644 inline ${path}\ndata ${Buffer.byteLength(text)}\n${text}\n\n`,
  ];
  execFileSync("git", ["-C", root, "fast-import", "--quiet", "--force"], {
    input: stream.join(""),
    env: testEnvironment(),
  });
}

/** The loose object with this name, writable. */
function objectFile({ root }: TestWorkspace, name: string): string {
  const file = join(root, ".git/objects", name.slice(0, 2), name.slice(2));
  chmodSync(file, 0o644);
  return file;
}

const blobOfVersion = async ({ app }: TestWorkspace, id: string, version: number) => {
  const rows = app.db.read.selectFrom("entry_versions").select("blob").where("entry_id", "=", id);
  return (await rows.where("version", "=", version).executeTakeFirstOrThrow()).blob;
};

async function openTopic({ app }: TestWorkspace): Promise<string> {
  const input = { source_path: "wiki/vision.md", kind: "change", content: "Say why.", quote: "third" } as const;
  return unwrap(await operations.open_topic.perform(app, input, person())).id;
}

async function openProposal(book: TestWorkspace): Promise<string> {
  const topic = await openTopic(book);
  const { text, blob } = unwrap(await book.app.pages.read("wiki/vision.md"));
  const input = { topic_id: topic, base_sha: blob, content: `${text}\nBecause.\n` };
  return unwrap(await operations.insert_proposal.perform(book.app, input, person())).id;
}

const addSource = ({ app }: TestWorkspace) =>
  app.sources.add("owls.txt", Buffer.from("Owls are quiet.\n"), { name: "Ada Lovelace" });

const damages: Damage[] = [
  {
    what: "the history ref deleted",
    plant: ({ git }) => git("update-ref", "-d", historyRef),
    kind: "history-ref-deleted",
    names: /refs\/scriptorium\/history was deleted; it was at \w{12}/,
    store: "files",
  },
  {
    what: "the history ref deleted and its objects pruned",
    plant: ({ git }) => {
      git("update-ref", "-d", historyRef);
      git("reflog", "expire", "--expire=now", "--all");
      git("gc", "--quiet", "--prune=now");
    },
    kind: "text-lost",
    names: /its text is lost; git has no object \w{12}/,
    store: "files",
  },
  {
    what: "the history ref reset",
    plant: ({ git }) => git("update-ref", historyRef, `${historyRef}~2`),
    kind: "history-ref-reset",
    store: "files",
  },
  {
    what: "the history ref pointed at the person's branch",
    plant: ({ git }) => git("update-ref", historyRef, "HEAD"),
    kind: "history-ref-replaced",
    store: "files",
  },
  {
    what: "the author of a recorded version rewritten in git",
    plant: ({ git }) => {
      const message = git("log", "-1", "--format=%B", historyRef);
      const tree = `${historyRef}^{tree}`;
      git("update-ref", historyRef, git("commit-tree", tree, "-p", `${historyRef}~1`, "-m", message));
    },
    kind: "version-differs",
    names: /vision, version \d .* differ in author \(planner or Ada Lovelace\)/,
    store: "files",
  },
  {
    what: "the text of a recorded version rewritten in git",
    plant: (book) => {
      const message = book.git("log", "-1", "--format=%B", historyRef);
      book.git("update-ref", historyRef, `${historyRef}~1`);
      commitByHand(book, historyRef, message, "wiki/vision.md", "Another text.\n");
    },
    kind: "version-differs",
    names: /differ in text/,
    store: "files",
  },
  {
    what: "a version number used twice in git",
    plant: (book) => {
      const message = "Commit vision (version 2)\n\nEntry: vision\nVersion: 2\nRole: planner\n";
      commitByHand(book, historyRef, message, "wiki/vision.md", "A second one.\n");
    },
    kind: "history-duplicate-version",
    names: /vision, version 2 .*git has it twice/,
    store: "files",
  },
  {
    what: "a version added in git alone",
    plant: (book) => {
      const message = "Commit vision (version 99)\n\nEntry: vision\nVersion: 99\nRole: planner\n";
      commitByHand(book, historyRef, message, "wiki/vision.md", "Smuggled.\n");
    },
    kind: "version-not-in-index",
    names: /vision, version 99/,
    store: "files",
  },
  {
    what: "the text of a version lost",
    plant: async (book) => rmSync(objectFile(book, await blobOfVersion(book, "vision", 2))),
    kind: "text-lost",
    names: /vision, version 2 /,
    store: "files",
  },
  {
    what: "the object of a text damaged",
    plant: async (book) => {
      const [damaged, other] = [await blobOfVersion(book, "vision", 2), await blobOfVersion(book, "vision", 3)];
      writeFileSync(objectFile(book, damaged), execFileSync("cat", [objectFile(book, other)]));
    },
    kind: "text-damaged",
    names: /vision, version 2 .*has another content/,
    store: "files",
  },
  {
    what: "the object of a text cut off",
    plant: async (book) => {
      const file = objectFile(book, await blobOfVersion(book, "vision", 2));
      writeFileSync(file, execFileSync("head", ["-c", "9", file]));
    },
    kind: "text-(damaged|lost)",
    names: /vision, version 2 /,
    store: "files",
  },
  {
    what: "a commit of the history lost",
    plant: (book) => rmSync(objectFile(book, book.git("rev-parse", `${historyRef}~2`))),
    kind: "history-unreadable",
    store: "files",
  },
  {
    what: ".git removed",
    plant: ({ root }) => rmSync(join(root, ".git"), { recursive: true }),
    kind: "repository-missing",
    store: "files",
  },
  {
    what: "a version row deleted",
    plant: statement("DELETE FROM entry_versions WHERE entry_id = 'vision' AND version = 2"),
    kind: "event-without-version",
    names: /vision, version 2 .*the event log has it, but the index does not/,
  },
  {
    what: "the author of a version changed",
    plant: statement("UPDATE entry_versions SET author = 'mallory' WHERE entry_id = 'vision' AND version = 2"),
    kind: "event-differs",
    names: /vision, version 2 .*author \(mallory or planner\)/,
  },
  {
    what: "the text of a version changed in the database",
    plant: statement("UPDATE entry_versions SET content = 'Forged.' WHERE entry_id = 'vision' AND version = 2"),
    kind: "text-damaged",
    names: /vision, version 2 .*does not match its hash/,
    store: "database",
  },
  {
    what: "a line of a log changed in the database",
    plant: statement(
      "UPDATE entry_versions SET content = replace(content, 'two', 'TWO') WHERE entry_id = 'decisions' AND content LIKE '%two%'",
    ),
    kind: "text-damaged",
    names: /decisions, version 2 /,
    store: "database",
  },
  {
    what: "a line of a log changed in the database, with its hash",
    plant: async ({ app }) => {
      const blob = "0123456789".repeat(4);
      await app.db.write((tx) =>
        tx
          .updateTable("entry_versions")
          .set({ blob })
          .where("entry_id", "=", "decisions")
          .where("version", "=", 2)
          .execute(),
      );
    },
    kind: "event-differs",
    names: /decisions, version 2 .*differ in text/,
  },
  {
    what: "the version in the index changed",
    plant: statement("UPDATE entries SET version = 9 WHERE id = 'vision'"),
    kind: "index-differs",
    names: /vision.*version \(9\)/,
  },
  {
    what: "the author in the index changed",
    plant: statement("UPDATE entries SET last_author = 'mallory' WHERE id = 'vision'"),
    kind: "index-differs",
    names: /author \(mallory\)/,
  },
  {
    what: "the word count in the index changed",
    plant: statement("UPDATE entries SET words = 999 WHERE id = 'vision'"),
    kind: "index-differs",
    names: /word count \(999 instead of 5\)/,
  },
  {
    what: "the links in the index changed",
    plant: statement(`UPDATE entries SET links = '["entry:glossary"]' WHERE id = 'vision'`),
    kind: "index-differs",
    names: /list of links/,
  },
  {
    what: "the table of links changed",
    plant: statement("DELETE FROM entry_links WHERE entry_id = 'vision'"),
    kind: "index-differs",
    names: /list of links/,
  },
  {
    what: "the title in the index changed",
    plant: statement("UPDATE entries SET title = 'Forged' WHERE id = 'vision'"),
    kind: "index-differs",
    names: /title \(Forged\)/,
  },
  {
    what: "an index row deleted",
    plant: statement("DELETE FROM entries WHERE id = 'decisions'"),
    kind: "index-missing",
  },
  {
    what: "an event deleted",
    plant: statement("DELETE FROM events WHERE subject = 'entry:vision' AND data LIKE '%\"version\":2,%'"),
    kind: "event-missing",
    names: /vision, version 2 .*it has no event/,
    store: "database",
  },
  {
    what: "an event changed",
    plant: statement(
      "UPDATE events SET actor = 'mallory' WHERE subject = 'entry:decisions' AND kind = 'entry-appended'",
    ),
    kind: "event-differs",
    names: /decisions, version \d .*author \(engineer or mallory\); 2 later versions/,
  },
  {
    what: "an event inserted",
    plant: statement(
      "INSERT INTO events (at, actor, kind, subject, data) SELECT at, actor, kind, subject, data FROM events WHERE subject = 'entry:design' AND kind = 'entry-committed'",
    ),
    kind: "event-duplicate",
    names: /design/,
  },
  {
    what: "an event deleted, whatever it is about",
    plant: async (book) => {
      await diagnosed(book.app);
      await statement("DELETE FROM events WHERE subject = 'entry:design' AND kind = 'entry-committed'")(book);
    },
    kind: "chain-event-missing",
    names: /event \d+ was deleted; the last intact event is \d+, of 2/,
  },
  {
    what: "an event changed, whatever it is about",
    plant: async (book) => {
      await diagnosed(book.app);
      await statement("UPDATE events SET data = replace(data, 'r-2', 'r-9') WHERE subject = 'entry:design'")(book);
    },
    kind: "chain-hash-differs",
  },
  {
    what: "two events exchanged",
    plant: async (book) => {
      await diagnosed(book.app);
      const [first, second] = await book.app.db.read
        .selectFrom("event_chain")
        .selectAll()
        .orderBy("position", "desc")
        .limit(2)
        .execute();
      const move = (from: number, to: number) =>
        statement(`UPDATE event_chain SET seq = ${to} WHERE seq = ${from}`)(book);
      await move(first?.seq ?? 0, 999_999);
      await move(second?.seq ?? 0, first?.seq ?? 0);
      await move(999_999, second?.seq ?? 0);
    },
    kind: "chain-hash-differs",
  },
  {
    what: "an event inserted between others",
    plant: async (book) => {
      await diagnosed(book.app);
      const override = book.app.db.engine === "postgres" ? "OVERRIDING SYSTEM VALUE" : "";
      const values = "(-5, '2026-01-01T00:00:00.000Z', 'mallory', 'page-edited', 'page:x', '{}')";
      const columns = "(seq, at, actor, kind, subject, data)";
      await statement(`INSERT INTO events ${columns} ${override} VALUES ${values}`)(book);
    },
    kind: "chain-event-inserted",
    names: /page-edited of page:x/,
  },
  {
    what: "the end of the event log cut off",
    plant: async (book) => {
      await statement("DELETE FROM event_chain WHERE position > 3")(book);
      await statement("DELETE FROM events WHERE seq NOT IN (SELECT seq FROM event_chain)")(book);
    },
    kind: "chain-head-(missing|differs)",
    names: /git recorded/,
  },
  {
    what: "the event log rewritten with all its hashes",
    plant: async (book) => {
      await statement("UPDATE events SET actor = 'mallory' WHERE subject = 'entry:design'")(book);
      await statement("DELETE FROM event_chain")(book);
    },
    kind: "chain-head-differs",
    names: /another one than git recorded/,
  },
  {
    what: "conflict markers in an entry",
    plant: ({ file }) => appendFileSync(file("vision.md"), "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\n"),
    kind: "conflict-markers",
    names: /wiki\/vision\.md:\d+: /,
    store: "files",
  },
  {
    what: "bytes that are not UTF-8",
    plant: ({ file }) => appendFileSync(file("vision.md"), Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x0a])),
    kind: "file-not-utf8",
    names: /wiki\/vision\.md:\d+: not valid UTF-8/,
    store: "files",
  },
  {
    what: "an entry replaced by a symbolic link",
    plant: ({ file }) => {
      rmSync(file("vision.md"));
      symlinkSync("design.md", file("vision.md"));
    },
    kind: "file-replaced",
    names: /wiki\/vision\.md is a symbolic link/,
    store: "files",
  },
  {
    what: "an entry replaced by a folder",
    plant: ({ file }) => {
      rmSync(file("vision.md"));
      mkdirSync(file("vision.md"));
    },
    kind: "file-replaced",
    names: /wiki\/vision\.md is a folder/,
    store: "files",
  },
  {
    what: "an entry deleted",
    plant: ({ file }) => rmSync(file("vision.md")),
    kind: "file-missing",
    names: /wiki\/vision\.md was deleted/,
    store: "files",
  },
  {
    what: "schema.yaml broken",
    plant: ({ file }) => writeFileSync(file("wiki/schema.yaml"), "schema:\n  sections: [\n"),
    kind: "schema-not-in-force",
  },
  {
    what: "a row of the git queue lost",
    plant: async (book) => {
      await commit(book.app, "vision", "Written, not recorded.\n");
      await book.app.db.write((tx) => tx.deleteFrom("git_queue").execute());
    },
    kind: "version-not-in-history",
    names: /vision, version \d .*it is not in git/,
    store: "files",
  },
  {
    what: "a topic about a missing page",
    plant: async (book) => {
      await openTopic(book);
      await statement("UPDATE topics SET path = 'docs/gone.md'")(book);
    },
    kind: "topic-page-missing",
    names: /docs\/gone\.md/,
  },
  {
    what: "the text of a topic's anchor lost",
    plant: async (book) => {
      await openTopic(book);
      await statement("DELETE FROM page_texts")(book);
    },
    kind: "topic-text-lost",
  },
  {
    what: "a proposal for a missing page",
    plant: async (book) => {
      await openProposal(book);
      await statement("UPDATE proposals SET subject = 'docs/gone.md'")(book);
    },
    kind: "proposal-page-missing",
    names: /docs\/gone\.md/,
  },
  {
    what: "a proposal that names another text",
    plant: async (book) => {
      await openProposal(book);
      await statement("UPDATE proposals SET base_text = 'Another.'")(book);
    },
    kind: "proposal-differs",
  },
  {
    what: "a proposal approved in the database",
    plant: async (book) => {
      await openProposal(book);
      await statement(
        "UPDATE proposals SET status = 'approved', decided_by = 'mallory', decided_at = '2026-01-01T00:00:00.000Z'",
      )(book);
    },
    kind: "decision-without-event",
    names: /approved by mallory/,
  },
  {
    what: "a task that does not match its events",
    plant: async (book) => {
      unwrap(await operations.create_todo.perform(book.app, { title: "Read", description: "All." }, person()));
      await statement("UPDATE tasks SET title = 'Forged'")(book);
    },
    kind: "tasks",
    names: /task-/,
  },
  {
    what: "a handoff without its event",
    plant: async (book) => {
      const input = { target: "architect", summary: "Done." };
      unwrap(await operations.transfer_focus.perform(book.app, input, agent("planner", "r-9")));
      await statement("DELETE FROM events WHERE kind = 'handoff-made' AND subject = 'run:r-9'")(book);
    },
    kind: "handoff-without-event",
    names: /step 1 of run r-9/,
  },
  {
    what: "a source changed",
    plant: async (book) => {
      unwrap(await addSource(book));
      chmodSync(join(book.root, "sources/owls.txt"), 0o644);
      writeFileSync(join(book.root, "sources/owls.txt"), "Owls are loud.\n");
    },
    kind: "source-changed",
    names: /owls\.txt/,
  },
  {
    what: "a source without its event",
    plant: async (book) => {
      unwrap(await addSource(book));
      await statement("DELETE FROM events WHERE kind = 'source-added'")(book);
    },
    kind: "source-without-event",
    names: /owls\.txt/,
  },
  {
    what: "the mirror branch reset",
    plant: ({ git }) => git("branch", "-f", mirrorBranch, `${mirrorBranch}~2`),
    kind: "mirror-moved",
    store: "database",
  },
  {
    what: "a commit of the mirror branch rewritten",
    plant: (book) => {
      const message = book.git("log", "-1", "--format=%B", mirrorBranch);
      book.git("branch", "-f", mirrorBranch, `${mirrorBranch}~1`);
      commitByHand(book, `refs/heads/${mirrorBranch}`, message, "wiki/vision.md", "Another text.\n");
    },
    kind: "mirror-differs",
    names: /vision, version \d/,
    store: "database",
  },
];

describe.each(backends)("N5: doctor finds planted damage ($store, $engine)", (backend) => {
  const possible = damages.filter(({ store = backend.store }) => store === backend.store);
  test.each(possible)("$what", async ({ plant, kind, names }) => {
    const book = await writtenBook(backend);
    await plant(book);
    const report = await diagnosed(await book.open());
    const found = troubles(report).filter((one) => new RegExp(`^${kind}$`).test(one.kind));
    expect(found, JSON.stringify(troubles(report), null, 1)).not.toEqual([]);
    const named = found.find(({ message }) => names?.test(message) ?? true);
    expect(named, found.map(({ message }) => message).join("\n")).toBeDefined();
    if (kind !== "schema-invalid") expect(named?.fix).toBeTruthy();
    const { check } = found[0] ?? {};
    expect(report.findings.filter((one) => one.check === check && one.state === "ok")).toEqual([]);
  });
});
