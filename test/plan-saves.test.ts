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
    expect(saved).toMatchObject({ content: theirs, tasks: [{ title: "Do 0" }, { title: "Do 1.1 at once" }] });
    const mine = first.content.replace("Do 0", "Do 0 first");
    const refused = await save({ content: mine, base_hash: first.text_hash });
    expect(refused.status).toBe(409);
    expect(refused.json()).toMatchObject({ status: "conflict", latestContent: theirs, text_hash: saved.text_hash });
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

test("U6: check_plan names the errors of a text by line and saves nothing", async () => {
  const { root, app } = await newWorkspace();
  const run = await newRun(app, [planned("0"), planned("1.1")]);
  const { url, token } = await serve(root);
  const { content } = (await ask(url, `/api/runs/${run}/plan`, { token })).json();
  const check = async (text: string) =>
    (await ask(url, `/api/runs/${run}/plan/check`, { method: "POST", token, body: { content: text } })).json();
  expect(await check(content)).toEqual({ problems: [] });
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
  unwrap(await operations.save_plan.perform(app, { id, content: theirs, base_hash }, person()));
  writeFileSync(go, "");
  const refused = await planning;
  expect(refused.code).toBe(1);
  expect(refused.json()).toMatchObject({ status: "conflict", latestContent: theirs });
  expect((await app.runs.find(id))?.plan?.tasks[1]?.title).toBe("Do 1.1 at once");
  expect(read(app.runs.chainPath(id))).toContain("Do 1.1 slowly");
});
