import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { expectAccessible, sideways, visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, verdictOf, writes } from "./support/crew.ts";
import { needs } from "./support/programs.ts";
import { newWorkspace, temporaryFolder } from "./support/workspace.ts";

const rejectsFirst = () => {
  let rejections = 0;
  return playing({
    worker: writes(),
    qc: async (scene) => {
      if (scene.number === "1.1" && rejections++ === 0) await scene.use("submit_verdict", verdictOf(false));
      else await passes(scene);
    },
  });
};

/** Whether the canvas of the timeline has any colour in it. */
const isPainted = `(() => {
  const canvas = document.querySelector(".timeline-frame canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return data.some((value) => value !== 0);
})()`;

describe("watching a run in a browser", needs("chromium"), () => {
  test("O15: the timeline shows the phases by worker, by keys and as a table, and the usage against the budget", async () => {
    const { root, app } = await newWorkspace({ config: "crew: {sandbox: none}\n" });
    const { link } = await serve(root);
    const run = await newRun(app, [planned("0"), planned("1.1"), planned("1.2"), planned("1.3")]);
    await executed(app, run, rejectsFirst(), { budgetTokens: 3000 });
    const { page, faults, url } = await visit(link);
    await page.goto(`${url}/runs/${run}`);
    await page.getByText("4 of 4 accepted").waitFor();
    await page.keyboard.press("7");
    const chart = page.getByRole("group", { name: "Timeline by worker" });
    await chart.waitFor();
    await page.getByRole("img", { name: /^Usage over .*Workers.*budget 3,000/ }).waitFor();
    await page.getByText("of 3,000 tokens left").waitFor();
    await chart.focus();
    await page.keyboard.press("ArrowRight");
    const said = page.locator("#timeline-stage");
    await said.getByText(/of task|Planning/).waitFor();
    const before = await said.textContent();
    await page.keyboard.press("End");
    await expect.poll(() => said.textContent()).not.toBe(before);
    await page.getByRole("button", { name: "Zoom in" }).click();
    await page.getByRole("button", { name: "Show the whole run" }).click();
    await expectAccessible(page, "the timeline of a run");
    const shots = process.env.WATCH_SHOTS;
    if (shots) await page.screenshot({ path: join(shots, "light-1280.png"), fullPage: true });

    await page.getByRole("button", { name: "Table" }).click();
    const rows = page.getByRole("row").filter({ hasText: "1.1 Do 1.1" });
    await rows.filter({ hasText: "Verification" }).filter({ hasText: "failed" }).waitFor();
    await rows.filter({ hasText: "Merge" }).filter({ hasText: "attempt 2" }).waitFor();
    await expectAccessible(page, "the timeline of a run as a table");
    await page.getByRole("button", { name: "Table" }).click();
    await page.emulateMedia({ colorScheme: "dark" });
    await page.setViewportSize({ width: 390, height: 800 });
    await chart.waitFor();
    expect(await sideways(page)).toBe(0);
    await expect.poll(() => page.evaluate(isPainted)).toBe(true);
    if (shots) await page.screenshot({ path: join(shots, "dark-390.png"), fullPage: true });
    await page.setViewportSize({ width: 1280, height: 900 });
    await chart.focus();
    await page.keyboard.press("Home");
    await said.getByText("of task 0").waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/tasks\/task-/);
    expect(faults).toEqual([]);
  });

  test("O15: a pull request is opened from the page of a run, which says that no program can open it", async () => {
    const { root, app } = await newWorkspace({ config: "crew: {sandbox: none}\n" });
    const remote = temporaryFolder();
    execFileSync("git", ["init", "--bare", "--quiet", remote]);
    execFileSync("git", ["remote", "add", "origin", remote], { cwd: root });
    const { link } = await serve(root);
    const run = await newRun(app, [planned("0"), planned("1.1")]);
    await executed(app, run, playing({ worker: writes(), qc: passes }));
    const { page, url } = await visit(link);
    await page.goto(`${url}/runs/${run}`);
    await page.getByRole("button", { name: "Open pull request" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Neither gh nor glab").waitFor();
    expect(execFileSync("git", ["branch", "--list"], { cwd: remote, encoding: "utf8" })).toBe("");
    await expectAccessible(page, "the dialog of a pull request");
    await dialog.getByRole("button", { name: "Push branch" }).click();
    await dialog.getByText("open the pull request on its website").waitFor();
    expect(execFileSync("git", ["branch", "--list"], { cwd: remote, encoding: "utf8" })).toContain(run);
  });
});
