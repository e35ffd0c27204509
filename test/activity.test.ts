import { describe, expect, test } from "vitest";
import { nameOf, type Rank } from "../src/kernel/caller.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { appendEvents } from "../src/store/events.ts";
import { scriptorium } from "./support/commands.ts";
import { agent, engines, newWorkspace, person } from "./support/workspace.ts";

const named = (name: string, rank: Rank) => ({ kind: "person" as const, name, rank, proof: "session" as const });
const grace = named("Grace Hopper", "collaborator");
const rita = named("Rita", "reader");

async function team(engine: (typeof engines)[number]) {
  const files = { "docs/deploy.md": "# Deploy\n\nPush on Fridays.\n", "docs/other.md": "# Other\n" };
  const workspace = await newWorkspace({ engine, files });
  const { app } = workspace;
  const admin = person();
  for (const { name, rank } of [grace, rita]) unwrap(await operations.add_user.perform(app, { name, rank }, admin));
  const read = async (input: object = {}, by: ReturnType<typeof named> | typeof admin = admin) =>
    unwrap(await operations.activity.perform(app, input, by));
  const said = async (input: object = {}, by?: Parameters<typeof read>[1]) =>
    (await read(input, by)).activity.map((row) => `${row.by} ${row.text} ${row.title}`);
  return { ...workspace, admin, read, said };
}

describe.each(engines)("U11: activity (%s)", (engine) => {
  test("U11: it says who did what to which thing, newest first, and leaves out the steps inside", async () => {
    const { app, admin, said, read } = await team(engine);
    const open = { source_path: "docs/deploy.md", content: "Why Fridays?" };
    const { id } = unwrap(await operations.open_topic.perform(app, open, grace));
    unwrap(await operations.reply_topic.perform(app, { id, content: "Because." }, admin));
    unwrap(await operations.resolve_topic.perform(app, { id }, grace));
    unwrap(await operations.mark_read.perform(app, { all: true }, grace));
    expect((await said()).slice(0, 3)).toEqual([
      "Grace Hopper resolved Why Fridays?",
      `${nameOf(person())} replied to Why Fridays?`,
      "Grace Hopper opened a topic: Why Fridays?",
    ]);
    const [newest] = (await read()).activity;
    expect(newest).toMatchObject({ by_kind: "person", about: "topics", subject: `topic:${id}`, run_id: null });
    expect(newest?.source_path).toBe("docs/deploy.md");
  });

  test("U11: it is filtered by person, people or agents, kind of thing, page and run", async () => {
    const { app, admin, said } = await team(engine);
    const open = (source_path: string, by: typeof grace | typeof admin) =>
      operations.open_topic.perform(app, { source_path, content: `about ${source_path}` }, by);
    unwrap(await open("docs/deploy.md", grace));
    unwrap(await open("docs/other.md", admin));
    const planner = agent("planner");
    const { version } = unwrap(await operations.fetch_entry.perform(app, { id: "vision" }, planner));
    unwrap(await operations.commit_entry.perform(app, { id: "vision", content: "Far.\n", version }, planner));
    expect(await said({ by: "Grace Hopper" })).toEqual(["Grace Hopper opened a topic: about docs/deploy.md"]);
    const [byAgent, ...rest] = await said({ who: "agents" });
    expect(byAgent).toMatch(/^planner wrote version \d+ of vision$/);
    expect(rest).toEqual([]);
    expect((await said({ who: "people" })).join("\n")).not.toContain("planner");
    expect(await said({ about: "topics" })).toHaveLength(2);
    expect(await said({ source_path: "docs/other.md" })).toEqual([
      expect.stringMatching(/opened a topic: about docs\/other\.md$/),
    ]);
    expect(await said({ source_path: "wiki/vision.md" })).toContain(byAgent);
    const run = await app.runs.create("Explain scans", "Grace Hopper");
    unwrap(await operations.cancel_run.perform(app, { id: run.id }, grace));
    expect(await said({ run_id: run.id })).toEqual([
      expect.stringMatching(/^Grace Hopper cancelled /),
      expect.stringMatching(/^Grace Hopper created /),
    ]);
    expect(await operations.activity.perform(app, { run_id: "run-none" }, grace)).toMatchObject({
      problem: { code: "not_found" },
    });
  });

  test("U11, S10: only admins see people and tokens in it", async () => {
    const { said, read } = await team(engine);
    expect(await said()).toContain(`${nameOf(person())} added Rita`);
    for (const by of [grace, rita]) {
      expect((await said({}, by)).join("\n")).not.toContain("Rita");
      expect((await read({ about: "people" }, by)).activity).toEqual([]);
    }
  });

  test("U11: pages of it have every row once, also past many events that are not activity", async () => {
    const { app, read } = await team(engine);
    const at = app.now().toISOString();
    const step = { at, actor: "host:1:2/1/worker", kind: "checks-run" as const, subject: "task:t-1", data: {} };
    const edit = (n: number) => ({ at, actor: "Ada", kind: "page-edited" as const, subject: `page:p${n}`, data: {} });
    const settled = {
      at,
      actor: "agent",
      kind: "job-settled" as const,
      subject: "job:j",
      data: { status: "succeeded" },
    };
    await app.db.write(async (tx) => {
      for (let n = 0; n < 30; n++) {
        await appendEvents(tx, app.db.engine, [edit(n), ...Array.from({ length: 700 }, () => step)]);
        await appendEvents(
          tx,
          app.db.engine,
          Array.from({ length: 7 }, () => settled),
        );
      }
      return { ok: true as const, value: undefined };
    });
    const seen: (string | null)[] = [];
    let before: number | null = null;
    do {
      const answer: Awaited<ReturnType<typeof read>> = await read({
        ...{ limit: 4, about: "pages" },
        ...(before === null ? {} : { before }),
      });
      seen.push(...answer.activity.filter(({ by }) => by === "Ada").map(({ title }) => title));
      before = answer.next;
    } while (before !== null);
    expect(seen).toEqual(Array.from({ length: 30 }, (_, n) => `p${29 - n}`));
  });
});

test("U11: the command lists it as sentences, and names the option for older rows", async () => {
  const { app, root } = await newWorkspace({ files: { "docs/deploy.md": "# Deploy\n" } });
  const open = (content: string) =>
    operations.open_topic.perform(app, { source_path: "docs/deploy.md", content }, person());
  for (const words of ["First?", "Second?"]) unwrap(await open(words));
  const { stdout } = await scriptorium(["activity", "--about", "topics", "--limit", "1"], { cwd: root });
  expect(stdout).toMatch(/opened a topic: Second\?\nolder: --before \d+/);
  const json = await scriptorium(["activity", "--page", "docs/deploy.md", "--json"], { cwd: root });
  expect(JSON.parse(json.stdout).activity).toHaveLength(2);
});
