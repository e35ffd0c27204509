import { execFileSync } from "node:child_process";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import type { Caller } from "../src/kernel/caller.ts";
import { refusalFor } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import type { OperationName } from "../src/operation-loaders.ts";
import { previewTopics } from "../src/review/topics/refind-topics.ts";
import { scribe, scriptorium, serve } from "./support/commands.ts";
import { ask, type Json } from "./support/requests.ts";
import { agent, allEvents, engines, gitIn, newWorkspace, person, temporaryFolder } from "./support/workspace.ts";

const page = `# Deploying

Read this before the first release.

## Staging

Run the smoke tests. Wait for the harbour desk to confirm.
See the dashboard before you act.

## Production

Roll out to one region at a time, and watch the error rate settle.
See the dashboard before you act.
`;

const other: Caller = { kind: "person", name: "Grace Hopper", rank: "collaborator" };

const call =
  (app: App, caller: Caller = person()) =>
  async (name: OperationName, input: object): Promise<Json> => {
    const result = await operations[name].perform(app, input, caller);
    return result.ok ? result.value : refusalFor(result.problem);
  };

async function handbook(engine: (typeof engines)[number] = "sqlite", text = page) {
  const workspace = await newWorkspace({ engine });
  const file = join(workspace.root, "docs/deploy.md");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return { ...workspace, file, do: call(workspace.app), write: (now: string) => writeFileSync(file, now) };
}

const about = (quote: string, more: object = {}) => ({
  source_path: "docs/deploy.md",
  content: "Why?",
  quote,
  ...more,
});

const kinds = async (app: App, prefix: string) =>
  (await allEvents(app)).filter((event) => event.kind.startsWith(prefix)).map((event) => event.kind);

describe.each(engines)("topics on %s", (engine) => {
  test("a topic is opened on a passage or a page, answered, edited by its author, resolved and reopened (R1)", async () => {
    const { app, do: perform } = await handbook(engine);
    const topic = await perform("open_topic", about("one region at a time"));
    expect(topic).toMatchObject({
      source_path: "docs/deploy.md",
      kind: "change",
      status: "open",
      created_by: "Ada Lovelace",
      anchor: { state: "anchored", quote: "one region at a time", place: { line: 12, heading: "Production" } },
    });
    const whole = await perform("open_topic", {
      source_path: "docs/deploy.md",
      kind: "question",
      content: "Is this *true*?",
    });
    expect(whole).toMatchObject({ kind: "question", anchor: null });

    const { id } = topic;
    expect(await call(app, agent("engineer"))("reply_topic", { id, content: "Because." })).toEqual({ id, seq: 2 });
    expect(await call(app, other)("reply_topic", { id, content: "I see." })).toEqual({ id, seq: 3 });
    expect(await perform("edit_message", { id, seq: 1, content: "Why so slow?" })).toMatchObject({
      content: "Why so slow?",
    });
    for (const seq of [2, 3]) {
      expect(await perform("edit_message", { id, seq, content: "No." })).toMatchObject({ status: "denied" });
    }
    const impostor: Caller = { kind: "person", name: "engineer", rank: "admin" };
    expect(await call(app, impostor)("edit_message", { id, seq: 2, content: "No." })).toMatchObject({
      status: "denied",
    });

    expect(await perform("resolve_topic", { id })).toMatchObject({ status: "resolved", resolved_by: "Ada Lovelace" });
    expect(await perform("resolve_topic", { id })).toMatchObject({ status: "conflict" });
    expect(await perform("list_topics", { status: "open" })).toMatchObject({ topics: [{ id: whole.id }] });
    expect(await perform("reopen_topic", { id })).toMatchObject({ status: "open", resolved_at: null });
    expect(await perform("get_topic", { id })).toMatchObject({
      messages: [
        {
          seq: 1,
          author: "Ada Lovelace",
          author_kind: "person",
          content: "Why so slow?",
          edited_at: expect.any(String),
        },
        { seq: 2, author: "engineer", author_kind: "agent", content: "Because.", edited_at: null },
        { seq: 3, author: "Grace Hopper", author_kind: "person" },
      ],
    });
    expect(await kinds(app, "topic-")).toEqual([
      "topic-opened",
      "topic-opened",
      "topic-replied",
      "topic-replied",
      "topic-resolved",
      "topic-reopened",
    ]);
    expect(await kinds(app, "message-")).toEqual(["message-edited"]);
  });

  test("replies from two processes at once are numbered without a gap (R1)", async () => {
    const { app, open, do: perform } = await handbook(engine);
    const { id } = await perform("open_topic", about("smoke tests"));
    const doors = [app, await open()];
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, n) => call(doors[n % 2] as App)("reply_topic", { id, content: `Reply ${n}` })),
    );
    expect(replies.map((reply) => reply.seq).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, n) => n + 2),
    );
    const { messages } = await perform("get_topic", { id });
    expect(messages.map((message: Json) => message.seq)).toEqual(Array.from({ length: 21 }, (_, n) => n + 1));
  });

  test("anchors follow a person's edits, are marked when in doubt, kept when lost, and found when undone (R2)", async () => {
    const { app, do: perform, write } = await handbook(engine);
    const kept = await perform("open_topic", about("one region at a time"));
    const twin = await perform("open_topic", about("See the dashboard before you act.", { nth: 1 }));
    const where = async ({ id }: { id: string }) => (await perform("get_topic", { id })).anchor;

    write(page.replace("# Deploying\n", "# Deploying\n\nA new first paragraph, which nobody asked for.\n"));
    expect(await where(kept)).toMatchObject({ state: "anchored", place: { line: 14, text: "one region at a time" } });
    expect(await kinds(app, "anchor-")).toEqual([]);

    write(page.replace("one region at a time", "one small region at a time"));
    expect(await where(kept)).toMatchObject({
      state: "moved",
      quote: "one small region at a time",
      first_quote: "one region at a time",
    });

    // The first of two alike is gone: the second is not taken for it.
    const without = page.replace("\nSee the dashboard before you act.\n", "\n");
    write(without);
    expect(await where(twin)).toMatchObject({
      state: "orphaned",
      quote: "See the dashboard before you act.",
      place: null,
    });
    write(page);
    expect(await where(twin)).toMatchObject({ state: "anchored", place: { line: 8, heading: "Staging" } });
    const moves = ["anchor-found", "anchor-moved", "anchor-moved", "anchor-orphaned"];
    expect((await kinds(app, "anchor-")).sort()).toEqual(moves);

    const before = (await allEvents(app)).length;
    for (let i = 0; i < 3; i++) await perform("list_topics", {});
    expect(await allEvents(app)).toHaveLength(before);
    const texts = await app.db.read.selectFrom("page_texts").select("blob").execute();
    const blobs = await app.db.read.selectFrom("topics").select("anchor_blob").distinct().execute();
    expect(texts.map(({ blob }) => blob).sort()).toEqual(blobs.map(({ anchor_blob }) => anchor_blob).sort());
  });
});

test("words that the page has twice or not at all are refused with what to do, and chosen by number or context (R1)", async () => {
  const { do: perform } = await handbook();
  const quote = "See the dashboard before you act.";
  const twice = await perform("open_topic", about(quote));
  expect(twice).toMatchObject({ status: "conflict", lines: [8, 13] });
  expect(twice.message).toContain("nth");
  expect(await perform("open_topic", about("never said"))).toMatchObject({ status: "not_found" });
  expect(await perform("open_topic", about(quote, { nth: 3 }))).toMatchObject({ status: "invalid" });
  const near = await perform("open_topic", about(quote, { context: "error rate settle. See" }));
  expect(near.anchor.place).toMatchObject({ line: 13, heading: "Production" });
  const start = page.indexOf("smoke");
  const range = { source_path: "docs/deploy.md", content: "Which?", start, end: start + 5 };
  expect(await perform("open_topic", { ...range, source_sha: near.source_sha })).toMatchObject({
    anchor: { quote: "smoke" },
  });
  expect(await perform("open_topic", { ...range, source_sha: "0".repeat(40) })).toMatchObject({ status: "conflict" });
  expect(await perform("open_topic", { ...range, source_path: "../deploy.md" })).toMatchObject({ status: "invalid" });
});

test("anchors follow a commit of an agent, a git pull and a renamed page; a deleted page leaves orphans (R2)", async () => {
  const { app, root, git, file, do: perform } = await handbook();
  const clone = join(temporaryFolder(), "clone");
  git("add", "-A");
  git("commit", "-qm", "Add the page");
  const pulled = await perform("open_topic", about("watch the error rate settle"));
  execFileSync("git", ["clone", "-q", root, clone]);
  const theirs = gitIn(clone);
  writeFileSync(join(clone, "docs/deploy.md"), `${"A line above.\n".repeat(5)}${page}`);
  theirs("-c", "user.name=Bob", "-c", "user.email=bob@example.org", "commit", "-qam", "Write above");
  git("pull", "-q", clone, "main");
  expect((await perform("get_topic", { id: pulled.id })).anchor).toMatchObject({
    state: "anchored",
    place: { line: 17 },
  });

  const planner = agent("planner");
  await call(app, planner)("commit_entry", {
    id: "vision",
    content: "# Vision\n\nParcels arrive on time.\n",
    version: 1,
  });
  const vision = await perform("open_topic", {
    source_path: "wiki/vision.md",
    quote: "arrive on time",
    content: "Always?",
  });
  const longer = "# Vision\n\nWe promise little.\n\nParcels arrive on time.\n";
  await call(app, planner)("commit_entry", { id: "vision", content: longer, version: 2 });
  expect((await perform("get_topic", { id: vision.id })).anchor).toMatchObject({ state: "anchored" });

  git("mv", "docs/deploy.md", "docs/release.md");
  git("commit", "-qm", "Rename it");
  expect(await perform("get_topic", { id: pulled.id })).toMatchObject({
    source_path: "docs/release.md",
    anchor: { state: "anchored", place: { line: 17 } },
  });
  renameSync(join(root, "docs/release.md"), file);
  expect(await perform("get_topic", { id: pulled.id })).toMatchObject({ source_path: "docs/deploy.md" });
  rmSync(file);
  expect(await perform("get_topic", { id: pulled.id })).toMatchObject({
    source_path: "docs/deploy.md",
    source_sha: null,
    anchor: { state: "orphaned", quote: "watch the error rate settle", place: null },
  });
  expect(await kinds(app, "topic-followed")).toHaveLength(2);
});

test("a person may point a topic anywhere; an agent only where lost words verifiably went (R2)", async () => {
  const { app, do: perform, write } = await handbook();
  const scribeRole = call(app, agent("engineer"));
  const { id } = await perform("open_topic", about("Wait for the harbour desk to confirm."));
  expect(await scribeRole("reanchor_topic", { id, quote: "smoke tests" })).toMatchObject({ status: "refused" });

  write(page.replace("Wait for the harbour desk to confirm.", "The harbour desk must confirm it first, so wait."));
  expect((await perform("get_topic", { id })).anchor.state).not.toBe("anchored");
  for (const quote of ["See the dashboard before you act.", "Run the smoke tests."]) {
    const claim = await scribeRole("reanchor_topic", { id, quote, nth: 1 });
    expect(claim.status, quote).toBe("refused");
  }
  expect(await perform("reanchor_topic", { id, quote: "The harbour desk must confirm" })).toMatchObject({
    anchor: { state: "anchored", first_quote: "Wait for the harbour desk to confirm." },
  });
  write(page.replace("Wait for the harbour desk to confirm.", "The harbour desk can confirm it, if you would wait."));
  const lost = await perform("get_topic", { id });
  expect(["needs-review", "moved"]).toContain(lost.anchor.state);
  expect(await kinds(app, "topic-reanchored")).toEqual(["topic-reanchored"]);
});

test("what a proposed text would do to each open topic is known beforehand, and changes nothing (R2)", async () => {
  const { app, do: perform } = await handbook();
  const stays = await perform("open_topic", about("smoke tests"));
  const goes = await perform("open_topic", about("Roll out to one region at a time"));
  const text = page.replace("Roll out to one region at a time, and watch", "Watch");
  const before = await allEvents(app);
  expect(await previewTopics(app, "docs/deploy.md", text)).toMatchObject([
    { id: stays.id, from: "anchored", to: "anchored" },
    { id: goes.id, from: "anchored", to: "orphaned", place: null },
  ]);
  expect(await allEvents(app)).toEqual(before);
});

test("a long topic comes in parts of bounded size (R1)", async () => {
  const { do: perform } = await handbook();
  const { id } = await perform("open_topic", about("smoke tests"));
  for (let n = 0; n < 6; n++) await perform("reply_topic", { id, content: "x".repeat(10_000) });
  const seqs: number[] = [];
  let cursor: string | undefined;
  do {
    const part: Json = await perform("get_topic", { id, ...(cursor ? { cursor } : {}) });
    expect(JSON.stringify(part).length).toBeLessThan(30_000);
    seqs.push(...part.messages.map((message: Json) => message.seq));
    cursor = part.cursor;
  } while (cursor);
  expect(seqs).toEqual([1, 2, 3, 4, 5, 6, 7]);
});

test("the commands open, show, answer and resolve a topic, and hostile text stays text (R1, T36)", async () => {
  const { root } = await handbook();
  const cwd = { cwd: root };
  const hostile = "\u001b]0;owned\u0007<script>alert(1)</script> \u009b31m";
  const opened = await scriptorium(
    ["topic", "open", "docs/deploy.md", "--quote", "smoke tests", "--message", hostile, "--json"],
    cwd,
  );
  const { id } = opened.json<{ id: string }>();
  expect(opened.stdout).not.toMatch(/[\u001b\u0007\u009b]/);
  const said = await scribe(["get-topic", "--role", "engineer", "--id", id], cwd);
  expect(said.json()).toMatchObject({ id, messages: [{ content: hostile }] });
  await scribe(["reply-topic", "--role", "engineer", "--id", id, "--content", "It is done."], cwd);
  const shown = await scriptorium(["topic", "show", id], cwd);
  expect(shown.stdout).toContain("docs/deploy.md:7");
  expect(shown.stdout).toContain("engineer (agent)");
  expect(shown.stdout).not.toMatch(/[\u001b\u0007\u009b]/);
  const open = await scribe(["list-open-topics", "--role", "engineer", "--source-path", "docs/deploy.md"], cwd);
  expect(open.json()).toMatchObject({ topics: [{ id, message_count: 2 }] });
  expect(await scriptorium(["topic", "resolve", id], cwd)).toMatchObject({ code: 0 });
  const twice = await scriptorium(
    ["topic", "open", "docs/deploy.md", "--quote", "See the dashboard", "--message", "?"],
    cwd,
  );
  expect(twice).toMatchObject({ code: 1, stderr: expect.stringContaining("lines 8, 13") });
});

test("while serving, an edit outside the knowledge base moves anchors without anyone asking (R2)", async () => {
  const { root, app, do: perform, write } = await handbook();
  const { id } = await perform("open_topic", about("smoke tests"));
  const { url, token } = await serve(root);
  expect((await ask(url, `/api/topics/${id}`, { token })).json()).toMatchObject({ id, anchor: { state: "anchored" } });
  write(page.replace("Run the smoke tests. ", ""));
  const state = async () =>
    (await app.db.read.selectFrom("topics").select("anchor_state").where("id", "=", id).executeTakeFirst())
      ?.anchor_state;
  await expect.poll(state).toBe("orphaned");
});
