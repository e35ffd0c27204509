import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { expectAccessible, sideways, visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { authorship } from "./support/jobs.ts";
import { needs } from "./support/programs.ts";
import { agent, newWorkspace, person, read } from "./support/workspace.ts";

const path = "docs/deploy.md";
const text = "# Deploy\n\nWe deploy on Fridays.\n\nBuild first.\n\nThen pray.\n\nGo home.\n";
const better = text.replace("Fridays", "Tuesdays").replace("pray", "watch the error rate");

async function desk() {
  const block = { ...authorship, runner: "command", isolation: "workspace", command: ["/bin/true"] };
  const { app, root } = await newWorkspace({ config: `agent: ${JSON.stringify(block)}\n`, files: { [path]: text } });
  const opened = { source_path: path, content: "Deploy earlier in the week.", quote: "on Fridays" };
  const topic = unwrap(await operations.open_topic.perform(app, opened, person()));
  const input = { topic_id: topic.id, base_sha: topic.source_sha, content: better };
  const { id } = unwrap(await operations.insert_proposal.perform(app, input, agent("engineer")));
  return { root, id, ...(await serve(root)) };
}

describe("the review desk in a browser", needs("chromium"), () => {
  test("U11: a comment on a line is below it and in the discussion; a part of the changes becomes a revision that is approved", async () => {
    const { root, id, link } = await desk();
    const { page, url, faults } = await visit(link);
    await page.goto(`${url}/proposals/${id}?as=source`);
    await page.getByRole("tab", { name: "Discussion" }).waitFor();
    await page.getByText("Deploy earlier in the week.").waitFor();
    const button = page.getByRole("button", { name: "Comment on line 7", exact: true });
    await button.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("textbox", { name: "Comment on line 7" }).fill("Which rate?");
    await expectAccessible(page, "a comment being written");
    await page.getByRole("button", { name: "Add comment" }).click();
    await page.locator(".line-talk").getByText("Which rate?").waitFor();
    await page.getByRole("tabpanel").getByText("Which rate?").waitFor();
    await page.getByRole("tabpanel").getByText("on line 7").waitFor();

    await page.getByRole("button", { name: "Leave out change 1" }).click();
    expect(await page.getByRole("button", { name: "Approve" }).isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Edit change 2" }).click();
    await page.getByRole("textbox", { name: "Lines of change 2" }).fill("Then watch the dashboard.");
    await page.getByRole("textbox", { name: "About the changes left out" }).fill("Fridays are fine.");
    await expectAccessible(page, "a choice of changes");
    await page.getByRole("button", { name: "Make revision" }).click();
    await page.getByText("revision 2", { exact: true }).waitFor();
    await page.getByText("on line 7 of revision 1").waitFor();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.locator(".state-approved").waitFor();
    expect(read(join(root, path))).toBe(text.replace("Then pray.", "Then watch the dashboard."));
    expect(faults).toEqual([]);
  });

  test("U11: on a phone the desk is one column without sideways scrolling, in light and dark", async () => {
    const { id, link } = await desk();
    for (const colorScheme of ["light", "dark"] as const) {
      for (const viewport of [
        { width: 390, height: 800 },
        { width: 1280, height: 900 },
      ]) {
        const { page, url } = await visit(link, { viewport, colorScheme });
        await page.goto(`${url}/proposals/${id}?as=source`);
        await page.getByRole("button", { name: "Leave out change 1" }).click();
        await page.getByRole("tab", { name: "Effects" }).click();
        await page.getByText("The page has not changed since this was proposed.").waitFor();
        expect(await sideways(page)).toBe(0);
        await expectAccessible(page, `the desk, ${colorScheme}, ${viewport.width}`);
      }
    }
  });
});
