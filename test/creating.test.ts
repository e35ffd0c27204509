import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operationNamed } from "../src/operation-list.ts";
import type { OperationName } from "../src/operation-loaders.ts";
import { scriptorium } from "./support/commands.ts";
import { agent, allEvents, engines, newWorkspace, person, read } from "./support/workspace.ts";

const perform = <N extends OperationName>(app: App, name: N, input: object, caller = person()) =>
  operationNamed(name).perform(app, input, caller);
const ask = async <N extends OperationName>(app: App, name: N, input: object, caller = person()) =>
  unwrap(await perform(app, name, input, caller));

const files = { "docs/plan.md": "# Plan\n\nFirst rest.\n" };

describe.each(engines)("U11: creating pages and proposing edits (%s)", (engine) => {
  test("U11: a page is created once, also when two people create it at the same time", async () => {
    const { app, git } = await newWorkspace({ engine, files });
    const create = (content: string) => perform(app, "create_page", { path: "docs/new/deploy.md", content });
    const done = await Promise.all([create("# One\n"), create("# Two\n")]);
    expect(done.filter(({ ok }) => ok)).toHaveLength(1);
    expect(done.find(({ ok }) => !ok)).toMatchObject({ problem: { code: "conflict" } });
    await app.recorder.drain(10_000);
    expect(git("show", "HEAD:docs/new/deploy.md")).toMatch(/^# (One|Two)$/);
    expect(git("status", "--porcelain")).toBe("");
    const events = (await allEvents(app)).filter(({ subject }) => subject === "page:docs/new/deploy.md");
    expect(events.map(({ kind, actor }) => `${kind} ${actor}`)).toEqual(["page-created Ada Lovelace"]);
    expect((await ask(app, "search", { query: "One Two" })).results.map(({ id }) => id)).toContain(
      "docs/new/deploy.md",
    );
    expect((await ask(app, "doctor", {})).findings.filter(({ state }) => state === "problem")).toEqual([]);
  });

  test("U11: a proposal by hand opens its topic in the same transaction, and is approved by the rules for all", async () => {
    const { app, git } = await newWorkspace({ engine, files });
    const { source_sha: base_sha, content } = await ask(app, "read_page", { path: "docs/plan.md" });
    const edit = { source_path: "docs/plan.md", base_sha, message: "Work was missing." };
    const same = await perform(app, "propose_edit", { ...edit, content });
    expect(same).toMatchObject({ ok: false, problem: { message: expect.stringContaining("identical") } });
    expect((await ask(app, "list_topics", {})).topics).toEqual([]);

    const made = await ask(app, "propose_edit", { ...edit, content: `${content}Then work.\n` });
    const topic = await ask(app, "get_topic", { id: made.topic_id });
    expect(topic).toMatchObject({ source_path: "docs/plan.md", messages: [{ content: "Work was missing." }] });
    const again = { ...edit, message: "Better words.", topic_id: made.topic_id, content: `${content}Then play.\n` };
    const second = await ask(app, "propose_edit", again);
    expect(second).toMatchObject({ topic_id: made.topic_id, revision_number: 2 });
    expect((await ask(app, "show_proposal", { id: made.id })).status).toBe("superseded");
    expect((await ask(app, "get_topic", { id: made.topic_id })).messages).toHaveLength(2);
    const reader = { ...person(), rank: "reader" as const };
    expect(await perform(app, "propose_edit", { ...again }, reader)).toMatchObject({ problem: { code: "denied" } });
    expect(await perform(app, "propose_edit", { ...again }, agent("planner"))).toMatchObject({
      problem: { code: "denied" },
    });
    const { commit } = await ask(app, "approve_proposal", { id: second.id });
    expect(git("show", "-s", "--format=%an", commit ?? "")).toBe("Ada Lovelace");
    expect(git("show", "HEAD:docs/plan.md")).toContain("Then play.");
  });
});

test("U11: a path is checked before anything is written: taken, reserved, ignored, in the wiki, outside", async () => {
  const { app, root, git } = await newWorkspace({ files });
  writeFileSync(join(root, ".gitignore"), ".scriptorium/\nprivate/\n");
  mkdirSync(join(root, "empty.md"));
  const check = async (path: string) => {
    const { free, reason } = await ask(app, "check_page_path", { path });
    return free ? "free" : reason;
  };
  expect(await check("docs/deploy.md")).toBe("free");
  expect(await check("new/folder/deploy.markdown")).toBe("free");
  expect(await check("docs/plan.md")).toBe("exists");
  expect(await check("docs/Plan.md")).toBe("exists");
  expect(await check("empty.md")).toBe("exists");
  expect(await check("../out.md")).toBe("name");
  expect(await check("docs/aux.md")).toBe("name");
  expect(await check(".git/x.md")).toBe("name");
  expect(await check("docs/x\u202Edm.md")).toBe("name");
  expect(await check("docs/plan.md/x.md")).toBe("folder");
  expect(await check("sources/x.md")).toBe("folder");
  expect(await check("private/x.md")).toBe("ignored");
  expect(await check("wiki/vision.md")).toBe("entry");
  expect(await check("wiki/limits.md")).toBe("section");
  const head = git("rev-parse", "HEAD");
  for (const path of ["docs/plan.md", "../out.md", "wiki/limits.md", "private/x.md"])
    expect(await perform(app, "create_page", { path, content: "# X\n" })).toMatchObject({ ok: false });
  const unproven = { ...person(), proof: undefined } as never;
  expect(await perform(app, "create_page", { path: "docs/x.md", content: "# X\n" }, unproven)).toMatchObject({
    problem: { code: "denied" },
  });
  expect(git("rev-parse", "HEAD")).toBe(head);
  expect(existsSync(join(root, "../out.md"))).toBe(false);
});

test("U11: the commands create a page, propose a section and propose an edit", async () => {
  const { root, git, app } = await newWorkspace({ files });
  const { source_sha } = await ask(app, "read_page", { path: "docs/plan.md" });
  await app.close();
  const run = (args: string[], input?: string) => scriptorium(args, { cwd: root, ...(input ? { input } : {}) });
  const made = await run(["page", "new", "docs/how-we-deploy.md", "--template", "guide"]);
  expect(made.stdout).toBe("docs/how-we-deploy.md is created\n");
  expect(read(join(root, "docs/how-we-deploy.md"))).toMatch(/^# How we deploy\n\nWhat this is for/);
  expect(git("log", "-1", "--format=%an %s")).toBe("Ada Lovelace Create docs/how-we-deploy.md");
  const again = await run(["page", "new", "docs/how-we-deploy.md"]);
  expect(again.stderr).toContain("docs/how-we-deploy.md already exists");
  const inWiki = await run(["page", "new", "wiki/limits.md"]);
  expect(inWiki.stderr).toContain("scriptorium section propose limits");
  const section = await run([
    ...["section", "propose", "limits", "--title", "Limits", "--writable-by", "planner"],
    ...["--description", "What we ran into."],
  ]);
  expect(section.stdout).toMatch(/^section limits is proposed; a person approves proposal p-/);
  const edit = ["proposal", "open", "--page", "docs/plan.md", "--message", "Work.", "--base", source_sha];
  expect((await run(edit, "# Plan\n\nWork.\n")).stdout).toMatch(/^p-\w+ is open for review, with topic t-\w+\n$/);
  expect((await run(["proposal", "open", "--base", source_sha])).stderr).toContain("either --topic or --page");
});
