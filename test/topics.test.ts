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
import {
  agent,
  allEvents,
  backends,
  engines,
  gitIn,
  newWorkspace,
  person,
  sampledEngines,
  temporaryFolder,
} from "./support/workspace.ts";

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

async function handbook(engine: (typeof engines)[number] = "sqlite", text = page, store?: "database") {
  const workspace = await newWorkspace({ engine, ...(store ? { store } : {}) });
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

describe.each(sampledEngines)("topics on %s", (engine) => {
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

describe.each(sampledEngines)("anchors by provenance on %s", (engine) => {
  const anchorOf = async (perform: ReturnType<typeof call>, { id }: { id: string }) =>
    (await perform("get_topic", { id })).anchor;

  test("V4: frequent words keep their place when the page changes elsewhere or beside them", async () => {
    const row = (n: number) => `| option ${n} | yes | no | [ ] tested |`;
    const rows = Array.from({ length: 100 }, (_, n) => row(n));
    const text = `# Options\n\n| name | works | fails | state |\n|---|---|---|---|\n${rows.join("\n")}\n`;
    const { do: perform, write } = await handbook(engine, text);
    const yes = await perform("open_topic", about("yes", { nth: 41 }));
    const box = await perform("open_topic", about("[ ]", { nth: 71 }));
    write(text.replace("# Options", "# All options"));
    expect(await anchorOf(perform, yes)).toMatchObject({ state: "anchored", place: { line: 45 } });
    expect(await anchorOf(perform, box)).toMatchObject({ state: "anchored", place: { line: 75 } });

    write(text.replace(row(39), row(39).replace("tested", "measured")).replace(`${row(3)}\n`, ""));
    expect(await anchorOf(perform, yes)).toMatchObject({ state: "anchored", place: { line: 44 } });
    expect(await anchorOf(perform, box)).toMatchObject({ state: "anchored", place: { line: 74 } });
  });

  test("V6: a reworded passage ends at its own words", async () => {
    const was =
      "Before the release, the on-call engineer drains every node in the region and waits for the queue to empty.";
    const text = `# Release\n\nTell the desk first. ${was} Then the rollout begins with one node.\n\nWrite it down.\n`;
    const { do: perform, write } = await handbook(engine, text);
    const whole = await perform("open_topic", about(was));
    const part = await perform("open_topic", about("drains every node in the region and waits"));
    const now =
      "Before each release, the on-call engineer carefully drains every node of the region and waits until the queue is empty.";
    write(text.replace(was, now).replace("Then the rollout begins", "Only then does the rollout begin"));
    expect((await anchorOf(perform, whole)).place?.text).toBe(now);
    expect((await anchorOf(perform, part)).place?.text).toBe("drains every node of the region and waits");
  });

  test("V10: a text that was seen before is not searched again, and reading it writes nothing", async () => {
    const { app, open, do: perform, write } = await handbook(engine);
    const lost = await perform("open_topic", about("Wait for the harbour desk to confirm."));
    const moved = await perform("open_topic", about("one region at a time"));
    const whole = await perform("open_topic", { source_path: "docs/deploy.md", content: "Is all this true?" });
    /** As commands do, each of which is a process of its own. */
    const statesIn = async (text: string) => {
      write(text);
      const door = call(await open());
      return Promise.all([lost, moved, whole].map(async ({ id }) => (await door("get_topic", { id })).anchor?.state));
    };
    const rows = () => app.db.read.selectFrom("topics").selectAll().orderBy("id").execute();
    expect(await statesIn(page)).toEqual(["anchored", "anchored", undefined]);
    expect(await statesIn(otherBranch)).toEqual(["orphaned", "moved", undefined]);
    const [events, before] = [await allEvents(app), await rows()];
    for (let round = 0; round < 3; round++) {
      expect(await statesIn(page)).toEqual(["anchored", "anchored", undefined]);
      expect(await statesIn(otherBranch)).toEqual(["orphaned", "moved", undefined]);
    }
    expect(await allEvents(app)).toEqual(events);
    expect(await rows()).toEqual(before);
  });
});

const otherBranch = page
  .replace(" Wait for the harbour desk to confirm.", "")
  .replace("one region at a time", "one small region at a time");

test("V10: servers of two checkouts on different branches do not change each other's topics", async () => {
  // Two folders may share a database only with store: database (M6).
  const { app, root, git, do: perform } = await handbook("postgres", page, "database");
  git("add", "-A");
  git("commit", "-qm", "Add the page");
  const lost = await perform("open_topic", about("Wait for the harbour desk to confirm."));
  const moved = await perform("open_topic", about("one region at a time"));
  const clone = join(temporaryFolder(), "clone");
  execFileSync("git", ["clone", "-q", root, clone]);
  writeFileSync(join(clone, "docs/deploy.md"), otherBranch);
  const servers = [await serve(root), await serve(clone)];
  const states = () =>
    Promise.all(
      servers.map(async ({ url, token }) => {
        const { topics } = (await ask(url, "/api/topics", { token })).json();
        return [lost, moved].map(({ id }) => topics.find((topic: Json) => topic.id === id).anchor.state);
      }),
    );
  const expected = [
    ["anchored", "anchored"],
    ["orphaned", "moved"],
  ];
  await expect.poll(states).toEqual(expected);
  const events = (await allEvents(app)).length;
  for (let round = 0; round < 10; round++) expect(await states()).toEqual(expected);
  expect(await allEvents(app)).toHaveLength(events);
});

test("V5: a large rewrite is compared for all topics of the page together, in a thread", async () => {
  const words =
    "The harbour desk confirms each parcel of the ledger before the node is drained and the tide turns again".split(
      " ",
    );
  const sentence = (n: number) => words.map((_, k) => words[(k * 7 + n * (k + 3)) % words.length]).join(" ");
  const lines = Array.from({ length: 200 }, (_, n) => `Step ${n}: ${sentence(n)}.`);
  const text = `# Handbook\n\n${lines.join("\n\n")}\n`;
  const { root, do: perform, write } = await handbook("sqlite", text);
  const topics: Json[] = [];
  for (let n = 0; n < 20; n++) topics.push(await perform("open_topic", about(`Step ${n * 10}: ${sentence(n * 10)}.`)));
  const { url, token } = await serve(root);
  const rewritten = `# New\n\n${lines
    .slice(0, 60)
    .map((line) => line.replace(/Step|harbour|before|the/g, "now"))
    .join("\n\n")}\n`;
  const settled = async () => {
    const { text: body } = await ask(url, "/metrics", { token });
    return Number(/scriptorium_text_settled\{state="done"\} (\d+)/.exec(body)?.[1]);
  };
  const states = async () =>
    (await ask(url, "/api/topics?limit=100", { token })).json().topics.map((topic: Json) => topic.anchor.state);
  await states();
  expect(await settled()).toBe(0);
  write(rewritten);
  const found = await states();
  expect(found).not.toContain("anchored");
  for (let round = 0; round < 3; round++) expect(await states()).toEqual(found);
  // By the first reader, and at most once more by the server, which notices the edit itself; not once per topic.
  expect(await settled()).toBeLessThanOrEqual(2);
});

describe.each(engines)("V5: an orphan on %s", (engine) => {
  test("V5: is not offered text that was there when it was lost, and is found when its words come back", async () => {
    const { do: perform, write } = await handbook(engine);
    const { id } = await perform("open_topic", about("See the dashboard before you act.", { nth: 1 }));
    const state = async () => (await perform("get_topic", { id })).anchor.state;
    const without = page.replace("\nSee the dashboard before you act.\n", "\n");
    write(without);
    expect(await state()).toBe("orphaned");
    // Without the text around it, the other sentence would be as good a candidate as any.
    write(without.replace("Roll out to one region at a time, and watch the error rate settle.", "Nobody is blamed."));
    expect(await state()).toBe("orphaned");
    write(`${page}\nThe end.\n`);
    expect(await state()).toBe("anchored");
  });
});

test("V5: the search for passages ends when the client that waits for it disconnects", async () => {
  const sentence = (n: number) =>
    `Step ${n} of ${(n * 7919) % 1000} drains node ${(n * 31) % 97} by ${n % 13} harbours.`;
  const lines = Array.from({ length: 300 }, (_, n) => sentence(n));
  const { root, do: perform, write } = await handbook("sqlite", `# Handbook\n\n${lines.join("\n\n")}\n`);
  for (let n = 0; n < 20; n++) await perform("open_topic", about(sentence(n * 15)));
  const { url, token } = await serve(root);
  const metrics = async () => (await ask(url, "/metrics", { token })).text;
  const count = async (name: string) =>
    Number(new RegExp(`scriptorium_text_${name} (\\d+)`).exec(await metrics())?.[1]);

  write(`# New\n\n${lines.map((line) => line.replace(/Step|drains|node|by/g, "now")).join("\n\n")}\n`);
  const leaving = new AbortController();
  const headers = { authorization: `Bearer ${token}` };
  const left = fetch(`${url}/api/topics?limit=100`, { headers, signal: leaving.signal }).catch(() => "left");
  await expect.poll(() => count('threads\\{state="busy"\\}'), { interval: 5, timeout: 10_000 }).toBe(1);
  leaving.abort();
  expect(await left).toBe("left");
  await expect.poll(() => count('settled\\{state="cancelled"\\}')).toBe(1);

  // The server's own search is not the client's: the topics get their states nevertheless.
  const states = async () => (await ask(url, "/api/topics?limit=100", { token })).json().topics;
  await expect
    .poll(async () => (await states()).filter(({ anchor }: Json) => anchor.state === "anchored").length, {
      timeout: 20_000,
    })
    .toBe(0);
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

const passage = (text: string, words: string) => {
  const start = text.indexOf(words);
  return { start, end: start + words.length };
};

test.each(backends)(
  "U2: a passage selected before the page changed is opened on the same words, or refused: $store on $engine",
  async ({ store, engine }) => {
    const { app } = await newWorkspace({ store, engine });
    const perform = call(app);
    const commit = async (content: string) => {
      const { version } = await perform("fetch_entry", { id: "notes" });
      return perform("commit_entry", { id: "notes", content, version });
    };
    await commit(page);
    const read = () => perform("read_page", { path: "wiki/notes.md" });
    const { source_sha, content: first } = await read();
    const selected = { source_path: "wiki/notes.md", source_sha, ...passage(first, "one region at a time") };
    const others = {
      source_path: "wiki/notes.md",
      source_sha,
      ...passage(first, "Wait for the harbour desk to confirm."),
    };

    const moved = page.replace("## Staging", "A new line above everything else.\n\n## Staging");
    await commit(moved);
    const { content: second } = await read();
    const topic = await perform("open_topic", { ...selected, content: "Why?" });
    expect(topic).toMatchObject({ anchor: { state: "anchored", quote: "one region at a time" } });
    expect(topic.anchor.place).toMatchObject(passage(second, "one region at a time"));
    expect(await perform("find_passage", selected)).toMatchObject({
      state: "anchored",
      quote: "one region at a time",
      place: { heading: "Production", ...passage(second, "one region at a time") },
    });
    expect(await perform("reanchor_topic", { id: topic.id, ...others, source_path: undefined })).toMatchObject({
      anchor: { quote: "Wait for the harbour desk to confirm." },
    });

    await commit("# Deploying\n\nNothing of it is left.\n");
    const refused = await perform("open_topic", { ...selected, content: "Why?" });
    expect(refused).toMatchObject({ status: "conflict" });
    expect(refused.message).toMatch(/wiki\/notes.md changed since you selected the passage, .*select it again/);
    expect(await perform("find_passage", selected)).toMatchObject({ state: "orphaned", place: null });
    expect((await perform("list_topics", {})).topics).toHaveLength(1);
  },
);

test("U2: a passage of a page that was never committed is found as long as the server showed it; an unknown text is refused", async () => {
  const { root, write } = await handbook();
  const { url, token } = await serve(root);
  const get = async (path: string) => (await ask(url, path, { token })).json();
  const { source_sha } = await get("/api/rendered/page?path=docs/deploy.md");
  write(`A line above.\n\n${page}`);
  const body = { source_path: "docs/deploy.md", source_sha, content: "Why?", ...passage(page, "smoke tests") };
  const open = async (more: object = {}) =>
    (await ask(url, "/api/topics", { method: "POST", token, body: { ...body, ...more } })).json();
  expect(await open()).toMatchObject({ anchor: { state: "anchored", quote: "smoke tests" } });
  for (const unknown of ["1".repeat(40), "--help", "HEAD:docs/deploy.md"])
    expect(await open({ source_sha: unknown })).toMatchObject({ status: "conflict" });
  const asked = new URLSearchParams({ source_path: "docs/deploy.md", source_sha, start: "2", end: "900000" });
  expect(await get(`/api/passage?${asked}`)).toMatchObject({ status: "invalid" });
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
  expect(await previewTopics(app, "docs/deploy.md", text)).toMatchObject({
    ok: true,
    value: [
      { id: stays.id, from: "anchored", to: "anchored" },
      { id: goes.id, from: "anchored", to: "orphaned", place: null },
    ],
  });
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
