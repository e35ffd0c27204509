import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { expectAccessible, savePicture, visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, verdictOf, writes } from "./support/crew.ts";
import { crewOfOneModel } from "./support/crew-mind.ts";
import { needs } from "./support/programs.ts";
import { newWorkspace, person } from "./support/workspace.ts";

const config = "crew: {sandbox: none, reports: facts}\n";
const check = { run: ["sh", "-c", "exit 1"], exits: 0 };
const failing = { max_retries: 0, verification: [{ criterion: "the tests pass", check }] };

const taskOf = async (app: App, run: string, number: string) =>
  (await app.runs.tasks(run)).find((task) => task.number === number)?.task_id ?? "";
const stateOf = async (app: App, task: string) => (await app.tasks.find(task))?.state;

describe("decisions about a run in a browser", needs("chromium"), () => {
  test("U5: Retry failed tasks goes on when one of them was reopened meanwhile, and starts the run", async () => {
    const tasks = [planned("0"), planned("1.1", failing), planned("1.2", failing)];
    const { root, app } = await newWorkspace({ config: `${await crewOfOneModel(tasks)}` });
    const run = await newRun(app, tasks);
    await executed(app, run, playing({ worker: writes(), qc: passes }));
    const [first, second] = [await taskOf(app, run, "1.1"), await taskOf(app, run, "1.2")];
    expect([await stateOf(app, first), await stateOf(app, second)]).toEqual(["failed", "failed"]);
    const { link } = await serve(root, { FAKE_KEY: "sk-1" });
    // Without the live feed the page does not hear of the task that somebody reopens.
    const { page, url } = await visit(link, {}, async (context) => {
      await context.route(/\/api\/events/, (route) => route.abort());
    });
    await page.goto(`${url}/runs/${run}`);
    const button = page.getByRole("button", { name: "Retry failed tasks" });
    await button.waitFor();
    unwrap(await operations.update_todo.perform(app, { id: first, status: "reopened" }, person()));
    await button.click();
    await page.getByText("Run started").waitFor();
    await expect.poll(async () => (await app.runs.find(run))?.state).not.toBe("stopped");
    const events = await app.db.read
      .selectFrom("events")
      .select("kind")
      .where("subject", "=", `task:${second}`)
      .execute();
    expect(events.map(({ kind }) => kind)).toContain("task-reopen");
  });

  test("U5: the page of a failed task has one button, Retry, that reopens it and starts its run", async () => {
    const tasks = [planned("0"), planned("1.1", failing)];
    const { root, app } = await newWorkspace({ config: await crewOfOneModel(tasks) });
    const run = await newRun(app, tasks);
    await executed(app, run, playing({ worker: writes(), qc: passes }));
    const task = await taskOf(app, run, "1.1");
    const { link } = await serve(root, { FAKE_KEY: "sk-1" });
    const { page, url } = await visit(link);
    await page.goto(`${url}/tasks/${task}`);
    await page.getByRole("heading", { name: "Failure: facts recorded by the system" }).waitFor();
    expect(await page.getByText("press Reopen").count()).toBe(0);
    expect(await page.getByRole("button", { name: "Reopen" }).count()).toBe(0);
    await savePicture(page, "task-failed");
    await page.getByRole("button", { name: "Retry", exact: true }).click();
    await page.getByText("Task reopened, run started").waitFor();
    await expect
      .poll(
        async () =>
          (await app.db.read.selectFrom("attempts").select("epoch").where("task_id", "=", task).execute()).length,
      )
      .toBeGreaterThan(1);
  });

  test("U5: a run that no agent can start is refused with a link to the set-up of agents, and the saved plan is no conflict", async () => {
    const missing = { runner: "command", command: ["/nowhere/agent"] };
    const { root, app } = await newWorkspace({
      config: `crew: ${JSON.stringify({ sandbox: "none", agents: { all: missing } })}\n`,
    });
    const { link } = await serve(root);
    const run = await newRun(app, [planned("0"), planned("1.1")]);
    const { page, url } = await visit(link);
    await page.goto(`${url}/runs/${run}?tab=plan`);
    const plan = page.getByRole("textbox", { name: "The plan" });
    await plan.getByText("## Task 1.1").first().click();
    await page.keyboard.press("End");
    await page.keyboard.type(" with care");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Save plan and run" }).click();
    await dialog
      .getByRole("alert")
      .getByText(/the agent cannot be started/)
      .waitFor();
    expect(await dialog.getByRole("link", { name: "Set up agent" }).getAttribute("href")).toBe("/settings/agents");
    await expectAccessible(page, "a refused run");
    await savePicture(page, "run-refused");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect((await app.runs.find(run))?.plan?.tasks[1]?.title).toMatch(/with care$/);
    expect((await app.runs.find(run))?.state).toBe("planned");
    expect(await page.getByText("Someone saved another plan").count()).toBe(0);
    expect(await page.getByText("unsaved edits").count()).toBe(0);
    await plan
      .getByText(/with care/)
      .first()
      .click();
    await page.keyboard.press("End");
    await page.keyboard.type(" twice");
    await page.keyboard.press("Control+s");
    await page.getByText("Plan saved (2 tasks)").waitFor();
  });

  test("U3, O5: neither a bare key nor Enter in the palette resumes, cancels, merges or reruns; each opens a dialog with its effects", async () => {
    const { root, app } = await newWorkspace({ config });
    const { link } = await serve(root);
    const run = await newRun(app, [planned("0"), planned("1.1"), planned("1.2", { gate: "person" })]);
    await executed(app, run, playing({ worker: writes(), qc: passes }));
    expect((await app.runs.find(run))?.state).toBe("stopped");
    const { page, faults, url } = await visit(link);
    const dialog = page.getByRole("dialog");
    const choose = async (words: string) => {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Find anything" }).fill(words);
      await page.getByRole("option", { name: words }).first().waitFor();
      await page.keyboard.press("Enter");
    };
    const close = async () => {
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
    };
    await page.goto(`${url}/runs/${run}`);
    await page.getByRole("button", { name: "Resume" }).waitFor();
    await page.keyboard.press("r");
    await page.keyboard.press("r");
    await page.getByRole("dialog", { name: "Resume run" }).getByLabel("Workers").waitFor();
    await savePicture(page, "resume-run");
    expect((await app.runs.find(run))?.state).toBe("stopped");
    await close();

    await choose("Merge accepted work");
    await dialog.getByText("without conflicts").waitFor();
    await dialog.getByText("out/1.1.txt").waitFor();
    await expectAccessible(page, "merge preview");
    await savePicture(page, "merge-preview");
    await close();
    await choose("Cancel run");
    await dialog.getByText("2 accepted results stay").waitFor();
    await expectAccessible(page, "cancel preview");
    await savePicture(page, "cancel-preview");
    expect((await app.runs.find(run))?.state).toBe("stopped");

    await dialog.getByRole("button", { name: "Keep run" }).click();
    const task = await taskOf(app, run, "1.1");
    await page.goto(`${url}/tasks/${task}`);
    await page.getByRole("button", { name: "Rerun from here" }).waitFor();
    await choose("Rerun from here");
    await dialog.getByText("The results of these tasks are thrown away").waitFor();
    await dialog.getByRole("link", { name: "Do 1.1" }).waitFor();
    await dialog.getByText("Accepted tasks that stay: 0").waitFor();
    await expectAccessible(page, "rerun preview");
    await savePicture(page, "rerun-preview");
    expect(await dialog.getByRole("button", { name: "Rerun", exact: true }).isDisabled()).toBe(true);
    expect(await stateOf(app, task)).toBe("completed");
    await dialog.getByLabel("Type rerun to confirm").fill("rerun");
    await dialog.getByRole("button", { name: "Rerun", exact: true }).click();
    await dialog.getByText("The tasks wait.").waitFor();
    expect(await stateOf(app, task)).toBe("pending");
    await dialog.getByRole("link", { name: `run ${run}` }).click();
    await page.getByRole("button", { name: "Cancel run" }).click();
    await dialog.getByRole("button", { name: "Cancel run" }).click();
    await page.getByText(/^Run cancelled/).waitFor();
    expect((await app.runs.find(run))?.state).toBe("cancelled");
    expect(faults).toEqual([]);
  });

  test("O5: a merge that conflicts names the files in its dialog, and merges nothing", async () => {
    const { root, app, git } = await newWorkspace({ config, files: { "out/1.1.txt": "before\n" } });
    const { link } = await serve(root);
    const run = await newRun(app, [planned("0"), planned("1.1")]);
    await executed(app, run, playing({ worker: writes(), qc: passes }));
    const { writeFileSync } = await import("node:fs");
    writeFileSync(`${root}/out/1.1.txt`, "mine\n");
    git("commit", "-qam", "Change the same file");
    const { page, url } = await visit(link);
    await page.goto(`${url}/runs/${run}`);
    await page.getByRole("button", { name: "Merge accepted work" }).click();
    await page
      .getByRole("dialog")
      .getByText(/merge conflict in out\/1\.1\.txt/)
      .waitFor();
    expect(await page.getByRole("button", { name: "Merge", exact: true }).count()).toBe(0);
    await expectAccessible(page, "merge conflict");
    await savePicture(page, "merge-conflict");
  });

  test("O5, O11: each attempt has its transcript, and the task is rerun from an attempt of choice", async () => {
    let rejections = 0;
    const agents = playing({
      worker: async (scene) => {
        await scene.use(scene.retry ? "list_files" : "read_file", scene.retry ? {} : { path: "a.txt" });
        await writes()(scene);
      },
      qc: async (scene) =>
        scene.number === "1.1" && rejections++ === 0
          ? void (await scene.use("submit_verdict", verdictOf(false)))
          : passes(scene),
    });
    const { root, app } = await newWorkspace({ config, files: { "a.txt": "a\n" } });
    const { link } = await serve(root);
    const run = await newRun(app, [planned("0"), planned("1.1")]);
    await executed(app, run, agents);
    const task = await taskOf(app, run, "1.1");
    const { page, faults, url } = await visit(link);
    await page.goto(`${url}/tasks/${task}`);
    const attempts = page.locator(".attempts > li");
    for (const [at, called, other] of [
      [0, "Called read_file a.txt", "Called list_files"],
      [1, "Called list_files", "Called read_file a.txt"],
    ] as const) {
      const attempt = attempts.nth(at);
      await attempt.getByText("Transcript", { exact: true }).click();
      await attempt.getByText("Started with this context").first().waitFor();
      await attempt.getByText(called).waitFor();
      await attempt.getByText("Called submit_verdict").waitFor();
      expect(await attempt.getByText(other).count()).toBe(0);
    }
    await expectAccessible(page, "transcripts of attempts");
    await savePicture(page, "attempt-transcripts");
    await page.getByRole("button", { name: "Rerun from attempt 1" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("The first task starts from the files of attempt 1.").waitFor();
    await dialog.getByLabel("Type rerun to confirm").fill("rerun");
    await page.keyboard.press("Enter");
    await dialog.getByText("The tasks wait.").waitFor();
    const row = (await app.runs.tasks(run)).find(({ number }) => number === "1.1");
    const first = await app.db.read
      .selectFrom("attempts")
      .selectAll()
      .where("task_id", "=", task)
      .orderBy("epoch")
      .execute();
    expect(row?.start_epoch).toBe(first[0]?.epoch);
    expect(faults).toEqual([]);
  });

  test("U6: the graph beside the plan draws what is typed", async () => {
    const { root, app } = await newWorkspace({ config });
    const { link } = await serve(root);
    const run = await newRun(app, [planned("0"), planned("1.1")]);
    const { page, faults, url } = await visit(link);
    await page.goto(`${url}/runs/${run}?tab=plan`);
    const plan = page.getByRole("textbox", { name: "The plan" });
    await plan.getByText("## Task 1.1").first().click();
    await page.keyboard.press("End");
    await page.keyboard.type(" in green");
    await page.locator(".task-node").getByText("Do 1.1 in green").waitFor();
    await savePicture(page, "plan-typed");
    expect((await app.runs.find(run))?.plan?.tasks[1]?.title).toBe("Do 1.1");
    expect(faults).toEqual([]);
  });

  test("U7: a message to a worker and a new task survive a link and a reload until they are sent", async () => {
    const { root, app } = await newWorkspace({ config });
    const { link } = await serve(root);
    const run = await newRun(app, [planned("0"), planned("1.1")]);
    const { page, faults, url } = await visit(link);
    await page.goto(`${url}/tasks/${await taskOf(app, run, "1.1")}`);
    const message = page.getByRole("textbox", { name: "Message" });
    await message.fill("Mind the commas.");
    await page.getByRole("link", { name: run }).click();
    await page.getByRole("heading", { name: "A run", level: 1 }).waitFor();
    await page.goBack();
    expect(await message.inputValue()).toBe("Mind the commas.");
    await page.reload();
    expect(await message.inputValue()).toBe("Mind the commas.");
    await page.getByRole("button", { name: "Send message" }).click();
    await page.getByText("Message kept for the next attempt").waitFor();
    expect(await message.inputValue()).toBe("");

    await page.goto(`${url}/tasks`);
    await page.getByRole("button", { name: "New task" }).click();
    await page.getByLabel("Title").fill("Count the parcels");
    await page.getByLabel("Description").fill("At every depot.");
    await page.keyboard.press("Escape");
    await page.reload();
    await page.getByRole("button", { name: "New task" }).click();
    expect(await page.getByLabel("Title").inputValue()).toBe("Count the parcels");
    expect(await page.getByLabel("Description").inputValue()).toBe("At every depot.");
    expect(faults).toEqual([]);
  });

  test("U11: an empty view has the button that fills it", async () => {
    const { root } = await newWorkspace();
    const { link } = await serve(root);
    const { page, faults, url } = await visit(link);
    for (const [path, button, dialog] of [
      ["/runs", "New run", "New run"],
      ["/tasks", "New task", "New task"],
      ["/graph?q=zzzzqqq", "Show all nodes", undefined],
    ] as const) {
      await page.goto(url + path);
      await page.locator(".empty").getByRole("button", { name: button }).click();
      if (dialog) await page.getByRole("dialog", { name: dialog }).waitFor();
      else await expect.poll(() => page.getByLabel("Search nodes").inputValue()).toBe("");
    }
    expect(faults).toEqual([]);
  });
});
