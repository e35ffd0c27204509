import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { ownerToken } from "../src/people/token-person.ts";
import { scriptorium, serve } from "./support/commands.ts";
import { jobWorkspace, over, runQueue } from "./support/jobs.ts";
import { ask } from "./support/requests.ts";
import { agent, allEvents, newWorkspace, person, read, sampledEngines } from "./support/workspace.ts";

const path = "docs/deploy.md";
const text = "# Deploy\n\nWe deploy on Fridays.\n\nBuild first.\n\nThen pray.\n\nGo home.\n";
const better = text.replace("Fridays", "Tuesdays").replace("pray", "watch");
const identity = "agent:\n  author_name: Larkspur Scribe\n  author_email: scribe@example.org\n";

async function proposed(app: App, content = better) {
  const opened = { source_path: path, content: "Deploy earlier in the week.", quote: "on Fridays" };
  const topic = unwrap(await operations.open_topic.perform(app, opened, person()));
  return { topic: topic.id, id: await propose(app, topic.id, topic.source_sha ?? "", content) };
}

async function propose(app: App, topic_id: string, base_sha: string, content: string): Promise<string> {
  const input = { topic_id, base_sha, content };
  return unwrap(await operations.insert_proposal.perform(app, input, agent("engineer"))).id;
}

const show = async (app: App, id: string) =>
  unwrap(await operations.show_proposal.perform(app, { id }, person("reader")));
const comment = (app: App, input: object) => operations.comment_on_line.perform(app, input, person("collaborator"));
const take = (app: App, input: object) => operations.take_changes.perform(app, input, person("collaborator"));

describe.each(sampledEngines)("R3: the review desk, on %s", (engine) => {
  const workspace = () => newWorkspace({ engine, config: identity, files: { [path]: text } });

  test("R3: a comment on a line is a message of the topic, and follows its line into later revisions until it is gone", async () => {
    const { app } = await workspace();
    const { id, topic } = await proposed(app);
    unwrap(await comment(app, { id, line: 7, content: "Watch what?" }));
    unwrap(await comment(app, { id, side: "old", line: 3, content: "Fridays were fine." }));
    expect((await show(app, id)).line_comments).toMatchObject([
      { seq: 2, side: "new", line: 7, place: 7, quote: "Then watch.", content: "Watch what?", revision_number: 1 },
      { seq: 3, side: "old", line: 3, place: 3, quote: "We deploy on Fridays." },
    ]);
    const { messages, source_sha } = unwrap(await operations.get_topic.perform(app, { id: topic }, person()));
    expect(messages.map(({ content }) => content).slice(1)).toEqual(["Watch what?", "Fridays were fine."]);
    const moved = await propose(app, topic, source_sha ?? "", better.replace("Build", "Test.\n\nBuild"));
    expect((await show(app, moved)).line_comments.map(({ place }) => place)).toEqual([9, 3]);
    const gone = await propose(app, topic, source_sha ?? "", better.replace("watch", "look"));
    expect((await show(app, gone)).line_comments).toMatchObject([
      { place: null, line: 7, revision_number: 1 },
      { place: 3 },
    ]);
    expect(await comment(app, { id, line: 70, content: "x" })).toMatchObject({
      problem: { code: "invalid", message: expect.stringContaining("has no line 70") },
    });
  });

  test("R3: taking some changes makes a revision by the person, names what was left out, and is approved as usual", async () => {
    const { app, root } = await workspace();
    const { id, topic } = await proposed(app);
    expect((await show(app, id)).impact?.changes).toEqual([
      { number: 1, line: 3 },
      { number: 2, line: 7 },
    ]);
    const made = unwrap(await take(app, { id, changes: [{ number: 1 }], note: "Say what to watch." }));
    expect(made).toMatchObject({ revision_number: 2, left_out: [2], edited: [] });
    expect(await show(app, made.id)).toMatchObject({
      proposed_by: "Ada Lovelace",
      job_id: null,
      data: { taken_from: id, left_out: [2] },
      content: text.replace("Fridays", "Tuesdays"),
    });
    const { messages } = unwrap(await operations.get_topic.perform(app, { id: topic }, person()));
    expect(messages.at(-1)?.content).toMatch(
      /^Say what to watch\.[\s\S]*Change 2, line 7:\n {4}-Then pray\.\n {4}\+Then watch\./,
    );
    const opened = (await allEvents(app)).filter(({ kind }) => kind === "proposal-opened").at(-1);
    expect(opened?.data).toMatchObject({ taken_from: id, left_out: [2] });
    expect(await take(app, { id, changes: [{ number: 2 }] }), "a stale revision").toMatchObject({
      problem: { code: "conflict", message: expect.stringContaining("superseded") },
    });
    unwrap(await operations.approve_proposal.perform(app, { id: made.id }, person()));
    expect(read(join(root, path))).toBe(text.replace("Fridays", "Tuesdays"));
  });
});

test("R3: two people who take changes of one revision at once make one revision", async () => {
  const { app } = await newWorkspace({ config: identity, files: { [path]: text } });
  const { id } = await proposed(app);
  const both = await Promise.all([1, 2].map((number) => take(app, { id, changes: [{ number }] })));
  expect(both.filter(({ ok }) => ok)).toHaveLength(1);
});

test("R3, R10: an agent that revises a returned proposal is sent the comments on its lines", async () => {
  const { app } = await jobWorkspace();
  const topic = unwrap(
    await operations.open_topic.perform(app, { source_path: path, content: "Which button?" }, person()),
  );
  const id = await propose(app, topic.id, topic.source_sha ?? "", "# Deploy\n\nPush the red button.\n");
  unwrap(await comment(app, { id, line: 3, content: "Red is for emergencies." }));
  const prompts: string[] = [];
  await runQueue(app, async ({ prompt }) => {
    prompts.push(prompt);
  });
  const returned = { id, content: "Another colour." };
  const { job_id } = unwrap(await operations.request_revision.perform(app, returned, person("collaborator")));
  await over(app, job_id ?? "");
  expect(prompts[0]).toContain('wrote on line 3 of the proposed text, "Push the red button.": Red is for emergencies.');
  expect(prompts[0]).toContain("Another colour.");
});

test("R3, R10: an agent that revises is not sent resolved comments, but open ones of earlier revisions", async () => {
  const { app } = await jobWorkspace();
  const opened = { source_path: path, content: "Which button?" };
  const topic = unwrap(await operations.open_topic.perform(app, opened, person()));
  const first = await propose(app, topic.id, topic.source_sha ?? "", "# Deploy\n\nPush the red button.\n");
  unwrap(await comment(app, { id: first, line: 3, content: "Red is for emergencies." }));
  unwrap(await comment(app, { id: first, line: 1, content: "Shorter title." }));
  const second = await propose(app, topic.id, topic.source_sha ?? "", "# Deploy\n\nPush the blue button.\n");
  const resolve = (input: object) =>
    operations.resolve_line_comment.perform(app, input as never, person("collaborator"));
  expect(unwrap(await resolve({ id: second, seq: 2 }))).toMatchObject({ resolved_by: "Ada Lovelace", place: null });
  expect(unwrap(await resolve({ id: second, seq: 2, resolved: false }))).toMatchObject({ resolved_at: null });
  unwrap(await resolve({ id: second, seq: 2 }));
  expect(await resolve({ id: second, seq: 1 })).toMatchObject({ problem: { code: "not_found" } });
  const kinds = (await allEvents(app)).map(({ kind }) => kind).filter((kind) => kind.includes("-comment-"));
  expect(kinds).toEqual(["proposal-comment-resolved", "proposal-comment-reopened", "proposal-comment-resolved"]);
  const prompts: string[] = [];
  await runQueue(app, async ({ prompt }) => {
    prompts.push(prompt);
  });
  const returned = { id: second, content: "Another colour." };
  const { job_id } = unwrap(await operations.request_revision.perform(app, returned, person("collaborator")));
  await over(app, job_id ?? "");
  expect(prompts[0]).not.toContain("Red is for emergencies.");
  expect(prompts[0]).toContain('wrote on line 1 of the proposed text of revision 1, "# Deploy": Shorter title.');
});

test("R3: the transcript of a job has what its agent was sent, said and called, without secrets, also while it works", async () => {
  const { app, root } = await jobWorkspace();
  const opened = { source_path: path, content: "Which button?" };
  const topic = unwrap(await operations.open_topic.perform(app, opened, person()));
  const token = ownerToken(app.config.stateFolder);
  const live: string[][] = [];
  const transcript = async (id: string) =>
    unwrap(await operations.job_transcript.perform(app, { id, cursor: "0" }, person("collaborator")));
  await runQueue(app, async ({ id, tools, onEntry }) => {
    onEntry?.({ kind: "said", text: `I read the topic with ${token}.` });
    await tools?.call("get_topic", { id: topic.id });
    await expect.poll(async () => (await transcript(id)).entries.length).toBe(3);
    const { entries, running } = await transcript(id);
    live.push([...entries.map(({ kind }) => kind), running ? "running" : "over"]);
    await tools?.call("get_topic", { id: "t-other" });
    const content = "# Deploy\n\nPush the green button.\n";
    await tools?.call("insert_proposal", { topic_id: topic.id, base_sha: topic.source_sha, content });
    return {};
  });
  const input = { kind: "incorporate" as const, topic_id: topic.id };
  const { job_id } = unwrap(await operations.start_job.perform(app, input, person("collaborator")));
  await over(app, job_id);
  expect(live).toEqual([["sent", "said", "call", "running"]]);
  const { entries, running } = await transcript(job_id);
  expect(running).toBe(false);
  expect(entries).toMatchObject([
    { kind: "sent", text: expect.stringContaining(`Topic ID: ${topic.id}`) },
    { kind: "said", text: "I read the topic with [redacted]." },
    { kind: "call", tool: "get_topic", ok: true, output: expect.stringContaining("Which button?") },
    { kind: "call", tool: "get_topic", ok: false },
    { kind: "call", tool: "insert_proposal", ok: true, input: expect.stringContaining("green button") },
    { kind: "ended", text: "exit" },
  ]);
  const last = unwrap(await operations.job_transcript.perform(app, { id: job_id, limit: 2 }, person("collaborator")));
  expect(last).toMatchObject({ earlier: true, cursor: "6", entries: [{ n: 5 }, { n: 6 }] });
  expect(await operations.job_transcript.perform(app, { id: job_id }, person("reader"))).toMatchObject({
    problem: { code: "denied" },
  });
  expect((await scriptorium(["job", "transcript", job_id], { cwd: root })).stdout).toContain("call insert_proposal");
});

test("R3: the effects of a proposal name links that it adds, removes and breaks, and open proposals that it conflicts with", async () => {
  const linked =
    "# Deploy\n\nSee [the depot](depot.md).\n\n## Steps\n\nBuild first.\n\nThen pray.\n\n## After\n\nLook around.\n\nGo home.\n";
  const { app } = await newWorkspace({ files: { "docs/depot.md": "# Depot\n", "docs/deploy.md": linked } });
  const { version } = unwrap(await operations.fetch_entry.perform(app, { id: "vision" }, person()));
  const content = "# Vision\n\nSee [[page:docs/deploy.md#Steps]] and [steps](../docs/deploy.md#steps).\n";
  unwrap(await operations.commit_entry.perform(app, { id: "vision", content, version }, person()));
  await app.links.catchUp();
  const opened = async (content: string) => {
    const topic = unwrap(await operations.open_topic.perform(app, { source_path: path, content }, person()));
    return (text: string) => propose(app, topic.id, topic.source_sha ?? "", text);
  };
  const id = await (await opened("Other links"))(
    linked
      .replace("[the depot](depot.md)", "[[vision]] and [[nowhere/at-all]]")
      .replace("## Steps", "## Order")
      .replace("pray", "watch"),
  );
  const rival = await (await opened("Praying"))(linked.replace("Then pray.", "Then hope."));
  const friend = await (await opened("Title"))(linked.replace("Go home.", "Go to lunch."));
  const { relations } = (await show(app, id)).impact ?? {};
  expect(relations).toMatchObject({
    links_added: [
      { name: "entry:vision", missing: false },
      { name: "entry:nowhere/at-all", missing: true },
    ],
    links_removed: [{ name: "page:docs/depot.md", path: "docs/depot.md" }],
    links_in_broken: [{ path: "wiki/vision.md", heading: "Steps" }],
  });
  const others = new Map(relations?.same_page.map((one) => [one.id, one.conflict]));
  expect([others.get(rival), others.get(friend), others.size]).toEqual([true, false, 2]);
});

test("R3: over HTTP and in a shell, lines are commented and changes taken with the same checks", async () => {
  const { app, root } = await newWorkspace({ files: { [path]: text } });
  const { id } = await proposed(app);
  const { url, token } = await serve(root);
  const post = (at: string, body: object) => ask(url, `/api/proposals/${id}${at}`, { method: "POST", token, body });
  expect((await post("/lines", { line: 3, content: "Why?" })).json()).toMatchObject({
    quote: "We deploy on Tuesdays.",
  });
  expect((await post("/changes", { changes: [{ number: 9 }] })).json()).toMatchObject({
    error: expect.stringContaining("there is no change 9; the proposal has 2"),
  });
  expect((await post("/changes", { changes: [] })).status).toBe(400);
  const run = (...args: string[]) => scriptorium(["proposal", ...args], { cwd: root });
  expect((await run("comment", id, "--old-line", "7", "Praying", "helps.")).stdout).toContain("line 7");
  const shown = (await run("show", id)).stdout;
  expect(shown).toContain("on old line 7: Praying helps.");
  expect(shown).toContain("changes: 1 (line 3), 2 (line 7)");
  expect((await run("resolve", id, "3")).stdout).toContain("comment 3 of");
  expect((await run("show", id)).stdout).toContain("on old line 7: Praying helps. (resolved)");
  expect((await post("/lines/3/resolution", { resolved: false })).json()).toMatchObject({ resolved_at: null });
  const taken = (await run("take", id, "--changes", "2", "--json")).stdout;
  expect(JSON.parse(taken)).toMatchObject({ revision_number: 2, left_out: [1] });
});

test("U3: a decision that waits does not take effect once its person is a reader or was removed", async () => {
  const { app, root } = await newWorkspace({ config: identity, files: { [path]: text } });
  const { id } = await proposed(app);
  unwrap(await app.users.add({ name: "Grace Hopper", email: undefined, role: "collaborator" }, "Ada Lovelace"));
  const grace = { ...person("collaborator"), name: "Grace Hopper" };
  unwrap(await operations.decide_proposal.perform(app, { id, decision: "approve" }, grace));
  unwrap(await app.users.change("Grace Hopper", "reader", "Ada Lovelace"));
  await expect
    .poll(() => app.pendingDecisions.of(id)?.problem?.message, { timeout: 30_000 })
    .toMatch(/is now a reader/);
  expect(read(join(root, path))).toBe(text);
});
