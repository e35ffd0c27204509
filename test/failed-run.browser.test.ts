import { describe, expect, test } from "vitest";
import { expectAccessible, visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, writes } from "./support/crew.ts";
import { needs } from "./support/programs.ts";
import { newWorkspace } from "./support/workspace.ts";

const check = { run: ["sh", "-c", "echo 'AssertionError: expected 3 to be 4' >&2; exit 1"], exits: 0 };
const lists = { root_causes: ["`sum` adds one too few"], recommendations: ["fix the loop"] };
const content = { timeline: "One attempt. <img src=x onerror=alert(1)>", score_progression: "0", ...lists };

describe("a failed run in a browser", needs("chromium"), () => {
  test("U5, W13, O9: it shows what failed with the output of the check, apart from what an agent made of it", async () => {
    const { root, app } = await newWorkspace({ config: "crew: {sandbox: none}\n" });
    const { link } = await serve(root);
    const verification = [{ criterion: "the tests pass", check }];
    const run = await newRun(app, [planned("0"), planned("1.1", { verification, max_retries: 0 })]);
    const agents = playing({
      worker: writes(),
      qc: async (scene) => {
        if (scene.number !== "") return passes(scene);
        await scene.use("submit_report", { content });
      },
    });
    await executed(app, run, agents);
    for (const [width, colorScheme] of [
      [1280, "light"],
      [1280, "dark"],
      [390, "light"],
      [390, "dark"],
    ] as const) {
      const { page, faults, url } = await visit(link, { viewport: { width, height: 900 }, colorScheme });
      await page.goto(`${url}/runs/${run}`);
      const failures = page.getByRole("region", { name: "Failed tasks" });
      await failures.getByText("criterion 1 (the tests pass)").waitFor();
      await page.getByRole("button", { name: "Retry failed tasks" }).waitFor();
      await failures.getByText("Output of the failed check").click();
      await failures.locator("pre").getByText("expected 3 to be 4").waitFor();
      await expectAccessible(page, `a failed run, ${width} ${colorScheme}`);
      if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/run-${width}-${colorScheme}.png` });
      await failures.getByRole("link", { name: /Task 1.1 failed/ }).click();
      await page.getByRole("heading", { name: "Failure: facts recorded by the system" }).waitFor();
      const analysis = page.getByRole("region", { name: "Analysis: failure report" });
      await analysis.getByText("adds one too few").waitFor();
      await analysis.getByText("Nobody has checked it.").waitFor();
      await expectAccessible(page, `a failed task, ${width} ${colorScheme}`);
      if (process.env.SHOTS)
        await page.screenshot({ path: `${process.env.SHOTS}/task-${width}-${colorScheme}.png`, fullPage: true });
      expect(await page.locator("body").textContent()).not.toContain("[object Object]");
      expect(faults).toEqual([]);
      await page.goto(`${url}/runs/${run}?tab=report`);
      await page.locator(".report").getByText("Analysis: failure report").waitFor();
      if (process.env.SHOTS)
        await page.screenshot({ path: `${process.env.SHOTS}/report-${width}-${colorScheme}.png`, fullPage: true });
    }

    const { page, faults, url } = await visit(link, { viewport: { width: 390, height: 900 } });
    await page.goto(`${url}/inbox`);
    await page.getByText("The run failed:").waitFor();
    await page.getByText(/task 1\.1 failed: .*the tests pass/).waitFor();
    await page.getByRole("link", { name: "Open run to retry it" }).waitFor();
    await expectAccessible(page, "the inbox with a failed run");
    await page.getByRole("button", { name: "Dismiss" }).click();
    await page.getByText("Nothing to review").waitFor();
    expect(faults).toEqual([]);
  });
});
