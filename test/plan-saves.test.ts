import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { scriptoriumProcess, serve } from "./support/commands.ts";
import { newRun, planned } from "./support/crew.ts";
import { crewOfOneModel } from "./support/crew-mind.ts";
import { program } from "./support/jobs.ts";
import { ask } from "./support/requests.ts";
import { newWorkspace, person, read, sampledEngines } from "./support/workspace.ts";

describe.each(sampledEngines)("U6: saving a plan, on %s", (engine) => {
  test("U6: a save over another's plan, or over edits of its file, is a conflict with the latest text", async () => {
    const { root, app } = await newWorkspace({ engine });
    const run = await newRun(app, [planned("0"), planned("1.1")]);
    const { url, token } = await serve(root);
    const at = `/api/runs/${run}/plan`;
    const save = (body: object) => ask(url, at, { method: "PUT", token, body });
    const first = (await ask(url, at, { token })).json();
    expect(first.defaults).toEqual({ workers: 3, budget_tokens: null, budget_usd: null });
    expect((await save({ content: first.content })).json()).toMatchObject({
      status: "invalid",
      error: expect.stringContaining("base_hash"),
    });

    const theirs = first.content.replace("Do 1.1", "Do 1.1 at once");
    const saved = (await save({ content: theirs, base_hash: first.text_hash })).json();
    const inFile = theirs.replace(/Based on: .*/, `Based on: ${saved.plan_hash.slice(0, 16)}`);
    expect(saved).toMatchObject({ content: inFile, tasks: [{ title: "Do 0" }, { title: "Do 1.1 at once" }] });
    const mine = first.content.replace("Do 0", "Do 0 first");
    const refused = await save({ content: mine, base_hash: first.text_hash });
    expect(refused.status).toBe(409);
    expect(refused.json()).toMatchObject({ status: "conflict", latestContent: inFile, text_hash: saved.text_hash });
    const both = mine.replace("Do 1.1", "Do 1.1 at once");
    const merged = (await save({ content: both, base_hash: refused.json().text_hash })).json();
    expect(merged.tasks).toMatchObject([{ title: "Do 0 first" }, { title: "Do 1.1 at once" }]);

    const file = app.runs.chainPath(run);
    const edited = read(file).replace("Do 0 first", "Do 0 by hand");
    writeFileSync(file, edited);
    const over = await save({ content: both, base_hash: merged.text_hash });
    expect(over.json()).toMatchObject({ status: "conflict", latestContent: edited });
    expect(read(file)).toBe(edited);
    expect((await save({ content: edited, base_hash: over.json().text_hash })).status).toBe(200);
  });
});

describe.each(sampledEngines)("U6: versions of a plan, on %s", (engine) => {
  test("U6: every save is listed with its author, can be compared with any other, and is restored as a new save", async () => {
    const { root, app } = await newWorkspace({ engine });
    const run = await newRun(app, [planned("0"), planned("1.1")]);
    const { content, text_hash } = unwrap(await operations.show_plan.perform(app, { id: run }, person()));
    const edited = content.replace("Do 1.1", "Do 1.1 at once");
    unwrap(await operations.save_plan.perform(app, { id: run, content: edited, base_hash: text_hash }, person()));
    const cli = (...words: string[]) => scriptoriumProcess(["run", "plan", ...words], { cwd: root });
    expect((await cli("list", run, "--json")).json()).toMatchObject([
      { version: 2, current: true, tasks: 2, by: expect.any(String), at: expect.any(String) },
      { version: 1, current: false },
    ]);
    expect((await cli("diff", run, "2")).stdout).toContain("Do 1.1 at once");
    expect((await cli("diff", run, "1", "--against", "2", "--json")).json()).toMatchObject({
      ...{ version: 1, against: 2, diff: expect.stringContaining("-## Task 1.1: Do 1.1 at once") },
    });
    const none = await cli("show", run, "7");
    expect(none.code).not.toBe(0);
    expect(none.stderr).toContain("has no version 7; its versions are 1 to 2");

    const file = app.runs.chainPath(run);
    const saved = read(file);
    writeFileSync(file, saved.replace("Do 0", "Do 0 by hand"));
    const over = await cli("restore", run, "1");
    expect(over.code).not.toBe(0);
    expect(over.stderr).toContain("has edits that are not saved");
    expect(read(file)).toContain("Do 0 by hand");
    writeFileSync(file, saved);

    const { url, token } = await serve(root);
    const restore = (version: number) =>
      ask(url, `/api/runs/${run}/plan/versions/${version}/restore`, { method: "POST", token, body: {} });
    expect((await restore(2)).json()).toMatchObject({
      status: "conflict",
      message: expect.stringContaining("the same"),
    });
    expect((await restore(1)).json()).toMatchObject({ version: 3, restored: 1 });
    expect((await app.runs.find(run))?.plan?.tasks.map(({ title }) => title)).toEqual(["Do 0", "Do 1.1"]);
    expect(read(file)).toBe(content);
    expect((await cli("list", run, "--json")).json()).toHaveLength(3);
  });
});

describe.each(sampledEngines)("O3: a plan file that is based on an older plan, on %s", (engine) => {
  test("O3: execute and run resume refuse its edits, on the command line and over HTTP, and say how to go on", async () => {
    const tasks = [planned("0"), planned("1.1")];
    const { root, app } = await newWorkspace({ engine, config: await crewOfOneModel(tasks) });
    const run = await newRun(app, tasks);
    const file = app.runs.chainPath(run);
    const old = read(file);
    const stored = async () => (await app.runs.find(run))?.plan?.tasks.map(({ title }) => title);
    const { content, text_hash } = unwrap(await operations.show_plan.perform(app, { id: run }, person()));
    const theirs = content.replace("Do 1.1", "Do 1.1 at once");
    const input = { id: run, content: theirs, base_hash: text_hash };
    const { plan_hash } = unwrap(await operations.save_plan.perform(app, input, person()));
    const mine = old.replace("Do 0", "Do 0 first");
    writeFileSync(file, mine);

    const base = `Based on: ${plan_hash?.slice(0, 16)}`;
    const env = { FAKE_KEY: "k" };
    for (const words of [
      ["execute", run],
      ["execute", file],
      ["run", "resume", run],
      ["execute", run, "--dry-run"],
    ]) {
      const { code, stderr } = await scriptoriumProcess(words, { cwd: root, env });
      expect(code).not.toBe(0);
      expect(stderr).toContain(`the plan of run ${run} was saved since this file was written`);
      expect(stderr).toContain(base);
    }
    const { url, token } = await serve(root, env);
    const answer = await ask(url, `/api/runs/${run}/execute`, { method: "POST", token, body: {} });
    expect(answer.status).toBe(409);
    expect(answer.json()).toMatchObject({ message: expect.stringContaining(base), latestContent: expect.any(String) });
    expect(await stored()).toEqual(["Do 0", "Do 1.1 at once"]);
    expect(read(file)).toBe(mine);

    writeFileSync(file, mine.replace(/Based on: .*/, base));
    await scriptoriumProcess(["execute", run, "--dry-run"], { cwd: root, env });
    expect(await stored()).toEqual(["Do 0 first", "Do 1.1"]);
  });

  test("O3: a file without edits, left behind by a killed save, is replaced by the saved plan", async () => {
    const { app } = await newWorkspace({ engine });
    const run = await newRun(app, [planned("0"), planned("1.1")]);
    const file = app.runs.chainPath(run);
    const old = read(file);
    const { content, text_hash } = unwrap(await operations.show_plan.perform(app, { id: run }, person()));
    const theirs = content.replace("Do 1.1", "Do 1.1 at once");
    unwrap(await operations.save_plan.perform(app, { id: run, content: theirs, base_hash: text_hash }, person()));
    writeFileSync(file, old);
    unwrap(await app.runs.readBack(run, "Ada"));
    expect(read(file)).toContain("Do 1.1 at once");
  });
});

test("U6: check_plan names the errors of a text by line and saves nothing", async () => {
  const { root, app } = await newWorkspace();
  const run = await newRun(app, [planned("0"), planned("1.1")]);
  const { url, token } = await serve(root);
  const { content } = (await ask(url, `/api/runs/${run}/plan`, { token })).json();
  const check = async (text: string) =>
    (await ask(url, `/api/runs/${run}/plan/check`, { method: "POST", token, body: { content: text } })).json();
  expect(await check(content)).toMatchObject({
    problems: [],
    tasks: [{ number: "0", title: "Do 0", depends_on: [] }, { number: "1.1" }],
  });
  const wrong = await check(content.replace("- Depends on: 0", "- Depends on: 1.7"));
  const line = content.split("\n").indexOf("- Depends on: 0") + 1;
  expect(wrong.problems).toEqual([{ line, message: expect.stringContaining("1.7") }]);
  expect(await check(content.replace(`Run: ${run}`, "Run: run-other"))).toMatchObject({ problems: [{ line: 1 }] });
  expect(read(app.runs.chainPath(run))).toBe(content);
});

test("U6: a plan that someone saves while it is open in $EDITOR is not overwritten by plan --open", async () => {
  const { root, app } = await newWorkspace({ config: await crewOfOneModel([planned("0"), planned("1.1")]) });
  const [begun, go] = [join(root, "begun"), join(root, "go")];
  const waits = `touch ${begun}; while ! test -e ${go}; do sleep 0.1; done; printf '%s\\n' "$text" > "$1"`;
  const editor = program(root, `text=$(sed 's/Do 1.1/Do 1.1 slowly/' "$1"); ${waits}`);
  const planning = scriptoriumProcess(["plan", "make it so", "--open", "--json"], {
    cwd: root,
    env: { EDITOR: editor, FAKE_KEY: "sk-1" },
  });
  await expect.poll(() => existsSync(begun), { timeout: 60_000 }).toBe(true);
  const [run] = unwrap(await operations.list_runs.perform(app, {}, person())).runs;
  const id = run?.id ?? "";
  const { content, text_hash: base_hash } = unwrap(await operations.show_plan.perform(app, { id }, person()));
  const theirs = content.replace("Do 1.1", "Do 1.1 at once");
  const saved = unwrap(await operations.save_plan.perform(app, { id, content: theirs, base_hash }, person()));
  writeFileSync(go, "");
  const refused = await planning;
  expect(refused.code).toBe(1);
  expect(refused.json()).toMatchObject({ status: "conflict", latestContent: saved.content });
  expect((await app.runs.find(id))?.plan?.tasks[1]?.title).toBe("Do 1.1 at once");
  expect(read(app.runs.chainPath(id))).toContain("Do 1.1 slowly");
});
