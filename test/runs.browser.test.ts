import { afterAll, describe, expect, test } from "vitest";
import { operations } from "../src/operations.ts";
import { unwrap } from "../src/result.ts";
import { closeBrowser, expectAccessible, noBrowser, visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, writes } from "./support/crew.ts";
import { newWorkspace, person } from "./support/workspace.ts";

describe.skipIf(noBrowser)("runs, tasks and the graph in a browser", () => {
  afterAll(closeBrowser);

  test("O3, O5, O8, O11, O15: a plan is changed, carried out before the reader's eyes, and reported", {
    timeout: 90_000,
  }, async () => {
    const { root, app } = await newWorkspace();
    const { link } = await serve(root);
    const run = await newRun(app, [planned("0"), planned("1.1"), planned("1.2", { depends_on: ["1.1"] })]);
    const { page, faults, url } = await visit(link);

    await page.goto(`${url}/runs/${run}?tab=plan`);
    const plan = page.getByRole("textbox", { name: "The plan" });
    await plan.getByText("Do 1.1").first().click();
    await page.keyboard.press("End");
    await page.keyboard.type(" with care");
    await plan.getByText("Do 1.1 with care").waitFor();
    await page.getByRole("button", { name: "Save the plan" }).click();
    await page.getByText("The plan is taken over: 3 tasks").waitFor();

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
    await page.getByText("What the agents were told").waitFor();
    await expectAccessible(page, "a task");
    expect(faults).toEqual([]);
  });

  test("O18: hundreds of tasks are drawn, but only those in sight stand in the document", {
    timeout: 60_000,
  }, async () => {
    const { root, app } = await newWorkspace();
    const { link } = await serve(root);
    const many = Array.from({ length: 499 }, (_, at) =>
      planned(`1.${at + 1}`, { depends_on: [at < 20 ? "0" : `1.${at - 19}`] }),
    );
    const run = await newRun(app, [planned("0"), ...many]);
    const { page, url } = await visit(link);
    await page.goto(`${url}/runs/${run}`);
    await page.getByText("0 of 500 accepted").waitFor();
    await page.locator(".task-node").first().waitFor();
    await page.mouse.move(700, 600);
    for (let step = 0; step < 6; step++) await page.mouse.wheel(0, -240);
    await expect.poll(() => page.locator(".task-node").count()).toBeLessThan(300);
    await page.locator(".react-flow__minimap").waitFor();
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
