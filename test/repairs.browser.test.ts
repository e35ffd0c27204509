import { describe, expect, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { expectAccessible, visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing, writes } from "./support/crew.ts";
import { needs } from "./support/programs.ts";
import { newWorkspace, read } from "./support/workspace.ts";

describe("repairs in a browser", needs("chromium"), () => {
  test("W7, U5: a plan change is confirmed, a task taken over, and accepted work merged", async () => {
    const { root, app } = await newWorkspace({ config: "crew: {sandbox: none, reports: facts}\n" });
    const check = { file: "out/1.1.txt", contains: "never" };
    const failing = planned("1.1", { max_retries: 0, verification: [{ criterion: "it says so", check }] });
    const run = await newRun(app, [planned("0"), failing, planned("1.2")]);
    const agents = playing({
      worker: writes(),
      qc: passes,
      pm: async ({ use }) => {
        await use("add_plan_tasks", { tasks: [planned("1.1", { requirements: "Make half of it." })] });
        await use("propose_plan", { reason: "The check could not pass." });
        return undefined;
      },
    });
    await executed(app, run, agents);
    const { ended } = unwrap(await app.host.replan(run, { by: "Ada", tasks: [], message: null, agents }));
    unwrap(await ended);
    const { link } = await serve(root);
    const { page, faults, url } = await visit(link);

    await page.goto(`${url}/inbox`);
    // A retry would repeat the plan that failed: where a change of it waits, that is the way on.
    await page.getByText("The run failed:").waitFor();
    expect(await page.getByRole("link", { name: "Open run to retry it" }).count()).toBe(0);
    await page.goto(`${url}/runs/${run}`);
    const review = page.getByRole("main").getByRole("link", { name: "Review plan change" });
    await review.waitFor();
    expect(await review.getAttribute("data-variant")).toBe("filled");
    expect(await page.getByRole("button", { name: "Retry failed tasks" }).getAttribute("data-variant")).toBe("default");
    await review.click();
    await page.waitForURL(/\/plan-changes\//);
    await page.goto(`${url}/inbox`);
    await page.getByRole("link", { name: "Plan change for task 1.1: A run" }).click();
    await page.getByText("The check could not pass.").waitFor();
    await page.getByText("Make half of it.").waitFor();
    await expectAccessible(page, "a plan change");
    await page.getByRole("button", { name: "Confirm" }).click();
    await page.waitForURL(`${url}/runs/${run}`);
    expect((await app.runs.find(run))?.plan?.tasks[1]?.requirements).toBe("Make half of it.");

    const task = (await app.runs.tasks(run)).find(({ number }) => number === "1.1")?.task_id ?? "";
    await page.goto(`${url}/tasks/${task}`);
    await page.getByRole("button", { name: "Take over" }).click();
    await page.getByRole("button", { name: "Hand back" }).waitFor();
    await expectAccessible(page, "a task taken over");
    expect(await app.tasks.find(task)).toMatchObject({ state: "worker_executing", holder: "Ada Lovelace" });

    await page.goto(`${url}/runs/${run}`);
    await page.getByRole("button", { name: "Merge accepted work" }).click();
    await page.getByRole("button", { name: "Merge", exact: true }).click();
    await page.getByText("Merged 1 file into main").waitFor();
    expect(read(`${root}/out/1.2.txt`)).toBe("1.2\n");
    expect(faults).toEqual([]);
  });
});
