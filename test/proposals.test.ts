import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type App, openApp } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import { requestRevision } from "../src/jobs/revision-operations.ts";
import type { Caller } from "../src/kernel/caller.ts";
import { ok, refuse, unwrap } from "../src/kernel/result.ts";
import type { Effect } from "../src/review/proposals/approve.ts";
import {
  approveProposal,
  insertProposal,
  listProposals,
  rejectProposal,
  showProposal,
} from "../src/review/proposals/operations.ts";
import { proposalStore } from "../src/review/proposals/proposals.ts";
import { proposePage } from "../src/review/proposals/propose.ts";
import { anchorAt } from "../src/review/topics/anchor.ts";
import { getTopic, openTopic } from "../src/review/topics/operations.ts";
import { blobOf } from "../src/store/git/blob.ts";
import { historyRef } from "../src/store/git/history-ref.ts";
import { scribe, scriptorium, scriptoriumProcess } from "./support/commands.ts";
import { long } from "./support/programs.ts";
import {
  agent,
  allEvents,
  backends,
  engines,
  gitIn,
  newWorkspace,
  person,
  read,
  sampledEngines,
  temporaryFolder,
  testEnvironment,
} from "./support/workspace.ts";

const deploy = "docs/deploy.md";
const text =
  "# Deploy\n\nWe deploy on Fridays.\n\n## Steps\n\n1. Build.\n2. Pray.\n\n## After\n\nGo home and sleep until the pager rings, or until Monday.\n";
const better = text.replace("on Fridays", "on Tuesdays");
const identity = "agent:\n  author_name: Larkspur Scribe\n  author_email: scribe@example.org\n";

const workspace = ({ config = identity, ...options }: Parameters<typeof newWorkspace>[0] = {}) =>
  newWorkspace({ ...options, config, files: { [deploy]: text } });

const topic = (path = deploy, id = "t-1") => ({ id, path, kind: "change", status: "open" });

const propose = async (app: App, wanted = better, base = blobOf(text), about = topic(), by = agent("engineer")) =>
  proposePage(app, about, { baseSha: base, text: wanted }, by);

const approve = (app: App, id: string, more: object = {}) => approveProposal.perform(app, { id, ...more }, person());
const show = async (app: App, id: string) => unwrap(await showProposal.perform(app, { id }, person("reader")));

describe.each(sampledEngines)("R3: proposals for pages, on %s", (engine) => {
  test("R3: each answer to a topic is a revision with its base; the last one waits, the agent is no user", async () => {
    const { app } = await workspace({ engine });
    const first = unwrap(await propose(app));
    const second = unwrap(await propose(app, better.replace("Pray", "Watch")));
    expect(first).toMatchObject({ kind: "page", subject: deploy, revisionNumber: 1, proposedBy: null, status: "open" });
    expect(second).toMatchObject({ revisionNumber: 2, baseSourceSha: blobOf(text), topicId: "t-1" });
    const byPerson = unwrap(await propose(app, `${better}Sleep.\n`, blobOf(text), topic(deploy, "t-2"), person()));
    expect(byPerson).toMatchObject({ revisionNumber: 1, proposedBy: "Ada Lovelace", topicId: "t-2" });

    const { proposals } = unwrap(await listProposals.perform(app, { topic_id: "t-1" }, person("reader")));
    expect(proposals.map((p) => [p.revision_number, p.status])).toEqual([
      [2, "open"],
      [1, "superseded"],
    ]);
    expect(JSON.stringify(proposals)).not.toContain("Fridays");
    expect(await approve(app, first.id)).toMatchObject({
      problem: { code: "conflict", message: expect.stringContaining("superseded") },
    });
  });

  test("R3: twenty proposals at once for one topic are revisions 1 to 20, one of them open", async () => {
    const { app, open } = await workspace({ engine });
    const other = await open();
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, i) => propose(i % 2 ? app : other, `${better}${i}\n`)),
    );
    expect(made.map((p) => unwrap(p).revisionNumber).sort((a, b) => (a ?? 0) - (b ?? 0))).toEqual(
      Array.from({ length: 20 }, (_, i) => i + 1),
    );
    expect(await app.proposals.list("open")).toHaveLength(1);
  });

  test("R3: a person comments, asks for another revision, approves with a note or rejects with a reason", async () => {
    const { app } = await workspace({ engine });
    const first = unwrap(await propose(app));
    unwrap(await requestRevision.perform(app, { id: first.id, content: "Keep the word Fridays." }, person()));
    expect((await show(app, first.id)).comments).toMatchObject([
      { author: "Ada Lovelace", content: "Keep the word Fridays.", wants_revision: true },
    ]);
    const second = unwrap(await propose(app, text.replace("Pray", "Watch")));
    unwrap(await rejectProposal.perform(app, { id: second.id, note: "watching is not enough" }, person()));
    expect(await show(app, second.id)).toMatchObject({ status: "rejected", note: "watching is not enough" });
    const third = unwrap(await propose(app));
    expect(unwrap(await approve(app, third.id, { note: "good" }))).toMatchObject({ status: "approved", note: "good" });
    const kinds = (await allEvents(app)).filter((e) => e.subject.startsWith("proposal:")).map((e) => e.kind);
    expect(kinds).toEqual([
      "proposal-opened",
      "revision-requested",
      "proposal-opened",
      "proposal-rejected",
      "proposal-opened",
      "proposal-approved",
    ]);
  });
});

describe("R3: what no person should have to read is refused", () => {
  const cases: [what: string, make: (app: App) => ReturnType<typeof propose>, code: string, said: RegExp][] = [
    [
      "a page that is not there",
      (app) => propose(app, better, blobOf(text), topic("docs/none.md")),
      "not_found",
      /page docs\/none\.md does not exist/,
    ],
    [
      "a path out of the workspace",
      (app) => propose(app, better, blobOf(text), topic("../x.md")),
      "invalid",
      /not a valid page path/,
    ],
    [
      "an unknown base",
      (app) => propose(app, better, "0".repeat(40)),
      "invalid",
      /is not a known version of docs\/deploy\.md/,
    ],
    [
      "the base of another page",
      (app) => propose(app, better, blobOf(read(join(app.config.root, "wiki/vision.md")))),
      "invalid",
      /is not a known version/,
    ],
    ["the same text", (app) => propose(app, text), "invalid", /is identical to/],
    ["no text", (app) => propose(app, " \n"), "invalid", /empty/],
    ["a NUL", (app) => propose(app, `${better}\0`), "invalid", /NUL/],
    ["half a character", (app) => propose(app, `${better}\ud800`), "invalid", /surrogate/],
    ["a text that is too long", (app) => propose(app, "x".repeat(1_000_001)), "invalid", /the maximum is/],
    ["conflict markers", (app) => propose(app, "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n"), "invalid", /conflict marker/],
    [
      "an answer to a question",
      (app) => propose(app, better, blobOf(text), { ...topic(), kind: "question" }),
      "refused",
      /it needs an answer/,
    ],
    [
      "a resolved topic",
      (app) => propose(app, better, blobOf(text), { ...topic(), status: "resolved" }),
      "conflict",
      /is resolved/,
    ],
    [
      "a source",
      (app) => propose(app, better, blobOf(text), topic("sources/a.md")),
      "refused",
      /sources are immutable/,
    ],
  ];
  test("R3: each with its reason, and nothing is kept", async () => {
    const { app } = await workspace();
    for (const [what, make, code, said] of cases) {
      expect(await make(app), what).toMatchObject({ problem: { code, message: expect.stringMatching(said) } });
    }
    expect(await app.proposals.list()).toEqual([]);
  });

  test("R3: a log only grows, whatever is proposed, and frontmatter must be readable", async () => {
    const { app, root } = await workspace();
    unwrap(await app.knowledge(agent("engineer")).appendLog("decisions", "we use SQLite"));
    const path = "wiki/decisions.md";
    const log = read(join(root, path));
    const about = topic(path);
    const asked = (wanted: string) => propose(app, wanted, blobOf(log), about);
    expect(await asked(log.replace("SQLite", "Excel"))).toMatchObject({ problem: { code: "denied" } });
    expect(await asked(log.replace("---\n\n", "---\n\n- earlier\n"))).toMatchObject({ problem: { code: "denied" } });
    expect(await asked(log.replace(/\n$/, ", and not Excel\n")), "more in the last line").toMatchObject({
      problem: { code: "denied" },
    });
    expect(await asked(`${log}- later\n`.replace("title:", "title: [")), "broken frontmatter").toMatchObject({
      problem: { code: "invalid", message: expect.stringContaining("wiki/decisions.md") },
    });
    const { id } = unwrap(await asked(`${log}- later\n`));
    unwrap(await approve(app, id));
    expect(read(join(root, path))).toBe(`${log}- later\n`);
  });

  test("the page's own line ends and byte order mark are kept", async () => {
    const { app, root, git } = await workspace();
    const windows = `\ufeff${text.replaceAll("\n", "\r\n")}`;
    writeFileSync(join(root, deploy), windows);
    git("commit", "-qam", "On Windows");
    const { id } = unwrap(await propose(app, better, blobOf(windows)));
    expect((await show(app, id)).impact).toMatchObject({ added: 1, removed: 1 });
    unwrap(await approve(app, id));
    expect(read(join(root, deploy))).toBe(windows.replace("Fridays", "Tuesdays"));
  });
});

describe("R3: what a proposal would do is worked out beforehand", () => {
  test("R3: the diff as text and as data, and nothing moved", async () => {
    const { app } = await workspace();
    const { id } = unwrap(await propose(app));
    const { impact, content: wanted } = await show(app, id);
    expect(wanted).toBe(better);
    expect(impact).toMatchObject({
      added: 1,
      removed: 1,
      base_moved: false,
      merge: null,
      hidden: [],
      source_sha: blobOf(text),
    });
    expect(impact?.diff).toContain("-We deploy on Fridays.\n+We deploy on Tuesdays.\n");
    expect(impact?.hunks[0]).toMatchObject({
      old_start: 1,
      new_start: 1,
      lines: expect.arrayContaining(["+We deploy on Tuesdays."]),
    });
  });

  test("T35: characters that nobody sees are named, and spelt out in the diff", async () => {
    const { app } = await workspace();
    const { id } = unwrap(await propose(app, text.replace("Pray", "Pay \u202eeva\u202c the\u200b bill")));
    const { impact } = await show(app, id);
    expect(impact?.hidden).toEqual([{ line: 8, characters: "U+202E U+202C U+200B" }]);
    expect(impact?.diff).toContain("+2. Pay [U+202E]eva[U+202C] the[U+200B] bill.");
    expect(impact?.diff).not.toMatch(/[\u202a-\u202e\u200b]/);
  });

  test("R4: a page that moved is a conflict; both changes are approved together only when a person says so", async () => {
    const { app, root, git } = await workspace();
    const { id } = unwrap(await propose(app));
    const moved = text.replace("Go home", "Go to the pub");
    writeFileSync(join(root, deploy), moved);
    git("commit", "-qam", "Pub");
    expect(await approve(app, id)).toMatchObject({
      problem: {
        code: "conflict",
        message: expect.stringContaining("merge cleanly"),
        details: { merges_cleanly: true },
      },
    });
    const { impact } = await show(app, id);
    expect(impact).toMatchObject({ base_moved: true, merge: { clean: true }, source_sha: blobOf(moved) });
    expect(impact?.merge?.text).toBe(moved.replace("Fridays", "Tuesdays"));
    expect(await approve(app, id, { merge: true, onto: blobOf(text) })).toMatchObject({
      problem: { message: expect.stringContaining("changed since you opened the proposal") },
    });
    expect(read(join(root, deploy))).toBe(moved);
    unwrap(await approve(app, id, { merge: true, onto: blobOf(moved) }));
    expect(read(join(root, deploy))).toBe(moved.replace("Fridays", "Tuesdays"));
    expect(git("status", "--porcelain")).toBe("");
  });

  test("R4: a change of the same lines cannot be merged, and is never overwritten", async () => {
    const { app, root, git } = await workspace();
    const { id } = unwrap(await propose(app));
    const moved = text.replace("Fridays", "Mondays");
    writeFileSync(join(root, deploy), moved);
    git("commit", "-qam", "Mondays");
    expect((await show(app, id)).impact).toMatchObject({ base_moved: true, merge: { clean: false } });
    for (const merge of [false, true]) {
      expect(await approve(app, id, { merge })).toMatchObject({
        problem: { code: "conflict", message: expect.stringContaining("same lines") },
      });
    }
    expect(read(join(root, deploy))).toBe(moved);
    expect(unwrap(await propose(app, better)), "a base that moved is still a base").toMatchObject({
      revisionNumber: 2,
    });
  });
});

describe.each(engines)("R4: approval, on %s", (engine) => {
  test("R4: git has the agent as author, the server as committer, and names approver, topic, proposal and job", async () => {
    const { app, root, git } = await workspace({ engine });
    writeFileSync(join(root, "docs/other.md"), "mine, not committed\n");
    writeFileSync(join(root, "staged.txt"), "staged\n");
    git("add", "staged.txt");
    const by = { ...agent("engineer"), job: "j-7" };
    const { id } = unwrap(await propose(app, better, blobOf(text), topic(), by));
    const approved = unwrap(await approve(app, id, { note: "Fridays were bad.\n\nApproved-by: Mallory" }));

    expect(read(join(root, deploy))).toBe(better);
    expect(approved.commit).toBe(git("rev-parse", "HEAD"));
    expect(git("log", "-1", "--format=%an <%ae>|%cn")).toBe("Larkspur Scribe <scribe@example.org>|Scriptorium");
    const trailer = (key: string) => git("log", "-1", `--format=%(trailers:key=${key},valueonly)`);
    expect(["Approved-by", "Topic", "Proposal", "Job"].map(trailer)).toEqual([
      "Ada Lovelace <ada@example.org>",
      "t-1",
      id,
      "j-7",
    ]);
    expect(git("show", "--format=", "--name-only", "HEAD")).toBe(deploy);
    expect(git("show", `HEAD:${deploy}`)).toBe(better.trimEnd());
    expect(git("status", "--porcelain")).toBe("A  staged.txt\n?? docs/other.md");
    expect(git("log", "-1", "--format=%(trailers:key=Proposal,valueonly)", historyRef)).toBe(id);
    git("fsck", "--strict");
    expect(await approve(app, id)).toMatchObject({
      problem: { code: "conflict", message: expect.stringContaining("was approved by") },
    });
  });

  test("R4: of two people who approve at once, one does it", async () => {
    const { app, open, git } = await workspace({ engine });
    const other = await open();
    const { id } = unwrap(await propose(app));
    const results = await Promise.all([approve(app, id), approve(other, id), approve(app, id)]);
    expect(results.filter((r) => r.ok)).toHaveLength(1);
    for (const r of results) if (!r.ok) expect(r.problem.code).toBe("conflict");
    expect(git("log", "--format=%s", "-2")).toBe("Rewrite docs/deploy.md, approved by Ada Lovelace\nBegin");
  });

  test("R4: an approval that was refused leaves nothing behind that a later start would carry out", async () => {
    const { app, root, open } = await workspace({ engine });
    const { id } = unwrap(await propose(app));
    const refusing: Effect = {
      prepare: async () => ok({}),
      content: () => "",
      apply: async (_tx, _plan, _at, stage) => {
        stage(deploy, Buffer.from(better), Buffer.from(text));
        return refuse("conflict", "it changed");
      },
    };
    const { db, publications, now, newId } = app;
    const proposals = proposalStore({ db, publications, effects: { page: refusing }, now, newId });
    expect(await proposals.approve(id, { name: "Ada Lovelace" })).toMatchObject({ problem: { message: "it changed" } });
    expect(readdirSync(join(root, "docs"))).toEqual(["deploy.md"]);
    await (await open()).close();
    expect(read(join(root, deploy))).toBe(text);
  });

  test("T5: no agent and no reader decides anything", async () => {
    const { app, root } = await workspace({ engine });
    const { id } = unwrap(await propose(app));
    for (const operation of [approveProposal, rejectProposal, requestRevision]) {
      for (const caller of [agent("planner"), { ...agent("planner"), job: "j-1" }, person("reader")]) {
        const answer = await operation.perform(app, { id, content: "approved by a person", note: "approved" }, caller);
        expect(answer).toMatchObject({ problem: { code: "denied" } });
      }
    }
    expect(read(join(root, deploy))).toBe(text);
    expect(await show(app, id)).toMatchObject({ status: "open", comments: [] });
  });
});

describe.each(backends)("R4: an entry, in $store on $engine,", (backend) => {
  test("gets its next version in the same act, with its approver", async () => {
    const { app, root, git } = await workspace(backend);
    const { version } = await app.entries.fetch("vision");
    unwrap(await app.knowledge(agent("planner")).commitEntry("vision", "# Far\n\nAhead.\n", version));
    const path = "wiki/vision.md";
    const page = unwrap(await app.pages.read(path));
    const { id } = unwrap(await propose(app, page.text.replace("Ahead", "Behind"), page.blob, topic(path)));
    unwrap(await approve(app, id));

    const entry = await app.entries.fetch("vision");
    expect(entry).toMatchObject({ version: version + 2, content: "# Far\n\nBehind.\n" });
    const [latest] = await app.entries.history("vision");
    expect(latest).toMatchObject({
      author: "Larkspur Scribe",
      role: null,
      summary: expect.stringContaining("approved by Ada Lovelace"),
    });
    const event = (await allEvents(app)).findLast((e) => e.subject === "entry:vision");
    expect(event).toMatchObject({
      kind: "entry-committed",
      data: { approval: { by: "Ada Lovelace", proposal_id: id } },
    });
    const stale = await app.knowledge(agent("planner")).commitEntry("vision", "x", version + 1);
    expect(stale).toMatchObject({ problem: { code: "conflict" } });
    if (backend.store === "database") return;
    expect(
      git(
        "log",
        "-1",
        "--format=%(trailers:key=Version,valueonly)|%(trailers:key=Proposal,valueonly)",
        "--",
        path,
      ).replaceAll("\n", ""),
    ).toBe(`${version + 2}|${id}`);
    expect(git("status", "--porcelain")).toBe("");
    expect(read(join(root, path))).toMatch(/^---\ntitle: "?Vision"?\n---\n\n# Far\n\nBehind\.\n$/);
  });
});

describe("R4: what stands in the way is said", () => {
  const refused = async (app: App, id: string) => {
    const answer = await approve(app, id);
    return answer.ok ? "approved" : answer.problem.message;
  };

  test("a person's uncommitted or staged change of that page, and only of that page", async () => {
    const { app, root, git } = await workspace();
    const edited = text.replace("Go home", "Stay");
    writeFileSync(join(root, deploy), edited);
    const { id } = unwrap(await propose(app, edited.replace("Fridays", "Tuesdays"), blobOf(edited)));
    expect(await refused(app, id)).toMatch(/docs\/deploy\.md has uncommitted changes/);
    git("add", deploy);
    expect(await refused(app, id)).toMatch(/uncommitted|staged/);
    git("commit", "-qm", "Stay");
    const inBetween = `${edited}More.\n`;
    writeFileSync(join(root, deploy), inBetween);
    git("add", deploy);
    writeFileSync(join(root, deploy), edited);
    expect(await refused(app, id)).toMatch(/staged changes/);
    git("reset", "-q", deploy);
    expect(await refused(app, id)).toBe("approved");
  });

  test("a person's edit of an entry that they have not committed, though it is a version already", async () => {
    const { app, root, git } = await workspace();
    const path = "wiki/notes.md";
    const edited = "---\ntitle: Notes\n---\n\nby hand\n";
    writeFileSync(join(root, path), edited);
    const { id } = unwrap(await propose(app, edited.replace("hand", "agent"), blobOf(edited), topic(path)));
    expect(await refused(app, id)).toMatch(/wiki\/notes\.md has uncommitted changes/);
    git("commit", "-qam", "By hand");
    expect(await refused(app, id)).toBe("approved");
    expect(git("log", "-2", "--format=%an", "--", path)).toBe("Larkspur Scribe\nAda Lovelace");
  });

  test("a detached HEAD, a merge under way, a page that git does not know", async () => {
    const { app, root, git } = await workspace();
    const { id } = unwrap(await propose(app));
    git("checkout", "-q", "--detach");
    expect(await refused(app, id)).toMatch(/HEAD is detached; check out a branch/);
    git("checkout", "-q", "main");
    writeFileSync(join(root, ".git/MERGE_HEAD"), `${git("rev-parse", "HEAD")}\n`);
    expect(await refused(app, id)).toMatch(/a merge is in progress/);
    git("merge", "--quit");
    writeFileSync(join(root, "docs/new.md"), "new\n");
    const fresh = unwrap(await propose(app, "newer\n", blobOf("new\n"), topic("docs/new.md", "t-2")));
    expect(await refused(app, fresh.id)).toMatch(/docs\/new\.md is not committed yet/);
    git("checkout", "-q", "--orphan", "empty");
    expect(await refused(app, id)).toMatch(/the branch empty has no commits/);
    expect(read(join(root, deploy))).toBe(text);
  });

  test("no agent block: the sentence says what to add; a person's own proposal needs none", async () => {
    const { app, git } = await workspace({ config: "" });
    const { id } = unwrap(await propose(app));
    expect(await refused(app, id)).toMatch(/agent: \{ author_name/);
    const mine = unwrap(await propose(app, `${better}Mine.\n`, blobOf(text), topic(deploy, "t-2"), person()));
    expect(await refused(app, mine.id)).toBe("approved");
    expect(git("log", "-1", "--format=%an <%ae>")).toBe("Ada Lovelace <ada@example.org>");
  });

  test("a name with a line break cannot forge a trailer", async () => {
    const { app, root } = await workspace();
    const { id } = unwrap(await propose(app));
    for (const name of ["Ada\nProposal: p-1", "Ada\r", "Ada\u2028x", "Ada <root@localhost>", " "]) {
      const caller = { ...person(), name } as ReturnType<typeof person>;
      expect(await approveProposal.perform(app, { id }, caller), name).toMatchObject({ problem: { code: "invalid" } });
    }
    expect(read(join(root, deploy))).toBe(text);
  });

  test("a commit of the person's own after the approval is not replaced by it", async () => {
    const { app, root, git } = await workspace();
    const { id } = unwrap(await propose(app));
    git("checkout", "-q", "--detach");
    git("checkout", "-q", "main");
    const theirs = better.replace("Tuesdays", "Wednesdays");
    const { record, drain } = app.recorder;
    // The recorder is late; meanwhile the person edits the approved file and commits it.
    app.recorder.drain = async () => undefined;
    unwrap(await approve(app, id));
    writeFileSync(join(root, deploy), theirs);
    git("commit", "-qam", "Wednesdays");
    app.recorder.drain = drain;
    await record();
    expect(git("show", `HEAD:${deploy}`)).toBe(theirs.trimEnd());
    expect(git("log", "-1", "--format=%s")).toBe("Wednesdays");
    expect(git("status", "--porcelain")).toBe("");
    expect(git("log", "-1", "--format=%(trailers:key=Proposal,valueonly)", historyRef)).toBe(id);
  });
});

describe.each(sampledEngines)("the whole circle, on %s", (engine) => {
  test("R3, R4: a topic is answered by scribe, foreseen, sent back, answered again, approved, and the other topics follow", async () => {
    const { app, root } = await workspace({ engine });
    const open = async (quote: string, kind = "change") =>
      unwrap(await openTopic.perform(app, { source_path: deploy, kind, content: `About ${quote}`, quote }, person()));
    const [about, kept, endangered, question] = [
      await open("on Fridays"),
      await open("sleep until the pager rings"),
      await open("2. Pray."),
      await open("Build", "question"),
    ];
    const answer = async (id: string, wanted: string, base = blobOf(text)) =>
      insertProposal.perform(app, { topic_id: id, base_sha: base, content: wanted }, {
        ...agent("engineer"),
        job: "j-9",
      } as Caller);
    expect(await answer(question.id, better)).toMatchObject({
      problem: { message: expect.stringContaining("it needs an answer") },
    });
    expect(await answer("t-none", better)).toMatchObject({ problem: { code: "not_found" } });
    expect(await answer(about.id, better, "HEAD")).toMatchObject({ problem: { code: "invalid" } });

    const rash = better.replace("1. Build.\n2. Pray.\n\n", "");
    const first = unwrap(await answer(about.id, rash));
    expect(first).toMatchObject({ revision_number: 1, base_moved: false, source_path: deploy });
    expect(first.endangers.map((topic) => topic.id).sort()).toEqual([endangered.id, question.id].sort());
    const foreseen = (await show(app, first.id)).impact?.topics ?? [];
    expect(foreseen.find((topic) => topic.id === kept.id)?.to).toMatch(/anchored|moved/);
    expect(foreseen.find((topic) => topic.id === endangered.id)?.to).toBe("orphaned");
    unwrap(await requestRevision.perform(app, { id: first.id, content: "Keep the steps." }, person()));

    const { revisions } = unwrap(await getTopic.perform(app, { id: about.id }, agent("engineer")));
    expect(revisions).toMatchObject([
      { revision_number: 1, status: "open", comments: [{ content: "Keep the steps.", wants_revision: true }] },
    ]);
    expect(revisions?.[0]?.diff).toContain("-2. Pray.");

    const second = unwrap(await answer(about.id, `${better.replace("# Deploy", "# Deploy\n\nRead this first.")}`));
    expect(second).toMatchObject({ revision_number: 2, endangers: [] });
    unwrap(await approve(app, second.id, { note: "thanks" }));
    const page = read(join(root, deploy));
    const seen = await app.db.read.selectFrom("topics").select("seen_blob").distinct().execute();
    expect(seen, "approving looks for every topic at once").toEqual([{ seen_blob: blobOf(page) }]);
    for (const topic of [kept, endangered, question]) {
      const { anchor } = unwrap(await getTopic.perform(app, { id: topic.id }, person("reader")));
      expect(anchor?.state).toMatch(/anchored|moved/);
      expect(page.slice(anchor?.place?.start, anchor?.place?.end)).toBe(anchor?.quote);
    }
  });
});

test("R11: scribe takes the text on stdin and prints the id; a person proposes through scriptorium", async () => {
  const { app, root } = await workspace();
  const { id, source_sha } = unwrap(
    await openTopic.perform(app, { source_path: deploy, content: "Tuesdays", quote: "Fridays" }, person()),
  );
  const args = ["insert-proposal", "--topic-id", id, "--base-sha", source_sha ?? ""];
  const made = await scribe(args, { cwd: root, input: better });
  expect(made).toMatchObject({ code: 0 });
  expect(made.json()).toMatchObject({ id: expect.stringMatching(/^p-/), revision_number: 1, topic_id: id });
  const refused = await scribe(args, { cwd: root, input: text });
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("is identical to") });
  expect(refused.json()).toMatchObject({ status: "invalid" });

  const mine = ["proposal", "open", "--topic", id, "--base", source_sha ?? "", "--json"];
  const own = await scriptorium(mine, { cwd: root, input: `${better}Mine. \u001b[2J\u202e\n` });
  expect(own.json()).toMatchObject({ revision_number: 2 });
  const shown = await scriptorium(["proposal", "show", String(own.json().id)], { cwd: root });
  expect(shown.stdout).toContain("+Mine. [U+001B][2J[U+202E]");
  expect(shown.stdout).toContain("contains hidden characters: U+001B U+202E");
  const listed = (await scriptorium(["proposal", "list", "--json"], { cwd: root })).json<
    { proposed_by: string | null }[]
  >();
  expect(listed.map((p) => p.proposed_by)).toEqual(["Ada Lovelace", null]);
});

describe.each(sampledEngines)("V13: the page of a waiting proposal, on %s", (engine) => {
  const renamed = "docs/release/deploy.md";
  async function waiting() {
    const made = await workspace({ engine });
    const { app } = made;
    const asked = { source_path: deploy, content: "Tuesdays", quote: "Fridays" };
    const { id: topic_id } = unwrap(await openTopic.perform(app, asked, person()));
    const proposed = { topic_id, base_sha: blobOf(text), content: better };
    const { id } = unwrap(await insertProposal.perform(app, proposed, agent("engineer")));
    const move = (content = text) => {
      mkdirSync(join(made.root, "docs/release"));
      made.git("mv", deploy, renamed);
      writeFileSync(join(made.root, renamed), content);
    };
    return { ...made, id, topic_id, move };
  }

  test("V13: is renamed: the proposal follows, says so, and its approval goes to the new path", async () => {
    const { app, id, root, git, move } = await waiting();
    move();
    git("commit", "-qam", "Rename");
    expect(await show(app, id)).toMatchObject({
      subject: renamed,
      data: { renamed_from: deploy },
      impact: { base_moved: false, topics: [{ to: "orphaned" }] },
    });
    const shown = await scriptorium(["proposal", "show", id], { cwd: root });
    expect(shown.stdout).toContain(`the page was renamed from ${deploy} after this was proposed`);
    expect(unwrap(await approve(app, id))).toMatchObject({ status: "approved", subject: renamed });
    expect(git("show", `HEAD:${renamed}`)).toBe(better.trimEnd());
    expect(git("status", "--porcelain")).toBe("");
    const followed = (await allEvents(app)).filter(({ kind }) => kind === "proposal-followed");
    expect(followed).toMatchObject([{ subject: `proposal:${id}`, data: { from: deploy, to: renamed } }]);
  });

  test("V13: is renamed and edited in the same commit: git's rename detection finds it, and the texts are merged", async () => {
    const { app, id, git, move } = await waiting();
    move(text.replace("sleep until", "rest until"));
    git("commit", "-qam", "Rename and reword");
    expect(await approve(app, id)).toMatchObject({ problem: { details: { merges_cleanly: true } } });
    expect(unwrap(await approve(app, id, { merge: true }))).toMatchObject({ subject: renamed });
    expect(git("show", `HEAD:${renamed}`)).toBe(better.replace("sleep until", "rest until").trimEnd());
  });

  test("V13: is renamed without a commit: the approval asks for the commit first", async () => {
    const { app, id, move, git } = await waiting();
    move();
    expect(await approve(app, id)).toMatchObject({
      problem: { code: "conflict", message: `${renamed} is not committed yet; commit it, then approve` },
    });
    git("commit", "-qam", "Rename");
    expect(unwrap(await approve(app, id))).toMatchObject({ subject: renamed });
  });

  test("V13: has uncommitted changes: commit or stash is suggested, and a merge only when it would work", async () => {
    const { app, id, root, git } = await waiting();
    writeFileSync(join(root, deploy), text.replace("Pray", "Watch"));
    const refused = await approve(app, id);
    expect(refused).toMatchObject({
      problem: { message: `${deploy} has uncommitted changes; commit or stash them, then approve` },
    });
    expect(JSON.stringify(refused)).not.toContain("merge");
    expect(await show(app, id)).toMatchObject({ impact: { uncommitted: true, base_moved: true } });
    const shown = await scriptorium(["proposal", "show", id], { cwd: root });
    expect(shown.stdout).toContain("the page has uncommitted changes; commit or stash them");
    expect(shown.stdout).not.toContain("--merge");
    git("commit", "-qam", "Watch");
    expect(await show(app, id)).toMatchObject({ impact: { uncommitted: false, merge: { clean: true } } });
    expect(await approve(app, id)).toMatchObject({ problem: { message: expect.stringContaining("merge cleanly") } });
    unwrap(await approve(app, id, { merge: true }));
  });
});

test(
  "R4: an approval that is killed anywhere is undone or finished by the next start, with one commit",
  long,
  async () => {
    const base = await workspace();
    const proposed = async (path: string) => {
      const { text, blob } = unwrap(await base.app.pages.read(path));
      const wanted = `${text}\nMore.\n`;
      return { path, text, wanted, id: unwrap(await propose(base.app, wanted, blob, topic(path, path))).id };
    };
    const page = await proposed(deploy);
    const entry = await proposed("wiki/vision.md");
    await base.app.close();
    const places = ["file-staged", "version-committed", "file-renamed", "history-imported", "branch-moved"];
    const killed = [
      ...places.map((place) => ({ place, ...page })),
      ...["version-committed", "file-renamed", "version-saved"].map((place) => ({ place, ...entry })),
    ];
    for (const { place, path, text, wanted, id } of killed) {
      const cwd = join(temporaryFolder(), "workspace");
      cpSync(base.root, cwd, { recursive: true });
      const ran = await scriptoriumProcess(["proposal", "approve", id], { cwd, env: { SCRIPTORIUM_CRASH_AT: place } });
      expect(ran.signal, place).toBe("SIGKILL");

      const app = await openApp(unwrap(loadConfig(cwd, testEnvironment())));
      const { status } = await show(app, id);
      expect([place, status, read(join(cwd, path))]).toEqual(
        ["file-staged", "version-saved"].includes(place) ? [place, "open", text] : [place, "approved", wanted],
      );
      if (status === "open") unwrap(await approve(app, id));
      await app.recorder.drain(5000);
      await app.close();
      const git = gitIn(cwd);
      git("fsck", "--strict");
      expect(git("show", `HEAD:${path}`)).toBe(wanted.trimEnd());
      const log = git("log", "--format=%an|%(trailers:key=Proposal,valueonly,separator=)", "--", path).split("\n");
      expect(log.filter((line) => line.endsWith(id))).toEqual([`Larkspur Scribe|${id}`]);
      const strange = git("status", "--porcelain").split("\n");
      expect(strange.filter((line) => line !== "" && !/\/\.~.*\.tmp$/.test(line))).toEqual([]);
      expect(readdirSync(join(cwd, "docs")).filter((name) => !name.endsWith(".tmp"))).toEqual(["deploy.md"]);
    }
  },
);

test.each(engines)(
  "V13: all topics of a page are foreseen, 100 per answer, the lost ones first, on %s",
  async (engine) => {
    const line = (n: number) => `${n}: ${createHash("sha256").update(String(n)).digest("hex")}`;
    const lines = Array.from({ length: 250 }, (_, n) => line(n));
    const path = "docs/many.md";
    const { app, root } = await newWorkspace({ engine, config: identity, files: { [path]: lines.join("\n\n") } });
    const page = unwrap(await app.pages.read(path));
    const ids: string[] = [];
    for (const quote of lines) {
      const start = page.text.indexOf(quote);
      const anchor = anchorAt(page.text, start, start + quote.length, page.blob);
      const opened = { page, kind: "change" as const, text: "Is it so?", anchor };
      ids.push((await app.topics.open(opened, { name: "Ada", kind: "person" })).id);
    }
    const about = { id: ids[0] ?? "", path, kind: "change", status: "open" };
    const { id } = unwrap(await propose(app, lines.slice(0, 130).join("\n\n"), page.blob, about, person()));

    const seen: { id: string; to: string }[] = [];
    const sizes: number[] = [];
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor; isFirst = false) {
      const { impact } = unwrap(await showProposal.perform(app, { id, ...(cursor ? { cursor } : {}) }, person()));
      expect(impact?.topic_counts).toEqual({ orphaned: 120, needs_review: 0, moved: 0, anchored: 130 });
      sizes.push(impact?.topics.length ?? 0);
      seen.push(...(impact?.topics ?? []));
      cursor = impact?.topics_cursor;
    }
    expect(sizes).toEqual([100, 100, 50]);
    expect(new Set(seen.map((topic) => topic.id))).toEqual(new Set(ids));
    expect(seen.map(({ to }) => to)).toEqual([...Array(120).fill("orphaned"), ...Array(130).fill("anchored")]);
    expect(await showProposal.perform(app, { id, cursor: "7" }, person())).toMatchObject({
      problem: { code: "invalid", message: expect.stringContaining("topics_cursor of an earlier answer") },
    });
    if (engine === "postgres") return;
    const { stdout } = await scriptorium(["proposal", "show", id], { cwd: root });
    const command =
      /120 topics would move or be lost; see more with: scriptorium (.*)/.exec(stdout)?.[1]?.split(" ") ?? [];
    expect((await scriptorium(command, { cwd: root })).stdout).not.toContain("see more with");
  },
);
