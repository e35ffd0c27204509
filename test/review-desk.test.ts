import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
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
