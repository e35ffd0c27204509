import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { expectAccessible, visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { newRun, planned } from "./support/crew.ts";
import { crewOfOneModel } from "./support/crew-mind.ts";
import { needs } from "./support/programs.ts";
import { newWorkspace, person } from "./support/workspace.ts";

const plan = (page: Page) => page.getByRole("textbox", { name: "The plan" });

async function append(page: Page, line: string, words: string): Promise<void> {
  await plan(page).getByText(line).first().click();
  await page.keyboard.press("End");
  await page.keyboard.type(words);
}

/** Another person's save, over the text that is saved now. */
async function saveAs(app: App, id: string, edit: (content: string) => string): Promise<void> {
  const { content, text_hash: base_hash } = unwrap(await operations.show_plan.perform(app, { id }, person()));
  unwrap(await operations.save_plan.perform(app, { id, content: edit(content), base_hash }, person()));
}

const stored = async (app: App, id: string) => (await app.runs.find(id))?.plan?.tasks.map(({ title }) => title);

describe("U6: the plan of a run in a browser", needs("chromium"), () => {
  test("U6: unsaved edits survive tabs, reloads and another's save, which is shown beside them and not overwritten", async () => {
    const { root, app } = await newWorkspace({ config: "crew: {sandbox: none}\n" });
    const { link } = await serve(root);
    const run = await newRun(app, [planned("0"), planned("1.1"), planned("1.2")]);
    const { page, faults, url } = await visit(link);
    await page.goto(`${url}/runs/${run}?tab=plan`);
    await append(page, "Do 1.1", " with care");
    await page.getByRole("link", { name: "List" }).click();
    await page.locator("table.list").waitFor();
    await page.getByRole("link", { name: "Plan", exact: true }).click();
    await plan(page).getByText("Do 1.1 with care").waitFor();
    await page.reload();
    await plan(page).getByText("Do 1.1 with care").waitFor();

    await saveAs(app, run, (content) => content.replace("Do 1.2", "Do 1.2 at once"));
    await page.getByText("Someone saved another plan while you were editing").waitFor();
    await plan(page).getByText("Do 1.1 with care").waitFor();
    await plan(page).click();
    await page.keyboard.press("Control+s");
    await page.getByText("Nothing is overwritten").waitFor();
    expect(await stored(app, run)).toEqual(["Do 0", "Do 1.1", "Do 1.2 at once"]);
    await page.getByRole("textbox", { name: "Their text" }).getByText("Do 1.2 at once").waitFor();
    await expectAccessible(page, "two plans");
    const mine = page.getByRole("textbox", { name: "Your text" });
    await mine.getByText("Do 1.2").last().click();
    await page.keyboard.press("End");
    await page.keyboard.type(" at once");
    await page.getByRole("button", { name: "Save on top of their plan" }).click();
    await page.getByText("Plan saved (3 tasks)").waitFor();
    expect(await stored(app, run)).toEqual(["Do 0", "Do 1.1 with care", "Do 1.2 at once"]);

    await saveAs(app, run, (content) => content.replace("Do 0", "Do 0 first"));
    await plan(page).getByText("Do 0 first").waitFor();
    expect(await page.getByText("unsaved edits").count()).toBe(0);
    await append(page, "Do 0 first", " of all");
    await page.keyboard.press("Control+s");
    await expect.poll(() => stored(app, run)).toContain("Do 0 first of all");
    expect(faults.filter((fault) => !fault.includes("409"))).toEqual([]);
  });

  test("U6: the versions of a plan are compared in the browser, and an earlier one is restored", async () => {
    const { root, app } = await newWorkspace({ config: "crew: {sandbox: none}\n" });
    const { link } = await serve(root);
    const run = await newRun(app, [planned("0"), planned("1.1"), planned("1.2")]);
    await saveAs(app, run, (content) => content.replace("Do 1.1", "Do 1.1 at once"));
    await saveAs(app, run, (content) => content.replace("Do 1.2", "Do 1.2 slowly"));
    const { page, faults, url } = await visit(link);
    await page.goto(`${url}/runs/${run}?tab=plan`);
    await page.getByRole("link", { name: "Versions", exact: true }).click();
    const diff = page.getByRole("region", { name: "Source of the change" });
    await diff.getByText("slowly").waitFor();
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/versions-1280.png` });
    await page.getByRole("combobox", { name: "Changes since" }).selectOption("1");
    await diff.getByText("at once").waitFor();
    await page.getByRole("link", { name: /^Version 1/ }).click();
    await expectAccessible(page, "the versions of a plan");
    await page.setViewportSize({ width: 390, height: 900 });
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/versions-390.png` });
    await page.getByRole("button", { name: "Restore version 1" }).click();
    await page.getByText("Version 1 restored as version 4").waitFor();
    expect(await stored(app, run)).toEqual(["Do 0", "Do 1.1", "Do 1.2"]);
    await page.getByRole("link", { name: "Back to the plan" }).click();
    await plan(page).waitFor();
    expect(faults).toEqual([]);
  });

  test("U6: errors of the plan appear by line while it is typed", async () => {
    const { root, app } = await newWorkspace({ config: "crew: {sandbox: none}\n" });
    const { link } = await serve(root);
    const run = await newRun(app, [planned("0"), planned("1.1")]);
    const { page, url } = await visit(link);
    await page.goto(`${url}/runs/${run}?tab=plan`);
    await append(page, "## Task 1.1", "\n- Colour: green");
    await page.getByText(/line \d+: expected one of "- Worker:"/).waitFor();
    for (let at = 0; at < "\n- Colour: green".length; at++) await page.keyboard.press("Backspace");
    await expect.poll(() => page.getByText(/expected one of/).count()).toBe(0);
  });

  test("U6: Run asks for workers and budget, with those of the configuration, and saves the edits of the plan first", async () => {
    const tasks = [planned("0"), planned("1.1", { deliverable: "text" })];
    const config = (await crewOfOneModel(tasks)).replace(
      '"sandbox"',
      '"workers":5,"budget":{"run_tokens":800000},"sandbox"',
    );
    const { root, app } = await newWorkspace({ config });
    const { link } = await serve(root, { FAKE_KEY: "sk-1" });
    const run = await newRun(app, tasks);
    const { page, url, faults } = await visit(link);
    await page.goto(`${url}/runs/${run}?tab=plan`);
    await append(page, "## Task 1.1", " with care");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("unsaved edits of the plan").waitFor();
    expect(await dialog.getByRole("textbox", { name: "Workers" }).inputValue()).toBe("5");
    expect(await dialog.getByRole("textbox", { name: "Token budget" }).inputValue()).toBe("800 000");
    expect((await app.runs.find(run))?.state).toBe("planned");
    await expectAccessible(page, "the limits of a run");
    await dialog.getByRole("textbox", { name: "Workers" }).fill("2");
    await dialog.getByRole("textbox", { name: "Token budget" }).fill("900000");
    await dialog.getByRole("button", { name: "Save plan and run" }).click();
    await page.getByText("2 of 2 accepted").waitFor();
    expect(await app.runs.find(run)).toMatchObject({ budgetTokens: 900_000 });
    expect((await stored(app, run))?.[1]).toMatch(/ with care$/);
    expect(faults).toEqual([]);
  });

  test("U6: a template asks for its values, shows the request that it makes, and survives Escape", async () => {
    const config = await crewOfOneModel([planned("0"), planned("1.1")]);
    const own = "---\ntitle: Release\nparameters:\n  - { name: version }\n---\nRelease {{version}}.\n";
    const { root, app } = await newWorkspace({ config, files: { "runs/templates/release.md": own } });
    const { link } = await serve(root, { FAKE_KEY: "sk-1" });
    const { page, faults, url } = await visit(link);
    await page.goto(`${url}/runs`);
    await page.getByRole("button", { name: "New run" }).click();
    const dialog = page.getByRole("dialog", { name: "New run" });
    await dialog.getByLabel("Template").selectOption("Bug fix");
    await dialog.getByLabel("What goes wrong").fill("The login fails");
    await expectAccessible(page, "new run with a template");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "New run" }).click();
    expect(await dialog.getByLabel("What goes wrong").inputValue()).toBe("The login fails");
    await dialog.getByText("Request", { exact: true }).click();
    await dialog.getByText("Start with a test that fails").waitFor();
    await dialog.getByRole("button", { name: "Edit as text" }).click();
    expect(await dialog.getByLabel("Request").inputValue()).toContain("Fix this bug:\n\nThe login fails");
    await dialog.getByLabel("Template").selectOption("Release (runs/templates/release.md)");
    await dialog.getByLabel("version").fill("2.0");
    await dialog.getByRole("button", { name: "Plan", exact: true }).click();
    await page.waitForURL(/\/runs\/run-/);
    const run = page.url().split("/").at(-1) ?? "";
    expect((await app.runs.find(run))?.request).toBe("Release 2.0.");
    expect(faults).toEqual([]);
  });
});
