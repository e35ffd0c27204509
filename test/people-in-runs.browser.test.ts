import { describe, expect, test } from "vitest";
import { planTask } from "../src/crew/rules/plan.ts";
import { unwrap } from "../src/kernel/result.ts";
import { expectAccessible, sideways, visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, writes } from "./support/crew.ts";
import { crewOfOneModel } from "./support/crew-mind.ts";
import { needs } from "./support/programs.ts";
import { newWorkspace } from "./support/workspace.ts";

describe("people inside a run, in a browser", needs("chromium"), () => {
  test("O5, O8: a run is paused, a worker gets a message while its transcript grows, and a result is approved", async () => {
    const { root, app } = await newWorkspace({ config: "crew: {sandbox: none}\n", files: { "a.txt": "a\n" } });
    const { link } = await serve(root);
    const run = await newRun(app, [
      planned("0"),
      planned("1.1", { gate: "person" }),
      planned("1.2", { depends_on: ["1.1"] }),
    ]);
    const task = (await app.runs.tasks(run)).find(({ number }) => number === "1.1")?.task_id ?? "";
    let [begun, go] = [() => {}, () => {}];
    const hasBegun = new Promise<void>((done) => (begun = done));
    const mayGo = new Promise<void>((done) => (go = done));
    const agents = playing({
      worker: async (scene) => {
        if (scene.number === "1.1") {
          await scene.use("read_file", { path: "a.txt" });
          begun();
          await mayGo;
          await scene.use("list_files");
        }
        await writes()(scene);
      },
      qc: passes,
    });
    const { page, faults, url } = await visit(link);
    const execution = executed(app, run, agents);
    await hasBegun;

    await page.goto(`${url}/tasks/${task}`);
    const transcript = page.locator(".transcript");
    await transcript.getByText("Called read_file a.txt").waitFor();
    await transcript.getByText("An agent is working.").waitFor();
    await page.getByRole("textbox", { name: "Message" }).fill("Mind the commas.");
    await page.getByRole("button", { name: "Send message" }).click();
    await page.locator(".steering").getByText("not delivered yet").waitFor();
    await expectAccessible(page, "a task that is worked on");
    go();
    await page.locator(".steering").getByText("delivered to attempt 1 with a tool result").waitFor();
    await transcript.locator('[data-kind="steering"]').getByText("Mind the commas.").waitFor();
    await transcript.getByText("Called submit_verdict").waitFor();
    await transcript.getByText("Called read_file a.txt").click();
    await transcript.locator("pre").getByText('"path":"a.txt"').waitFor();
    expect(await execution).toMatchObject({ state: "stopped", reason: expect.stringContaining("task 1.1 waits") });

    await page.goto(`${url}/inbox`);
    await page.getByRole("link", { name: "Approve task 1.1: Do 1.1" }).click();
    await page.getByText("It is as asked.").waitFor();
    await page.getByText("out/1.1.txt").waitFor();
    expect(await page.getByRole("button", { name: "Return" }).isDisabled()).toBe(true);
    await expectAccessible(page, "a result to approve");
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await sideways(page)).toBe(0);
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("Result approved; resume the run").waitFor();

    const rest = executed(app, run, agents);
    expect(await rest).toMatchObject({ state: "completed" });
    await page.goto(`${url}/runs/${run}?tab=transcript`);
    await transcript.getByText("Called submit_verdict").last().waitFor();
    await page.getByRole("button", { name: "Verifier" }).click();
    await expect.poll(() => transcript.getByText("Called submit_output").count()).toBe(0);
    await expectAccessible(page, "the transcript of a run");
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await sideways(page)).toBe(0);
    expect(faults).toEqual([]);
  });

  test("O5: the button Pause stops a run, which says who paused it, and Resume is beside it", async () => {
    const { root, app } = await newWorkspace({ config: "crew: {sandbox: none}\n" });
    const { link } = await serve(root);
    const run = await newRun(app, [planned("0")]);
    let [begun, go] = [() => {}, () => {}];
    const hasBegun = new Promise<void>((done) => (begun = done));
    const mayGo = new Promise<void>((done) => (go = done));
    const agents = playing({
      worker: async (scene) => {
        begun();
        await mayGo;
        await writes()(scene);
      },
      qc: passes,
    });
    const { page, faults, url } = await visit(link);
    const execution = executed(app, run, agents);
    await hasBegun;
    await page.goto(`${url}/runs/${run}`);
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("Run paused; 1 agent ends its stage").waitFor();
    await page.getByText(/paused by /).waitFor();
    await page.getByRole("button", { name: "Resume" }).waitFor();
    go();
    expect(await execution).toMatchObject({ state: "stopped" });
    await expectAccessible(page, "a paused run");
    expect(faults).toEqual([]);
  });

  test("U5: a run whose planner failed has the button Plan again, which continues its planning", async () => {
    const config = await crewOfOneModel([planned("0"), planned("1.1", { title: "Write the timetable" })]);
    const { root, app } = await newWorkspace({ config });
    const { link } = await serve(root, { FAKE_KEY: "sk-1" });
    const { id } = await app.runs.create("Write a timetable", "Ada");
    unwrap(await app.runs.step(id, { type: "fail", reason: "the model did not answer" }, "Ada"));
    const { page, faults, url } = await visit(link);
    await page.goto(`${url}/runs/${id}`);
    await page.getByText("the model did not answer").waitFor();
    await page.getByRole("button", { name: "Plan again" }).click();
    await page.getByRole("button", { name: "Run", exact: true }).waitFor();
    expect(await page.getByRole("button", { name: "Plan again" }).count()).toBe(0);
    expect(faults).toEqual([]);
  });

  test("O3, O5: a question of the plan is answered on its page, with the words of a question", async () => {
    const { root, app } = await newWorkspace({ config: "crew: {sandbox: none}\n", files: { "a.txt": "a\n" } });
    const { link } = await serve(root);
    const run = await newRun(app, [
      planned("0"),
      planTask.parse({
        ...{ number: "1.1", title: "Confirm the backup", gate: "person" },
        requirements: "Is there a backup of the orders table? Say where it is.",
      }),
      planned("1.2", { depends_on: ["1.1"] }),
    ]);
    await executed(app, run, playing({ worker: writes(), qc: passes }));
    const { page, faults, url } = await visit(link);
    await page.goto(`${url}/runs/${run}`);
    await page.getByRole("link", { name: "Answer task 1.1: Confirm the backup" }).waitFor();
    await page.goto(`${url}/inbox`);
    await page.getByRole("link", { name: "Answer task 1.1: Confirm the backup" }).click();
    await page.getByText("Is there a backup of the orders table?").waitFor();
    await page.getByRole("button", { name: "Reject" }).waitFor();
    expect(await page.getByRole("button", { name: "Return" }).count()).toBe(0);
    await expectAccessible(page, "a question to answer");
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await sideways(page)).toBe(0);
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.getByRole("textbox", { name: "Answer" }).fill("On disk 7.");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("Question approved").waitFor();
    expect((await app.runs.tasks(run))[1]?.task.state).toBe("completed");
    expect(faults).toEqual([]);
  });
});
