import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { expectAccessible, savePicture, sideways, visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { executed, newRun, type Play, passes, planned, playing, verdictOf, writes } from "./support/crew.ts";
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
  test("O5: the timeline shows the phases by worker, by keys and as a table, and the usage against the budget", async () => {
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
    await page.setViewportSize({ width: 1280, height: 900 });
    await chart.focus();
    await page.keyboard.press("Home");
    await said.getByText("of task 0").waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/tasks\/task-/);
    expect(faults).toEqual([]);
  });

  test("W7: a pull request is opened from the page of a run, which says that no program can open it", async () => {
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

  test("W7, O8: an attempt shows its files by words and the cited place of its evidence, and two attempts are compared", async () => {
    const { root, app } = await newWorkspace({ config: "crew: {sandbox: none}\n" });
    const { link } = await serve(root);
    const run = await newRun(app, [planned("0"), planned("1.1")]);
    const says = (word: string) => `The depot opens at ${word}.\nEvery parcel is scanned twice.\n`;
    const worker: Play = async ({ number, retry, use }) => {
      if (number !== "0") await use("write_file", { path: "out/depot.md", content: says(retry ? "seven" : "six") });
      await use("submit_output", { output: `made ${number}` });
    };
    let rejections = 0;
    const qc: Play = async (scene) => {
      if (scene.number !== "1.1" || rejections++ > 0) return passes(scene);
      const cited = { quote: "opens at six", from: "file", ref: "out/depot.md", lines: "1" };
      await scene.use("submit_verdict", verdictOf(false, { evidence: [{ criterion: 1, met: false, ...cited }] }));
    };
    await executed(app, run, playing({ worker, qc }));
    const task = (await app.runs.tasks(run)).find(({ number }) => number === "1.1")?.task_id ?? "";
    for (const [width, colorScheme] of [
      [1280, "light"],
      [390, "dark"],
    ] as const) {
      const { page, faults, url } = await visit(link, { viewport: { width, height: 900 }, colorScheme });
      await page.goto(`${url}/tasks/${task}`);
      const first = page.locator(".attempts > li").first();
      await first.getByText("1 file changed").click();
      await first
        .getByRole("region", { name: /^Change of out\/depot.md in attempt 1/ })
        .getByText("opens at six")
        .waitFor();
      await first.getByText("criterion 1 not met").click();
      const cited = first.getByRole("region", { name: /^out\/depot.md:1, cited by evidence 1/ });
      await cited.locator("mark").getByText("The depot opens at six.").waitFor();
      await page.getByRole("link", { name: "Compare attempts" }).click();
      const compare = page.getByRole("region", { name: "Compare attempts" });
      await compare.getByRole("row", { name: /^Verdict FAIL 40 PASS 92/ }).waitFor();
      const change = compare.getByRole("region", { name: /^Change of out\/depot.md from attempt 1/ });
      await change.locator("tr.removed mark").getByText("six").waitFor();
      await change.locator("tr.added mark").getByText("seven").waitFor();
      await expectAccessible(page, `a compared task, ${width} ${colorScheme}`);
      expect(await sideways(page)).toBe(0);
      await savePicture(page, `compare-${width}-${colorScheme}`);
      await compare.getByRole("button", { name: "Close comparison" }).click();
      await page.getByRole("link", { name: "Compare attempts" }).waitFor();
      expect(faults).toEqual([]);
    }
  });

  test("W7: a person takes over a failed text task in the browser, writes it, and hands it back", async () => {
    const { root, app } = await newWorkspace({ config: "crew: {sandbox: none, reports: facts}\n" });
    const { link } = await serve(root);
    const run = await newRun(app, [planned("0"), planned("1.1", { deliverable: "text", max_retries: 0 })]);
    const qc: Play = async (scene) =>
      scene.number === "1.1" ? void (await scene.use("submit_verdict", verdictOf(false))) : passes(scene);
    await executed(app, run, playing({ worker: writes(), qc }));
    const { page, faults, url } = await visit(link);
    await page.goto(`${url}/runs/${run}`);
    const failures = page.getByRole("region", { name: "Failed tasks" });
    await failures.getByRole("link", { name: "Edit plan" }).waitFor();
    await failures.getByRole("button", { name: "Take over" }).click();
    await page.waitForURL(/\/tasks\/task-/);
    await page.getByRole("button", { name: "Hand back" }).click();
    const dialog = page.getByRole("dialog");
    await expectAccessible(page, "the dialog to hand back a text");
    expect(await dialog.getByRole("button", { name: "Hand back" }).isDisabled()).toBe(true);
    await dialog.getByRole("textbox", { name: "Result" }).fill("Parcels are settled at noon.");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Hand back" }).click();
    await savePicture(page, "hand-back");
    await dialog.getByRole("button", { name: "Hand back" }).click();
    await page.getByText("Handed back; the task is").waitFor();
    await executed(app, run, playing({ worker: writes(), qc: passes }));
    const task = (await app.runs.tasks(run)).find(({ number }) => number === "1.1")?.task;
    expect(task?.state).toBe("completed");
    await page.locator(".attempts > li").last().getByText("Output", { exact: true }).click();
    await page.locator(".attempts pre").getByText("Parcels are settled at noon.").waitFor();
    expect(faults).toEqual([]);
  });
});
