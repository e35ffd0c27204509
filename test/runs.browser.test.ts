import { describe, expect, onTestFinished, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { expectAccessible, visit } from "./support/browsing.ts";
import { serve, start } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, writes } from "./support/crew.ts";
import { crewOfOneModel } from "./support/crew-mind.ts";
import { needs } from "./support/programs.ts";
import { newWorkspace, person, temporaryFolder } from "./support/workspace.ts";

describe("runs, tasks and the graph in a browser", needs("chromium"), () => {
  test("O3, O5, O8, O11, O15: a plan is changed, carried out before the reader's eyes, and reported", async () => {
    const { root, app } = await newWorkspace({ config: "crew: {sandbox: none}\n" });
    const { link } = await serve(root);
    const run = await newRun(app, [planned("0"), planned("1.1"), planned("1.2", { depends_on: ["1.1"] })]);
    const { page, faults, url } = await visit(link);

    await page.goto(`${url}/runs/${run}?tab=plan`);
    const plan = page.getByRole("textbox", { name: "The plan" });
    await plan.getByText("Do 1.1").first().click();
    await page.keyboard.press("End");
    await page.keyboard.type(" with care");
    await plan.getByText("Do 1.1 with care").waitFor();
    await page.getByRole("button", { name: "Save plan" }).click();
    await page.getByText("Plan saved (3 tasks)").waitFor();

    await page.goto(`${url}/runs/${run}`);
    await page.locator(".task-node").getByText("Do 1.1 with care").waitFor();
    expect(await page.locator(".task-node").count()).toBe(3);
    await executed(app, run, playing({ worker: writes(), qc: passes }));
    await page.getByText("3 of 3 accepted").waitFor();
    await page.locator(".state.tone-good").getByText("completed").first().waitFor();
    await expectAccessible(page, "a run");

    await page.keyboard.press("4");
    await page.locator(".prose").getByText("Do 1.1 with care").first().waitFor();
    await page.keyboard.press("5");
    await page.locator(".figure-list li").first().waitFor();
    await page.locator(".chart canvas").first().waitFor();
    await page.keyboard.press("2");
    await page.getByRole("link", { name: "Do 1.2" }).click();
    await page.locator(".verdict").getByText("It is as asked.").waitFor();
    await page.getByText("Contexts").waitFor();
    await expectAccessible(page, "a task");
    expect(faults).toEqual([]);
  });

  test("O3, O5, O15: a request is planned from the browser and carried out, and what it took is drawn", async () => {
    const tasks = [planned("0"), planned("1.1", { deliverable: "text" })];
    const { root } = await newWorkspace({ config: await crewOfOneModel(tasks) });
    const { link } = await serve(root, { FAKE_KEY: "sk-1" });
    const { page, faults, url } = await visit(link);
    await page.goto(`${url}/runs`);
    await page.getByText("No runs yet").waitFor();
    await page.keyboard.press("n");
    await page.keyboard.press("r");
    await page.getByRole("textbox", { name: "Request" }).fill("Say it twice");
    await page.getByRole("button", { name: "Plan", exact: true }).click();
    await page.waitForURL(/\/runs\/run-/);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText("2 of 2 accepted").waitFor();
    await page.locator(".facts .state").getByText("completed").waitFor();
    await page.keyboard.press("5");
    for (const what of ["Tokens", "Time", "Last score", "Claims"])
      await page
        .locator(".chart")
        .getByText(new RegExp(`^${what} by `))
        .waitFor();
    await expectAccessible(page, "the figures of a run");
    expect(faults).toEqual([]);
  });

  test("O3, O5, O9, O11: the demo is watched from its request to its report", async () => {
    const env = { BROWSER: "true", TMPDIR: temporaryFolder() };
    const child = start("scriptorium.js", ["demo", "--open"], temporaryFolder(), env, { detached: true });
    // As Ctrl-C does it.
    onTestFinished(() => void process.kill(-(child.pid ?? 0), "SIGINT"));
    let said = "";
    child.stdout?.on("data", (chunk) => {
      said += chunk;
    });
    await expect.poll(() => said).toMatch(/Watch it in your browser: http:\S+\n/);
    const { page, faults, url } = await visit(/Watch it in your browser: (\S+)/.exec(said)?.[1] ?? "");
    await page.goto(`${url}/runs`);
    await page.getByRole("link", { name: "Add farewell to the greeter" }).click();
    await page.locator(".task-node.tone-busy").first().waitFor();
    await page.getByText("5 of 5 accepted").waitFor();
    await page.locator(".facts .state").getByText("completed").waitFor();
    await page.locator(".task-node").getByText("attempt 2").waitFor();
    await page.keyboard.press("4");
    await page.locator(".report").getByText("5 of 5 tasks accepted").waitFor();
    expect(faults).toEqual([]);
  });

  test("O18: hundreds of tasks are drawn, only those in sight stand in the document, and keys go from one to the next", async () => {
    const { root, app } = await newWorkspace();
    const { link } = await serve(root);
    const many = Array.from({ length: 499 }, (_, at) =>
      planned(`1.${at + 1}`, { depends_on: [at < 20 ? "0" : `1.${at - 19}`] }),
    );
    const run = await newRun(app, [planned("0"), ...many]);
    const { page, url } = await visit(link);
    await page.goto(`${url}/runs/${run}`);
    await page.getByText("0 of 500 accepted").waitFor();
    const node = (number: string) => page.locator(`.task-node[data-number="${number}"]`);
    await node("0").waitFor();
    await page.locator(".task-map").waitFor();
    expect(await page.locator(".task-node").count()).toBeLessThan(300);

    await node("0").focus();
    const chain = ["1.1", "1.21", "1.41", "1.61", "1.81", "1.101", "1.121", "1.141"];
    for (const number of chain) {
      await page.keyboard.press("ArrowRight");
      await expect.poll(() => page.evaluate("document.activeElement.dataset.number")).toBe(number);
    }
    await page.keyboard.press("0");
    await expect.poll(() => page.locator(".task-node").count()).toBe(1);
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => page.locator(".task-node").count()).toBeGreaterThan(20);
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/tasks\//);
    await page.getByRole("heading", { name: "Do 1.142" }).waitFor();
  });

  test("O1: the graph shows what lies around a node and leads to where it is at home", async () => {
    const { root, app } = await newWorkspace();
    const { link } = await serve(root);
    const add = async (id: string, title: string) =>
      unwrap(await operations.memory_add_node.perform(app, { id, type: "service", properties: { title } }, person()));
    await add("service:billing", "Billing");
    await add("service:ledger", "Ledger");
    const edge = { type: "depends_on", from: "service:billing", to: "service:ledger" };
    unwrap(await operations.memory_add_edge.perform(app, edge, person()));
    const { page, faults, url } = await visit(link);
    await page.goto(`${url}/graph?node=service:billing`);
    await page.locator(".react-flow__node").getByText("Ledger").click();
    await page.waitForURL(/node=service%3Aledger|node=service:ledger/);
    await page.getByRole("heading", { name: "Ledger" }).waitFor();
    expect(faults).toEqual([]);
  });
});
