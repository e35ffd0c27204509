import { describe, expect, test } from "vitest";
import { newTurn, type Rank } from "../src/kernel/caller.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { scriptorium, serve } from "./support/commands.ts";
import { ask } from "./support/requests.ts";
import { engines, newWorkspace, person } from "./support/workspace.ts";

const named = (name: string, rank: Rank) => ({ kind: "person" as const, name, rank, proof: "session" as const });
const grace = named("Grace Hopper", "collaborator");
const rita = named("Rita", "reader");

async function team(engine: (typeof engines)[number]) {
  const workspace = await newWorkspace({ engine, files: { "docs/deploy.md": "# Deploy\n\nPush on Fridays.\n" } });
  const { app } = workspace;
  const admin = person();
  for (const { name, rank } of [grace, rita]) unwrap(await operations.add_user.perform(app, { name, rank }, admin));
  const open = async (content: string) =>
    unwrap(await operations.open_topic.perform(app, { source_path: "docs/deploy.md", content }, admin));
  const notices = async (of: typeof grace) => unwrap(await operations.notifications.perform(app, {}, of));
  return { ...workspace, admin, open, notices };
}

describe.each(engines)("U11: working together (%s)", (engine) => {
  test("U11: a mention notifies the person once; code, addresses and unknown names do not", async () => {
    const { app, admin, open, notices } = await team(engine);
    const { id } = await open("`@Rita`, rita@Rita and @nobody: ask @grace hopper, or @Grace Hopper.");
    expect((await notices(grace)).notifications).toMatchObject([
      { kind: "mentioned", subject: `topic:${id}`, read: false, waiting: true },
    ]);
    expect((await notices(grace)).unread).toBe(1);
    expect((await notices(rita)).notifications).toEqual([]);
    const edit = (content: string) => operations.edit_message.perform(app, { id, seq: 1, content }, admin);
    unwrap(await edit("@Grace Hopper and @Rita"));
    expect((await notices(grace)).notifications).toHaveLength(1);
    expect((await notices(rita)).notifications).toMatchObject([{ kind: "mentioned" }]);
    // Whoever mentions themselves knows it.
    unwrap(await operations.reply_topic.perform(app, { id, content: "@Grace Hopper: done" }, grace));
    expect((await notices(grace)).notifications).toHaveLength(1);
  });

  test("U11: a topic is unread until the person reads it, and again after a reply of somebody else", async () => {
    const { app, admin, open, notices } = await team(engine);
    const { id } = await open("Why Fridays?");
    const listed = async (of: typeof grace) =>
      unwrap(await operations.list_topics.perform(app, {}, of)).topics.map(({ unread }) => unread);
    expect(await listed(grace)).toEqual([true]);
    expect(await listed(admin as typeof grace)).toEqual([false]);
    const read = (input: object) => operations.mark_read.perform(app, input, grace);
    expect(unwrap(await read({ topic_id: id }))).toEqual({ changed: true });
    expect(unwrap(await read({ topic_id: id }))).toEqual({ changed: false });
    expect(await listed(grace)).toEqual([false]);
    expect(await listed(rita)).toEqual([true]);
    unwrap(await operations.reply_topic.perform(app, { id, content: "Because." }, admin));
    expect((await notices(grace)).unread_topics).toEqual([id]);
    unwrap(await read({ all: true }));
    expect(await notices(grace)).toMatchObject({ unread: 0, unread_topics: [] });
    expect((await notices(rita)).unread_topics).toEqual([id]);
    expect(await read({})).toMatchObject({ problem: { code: "invalid" } });
    expect(await read({ topic_id: "t-none" })).toMatchObject({ problem: { code: "not_found" } });
  });

  test("U11: a topic is assigned to somebody who can deal with it, who is notified", async () => {
    const { app, admin, open, notices } = await team(engine);
    const { id } = await open("Who does it?");
    const assign = (assignee: string | null) => operations.assign_topic.perform(app, { id, assignee }, admin);
    expect(await assign("Grace Hoper")).toMatchObject({ problem: { message: /Grace Hopper/ } });
    expect(await assign("Rita")).toMatchObject({ problem: { code: "invalid", message: /reader/ } });
    expect(unwrap(await assign("Grace Hopper"))).toEqual({ id, assignee: "Grace Hopper" });
    unwrap(await assign("Grace Hopper"));
    expect((await notices(grace)).notifications).toMatchObject([{ kind: "assigned", subject: `topic:${id}` }]);
    expect(unwrap(await operations.get_topic.perform(app, { id }, rita)).assignee).toBe("Grace Hopper");
    unwrap(await assign(null));
    expect(unwrap(await operations.list_topics.perform(app, {}, rita)).topics).toMatchObject([{ assignee: null }]);
  });

  test("U11: a proposal notifies those who decide until it is decided; agents have no notifications", async () => {
    const { app, admin, notices } = await team(engine);
    const agent = { kind: "agent" as const, role: "engineer", turn: newTurn() };
    const section = { id: "runbook", title: "Runbook", mode: "log", writable_by: ["engineer"], description: "Steps." };
    unwrap(await operations.create_section.perform(app, section as never, agent));
    expect(await notices(grace)).toMatchObject({ unread: 1, notifications: [{ kind: "proposal", by: "engineer" }] });
    expect((await notices(rita)).notifications).toEqual([]);
    const [open] = unwrap(await operations.list_proposals.perform(app, {}, admin)).proposals;
    unwrap(await operations.reject_proposal.perform(app, { id: open?.id ?? "", note: "Not now." }, admin));
    expect(await notices(grace)).toMatchObject({ unread: 0, notifications: [{ waiting: false }] });
    for (const refused of [
      await operations.notifications.perform(app, {}, agent),
      await operations.mark_read.perform(app, { all: true }, agent),
      await operations.list_names.perform(app, {}, agent),
    ])
      expect(refused).toMatchObject({ problem: { code: "denied" } });
  });
});

test("U11: HTTP and the commands assign and list, and nobody else sees what a person has read", async () => {
  const { app, root, open } = await team("sqlite");
  const { id } = await open("@Grace Hopper: why?");
  const made = { kind: "person", name: grace.name, rank: "collaborator" };
  const { token } = unwrap(await operations.create_token.perform(app, made as never, person()));
  const assigned = await scriptorium(["topic", "assign", id, "Grace", "Hopper", "--json"], { cwd: root });
  expect(JSON.parse(assigned.stdout)).toEqual({ id, assignee: "Grace Hopper" });
  const listed = await scriptorium(["notifications", "--token", token], { cwd: root });
  expect(listed.stdout).toContain(`topic:${id}`);
  expect(listed.stdout).toContain("2 unread notifications, 1 unread topic");

  const { url, token: owner } = await serve(root);
  const names = (await ask(url, "/api/names", { token })).json().names;
  expect(names).toContainEqual({ name: "Grace Hopper", kind: "person", assignable: true, is_you: true });
  expect(names).toContainEqual({ name: "engineer", kind: "agent", assignable: false, is_you: false });
  const marked = await ask(url, "/api/read", { method: "POST", token, body: { topic_id: id } });
  expect(marked.json()).toEqual({ changed: true });
  expect((await ask(url, "/api/notifications", { token })).json()).toMatchObject({ unread_topics: [] });

  const seenBy = async (reader: string) => {
    const stop = new AbortController();
    const headers = { authorization: `Bearer ${reader}` };
    const answer = await fetch(`${url}/api/events?after=0`, { headers, signal: stop.signal });
    let text = "";
    for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
      text += new TextDecoder().decode(chunk);
      if (text.includes(": still here") || text.includes("reading-marked")) break;
    }
    stop.abort();
    return text;
  };
  expect(await seenBy(token)).toContain("reading-marked");
  const others = await seenBy(owner);
  expect(others).toContain("topic-assigned");
  expect(others).not.toContain("reading-marked");
});
