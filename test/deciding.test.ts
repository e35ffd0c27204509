import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { scriptorium, serve } from "./support/commands.ts";
import { authorship } from "./support/jobs.ts";
import { ask } from "./support/requests.ts";
import { agent, allEvents, newWorkspace, person, read, sampledEngines } from "./support/workspace.ts";

const config = `agent: ${JSON.stringify({ ...authorship, runner: "command", command: ["/bin/true"] })}\n`;
const pages = ["one", "two", "three", "four"].map((name) => `docs/${name}.md`);
const files = Object.fromEntries(pages.map((path) => [path, `# Page\n\nIt begins at ${path}.\n`]));
const longer = (path: string, more: string) => `${files[path]}\n${more}\n`;

/** Opens a topic about a page, and proposes the page with a line more. */
async function propose(app: App, path: string, more = "And it ends."): Promise<string> {
  const opened = { source_path: path, kind: "change", content: "Say where it ends." };
  const topic = unwrap(await operations.open_topic.perform(app, opened, person()));
  const { source_sha } = unwrap(await operations.get_topic.perform(app, { id: topic.id }, person()));
  const proposed = { topic_id: topic.id, base_sha: source_sha, content: longer(path, more) };
  return unwrap(await operations.insert_proposal.perform(app, proposed, agent("engineer"))).id;
}

describe.each(sampledEngines)("U3: a decision in the browser, on %s", (engine) => {
  test("U3: takes effect after ten seconds, can be undone before, and says why it could not", async () => {
    const { app, root, git } = await newWorkspace({ engine, config, files });
    const [first, undone, stale, dropped] = await Promise.all(pages.map((path) => propose(app, path)));
    const { url, token, stop } = await serve(root);
    const decide = (id = "", body: object = { decision: "approve" }) =>
      ask(url, `/api/proposals/${id}/decision`, { method: "POST", token, body });
    const undo = (id = "") => ask(url, `/api/proposals/${id}/decision`, { method: "DELETE", token });
    const show = async (id = "") => (await ask(url, `/api/proposals/${id}`, { token })).json();

    expect((await decide(first, { decision: "approve", note: "Good." })).json()).toMatchObject({
      id: first,
      pending: { decision: "approve", by: "Ada Lovelace", problem: null },
    });
    expect((await decide(undone, { decision: "reject" })).status).toBe(200);
    expect((await decide(stale)).status).toBe(200);
    expect((await decide(first, { decision: "reject" })).json()).toMatchObject({
      status: "conflict",
      message: expect.stringContaining("Ada Lovelace just approved"),
    });
    const waiting = await show(first);
    expect(waiting).toMatchObject({ status: "open", pending: { decision: "approve" } });
    expect(waiting.pending.remaining_ms).toBeGreaterThan(0);
    const { proposals } = (await ask(url, "/api/inbox", { token })).json();
    expect(proposals.map((one: { id: string; pending: unknown }) => [one.id, one.pending !== null]).sort()).toEqual(
      [
        [first, true],
        [undone, true],
        [stale, true],
        [dropped, false],
      ].sort(),
    );

    expect((await undo(undone)).status).toBe(200);
    expect((await undo(undone)).status).toBe(409);
    expect(await show(undone)).toMatchObject({ status: "open", pending: null });
    writeFileSync(join(root, pages[2] ?? ""), "# Page\n\nSomeone else was here.\n");
    git("commit", "-qam", "Change the third page");

    await expect.poll(async () => (await show(first)).status, { timeout: 30_000 }).toBe("approved");
    expect(await show(first)).toMatchObject({ note: "Good.", decided_by: "Ada Lovelace", pending: null });
    expect(read(join(root, pages[0] ?? ""))).toContain("And it ends.");
    await expect.poll(async () => (await show(stale)).pending?.problem).toContain("changed since you opened");
    expect(await show(stale)).toMatchObject({ status: "open" });
    expect(await show(undone)).toMatchObject({ status: "open", pending: null });
    const kinds = (await allEvents(app)).filter(({ kind }) => /decid|decision/.test(kind));
    expect(kinds.map(({ kind, subject }) => `${kind} ${subject}`)).toEqual(
      expect.arrayContaining([
        `proposal-deciding proposal:${first}`,
        `proposal-decision-undone proposal:${undone}`,
        `proposal-decision-failed proposal:${stale}`,
      ]),
    );

    expect((await decide(dropped)).status).toBe(200);
    await stop();
    const again = await serve(root);
    const after = (await ask(again.url, `/api/proposals/${dropped}`, { token: again.token })).json();
    expect(after).toMatchObject({ status: "open", pending: null });
  });
});

test("U3, T5: no agent and no reader decides, undoes a decision, or decides without proof", async () => {
  const { app } = await newWorkspace({ config, files });
  const id = await propose(app, "docs/one.md");
  const { proof: _proof, ...unproven } = person() as { proof?: string; kind: "person"; name: string; rank: "admin" };
  for (const caller of [agent("planner"), person("reader"), unproven]) {
    expect(await operations.decide_proposal.perform(app, { id, decision: "approve" }, caller)).toMatchObject({
      problem: { code: "denied" },
    });
    expect(await operations.undo_decision.perform(app, { id }, caller)).toMatchObject({ problem: { code: "denied" } });
  }
});

test("U3, T35: a text with hidden characters is approved on no face without their acknowledgement", async () => {
  const { app, root } = await newWorkspace({ config, files });
  const id = await propose(app, "docs/one.md", "Pay \u202eeva\u202c now.");
  const named = expect.stringContaining("line 5: U+202E U+202C");
  expect(await operations.approve_proposal.perform(app, { id }, person())).toMatchObject({
    problem: { code: "refused", message: named },
  });
  const { url, token } = await serve(root);
  for (const path of ["approve", "decision"]) {
    const body = path === "decision" ? { decision: "approve" } : {};
    const answer = await ask(url, `/api/proposals/${id}/${path}`, { method: "POST", token, body });
    expect(answer).toMatchObject({ status: 422 });
    expect(answer.json()).toMatchObject({ error: named });
  }
  const refused = await scriptorium(["proposal", "approve", id], { cwd: root });
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("--accept-hidden") });
  expect(read(join(root, "docs/one.md"))).toBe(files["docs/one.md"]);
  const approved = await scriptorium(["proposal", "approve", id, "--accept-hidden"], { cwd: root });
  expect(approved).toMatchObject({ code: 0 });
  expect(read(join(root, "docs/one.md"))).toContain("\u202eeva");

  const section = { id: "risks", title: "Risks", mode: "log", writable_by: [], description: "What may\u200b fail." };
  unwrap(await operations.create_section.perform(app, section, agent("planner")));
  const [open] = await app.proposals.list("open");
  expect(await operations.approve_proposal.perform(app, { id: open?.id }, person())).toMatchObject({
    problem: { code: "refused", message: expect.stringContaining("description: U+200B") },
  });
});
