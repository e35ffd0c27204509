import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { expectAccessible, sideways, violationsOn, visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { needs } from "./support/programs.ts";
import { agent, newWorkspace } from "./support/workspace.ts";

describe("the schema in a browser", needs("chromium"), () => {
  test("N11: every page says that schema.yaml is not in force, until it is valid again", async () => {
    const { root, file } = await newWorkspace();
    const { link } = await serve(root);
    const { page, faults, url } = await visit(link);
    const valid = readFileSync(file("wiki/schema.yaml"), "utf8");
    writeFileSync(file("wiki/schema.yaml"), valid.replace("mode: snapshot", "mode: snapshots"));
    await page.goto(`${url}/graph`);
    const banner = page.getByRole("status").filter({ hasText: "is not in force" });
    await banner.getByText(/wiki\/schema\.yaml:\d+:\d+: .*expected snapshot or log/).waitFor();
    await expectAccessible(page, "a page with a warning");
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await violationsOn(page, "a page with a warning, dark", ["color-contrast"])).toEqual([]);
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await sideways(page)).toBe(0);
    writeFileSync(file("wiki/schema.yaml"), valid);
    await banner.waitFor({ state: "detached" });
    expect(faults).toEqual([]);
  });
});

describe("the pipeline in a browser", needs("chromium"), () => {
  test("N9: the Runs page shows who holds the focus, and a person moves it and ends the run", async () => {
    const { root, app } = await newWorkspace();
    const { link } = await serve(root);
    unwrap(await app.knowledge(agent("planner", "r-1")).transferFocus("architect", "Read design first"));
    unwrap(await app.knowledge(agent("architect", "r-1")).fetchEntry("design"));
    const { page, faults, url } = await visit(link);
    await page.goto(`${url}/runs`);
    const panel = page.getByRole("region", { name: "Pipeline" });
    await panel.getByText("planner → architect → engineer").waitFor();
    await panel.getByText("step 1 of 5").waitFor();
    await panel.getByText("1 of 4 reads").waitFor();
    await panel.getByText("Handoffs").click();
    await panel.getByText("Read design first").waitFor();
    await expectAccessible(page, "runs with a pipeline");
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await violationsOn(page, "runs, dark", ["color-contrast"])).toEqual([]);
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await sideways(page)).toBe(0);

    await panel.getByRole("button", { name: "Move focus" }).click();
    await page.getByLabel("New holder").selectOption("engineer");
    await page.getByRole("button", { name: "Move", exact: true }).click();
    await panel.getByText("engineer", { exact: true }).waitFor();
    expect(await app.knowledge(agent("architect", "r-1")).fetchEntry("notes")).toMatchObject({ ok: false });
    await panel.getByRole("button", { name: "Move focus" }).click();
    await page.getByRole("button", { name: "End run" }).click();
    await panel.getByText(/ended by/).waitFor();
    expect(faults).toEqual([]);
  });
});
