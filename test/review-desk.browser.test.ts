import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { expectAccessible, sideways, visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { authorship, jobWorkspace, openTopic, over, pageText, runQueue, startJob } from "./support/jobs.ts";
import { needs } from "./support/programs.ts";
import { agent, newWorkspace, person, read } from "./support/workspace.ts";

const path = "docs/deploy.md";
const text = "# Deploy\n\nWe deploy on Fridays.\n\nBuild first.\n\nThen pray.\n\nGo home.\n";
const better = text.replace("Fridays", "Tuesdays").replace("pray", "watch the error rate");

const idle = { runner: "command", isolation: "workspace", command: ["/bin/true"] };
const block = { ...authorship, ...idle };

async function desk() {
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
    await page.locator(".line-talk").getByRole("button", { name: "Resolve" }).click();
    await page.locator(".line-talk").getByText("1 resolved comment").click();
    await page.getByRole("tabpanel").getByText("resolved", { exact: true }).waitFor();
    await page.locator(".line-talk").getByRole("button", { name: "Reopen" }).click();
    await page.locator(".line-talk").getByRole("button", { name: "Resolve" }).waitFor();

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
        expect(await page.getByRole("tab", { name: "Change" }).count()).toBe(viewport.width === 390 ? 1 : 0);
        await page.getByRole("tab", { name: "Effects" }).click();
        expect(await page.locator(".source-diff").isVisible()).toBe(viewport.width !== 390);
        await page.getByText("The page has not changed since this was proposed.").waitFor();
        expect(await sideways(page)).toBe(0);
        await expectAccessible(page, `the desk, ${colorScheme}, ${viewport.width}`);
      }
    }
  });

  test("U11: the first screen names another open proposal that conflicts, and the transcript of the job is beside the change", async () => {
    const { app, root } = await jobWorkspace(idle);
    const topic = await openTopic(app);
    const rival = await openTopic(app);
    const { source_sha: base_sha = "" } = unwrap(await operations.get_topic.perform(app, { id: topic }, person()));
    const other = { topic_id: rival, base_sha: base_sha ?? "", content: pageText.replace("the button", "no button") };
    const { id: against } = unwrap(await operations.insert_proposal.perform(app, other, agent("engineer")));
    const queue = await runQueue(app, async ({ tools, onEntry }) => {
      onEntry?.({ kind: "said", text: "The green one is meant." });
      const content = pageText.replace("the button", "the green button, see [the depot](depot.md)");
      await tools?.call("insert_proposal", { topic_id: topic, base_sha, content });
      return {};
    });
    const { job_id } = unwrap(await startJob(app, { topic_id: topic }));
    await over(app, job_id);
    await queue.stop();
    const id = (await app.proposals.list("open")).find(({ jobId }) => jobId === job_id)?.id;
    const { link } = await serve(root);
    const { page, url, faults } = await visit(link);
    await page.goto(`${url}/proposals/${id}`);
    await page.getByText("Conflict with another open proposal for this page").waitFor();
    await page.getByRole("tab", { name: "Agent" }).click();
    await page.getByText("The green one is meant.").waitFor();
    await page.getByText("Called insert_proposal").waitFor();
    await expectAccessible(page, "the transcript of a job");
    await page.getByRole("tab", { name: "Effects" }).click();
    await page.getByText("added, page missing").waitFor();
    await expectAccessible(page, "links and conflicts");
    await page.getByRole("tabpanel").getByRole("link", { name: "Revision 1 by the agent" }).click();
    await page.waitForURL(`${url}/proposals/${against}`);
    expect(faults).toEqual([]);
  });

  test("U11, U3: chosen proposals are approved after one confirmation that leaves out hidden characters, and each can be undone", async () => {
    const { app, root, git } = await newWorkspace({
      config: `agent: ${JSON.stringify(block)}\n`,
      files: Object.fromEntries(["a", "b", "c"].map((name) => [`docs/${name}.md`, text])),
    });
    for (const [name, ending] of [
      ["a", "Go to lunch."],
      ["b", "Go \u202eemoh\u202c."],
      ["c", "Go on."],
    ]) {
      const opened = { source_path: `docs/${name}.md`, content: "Where to?" };
      const topic = unwrap(await operations.open_topic.perform(app, opened, person()));
      const content = text.replace("Go home.", ending ?? "");
      const input = { topic_id: topic.id, base_sha: topic.source_sha ?? "", content };
      unwrap(await operations.insert_proposal.perform(app, input, agent("engineer")));
    }
    const { link } = await serve(root);
    const { page, url, faults } = await visit(link);
    await page.goto(`${url}/inbox`);
    for (const name of ["a", "b", "c"]) await page.getByRole("checkbox", { name: `docs/${name}.md` }).check();
    await page.getByRole("button", { name: "Approve chosen" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("hidden characters").waitFor();
    await expectAccessible(page, "the confirmation");
    await dialog.getByRole("button", { name: "Approve 2 proposals" }).click();
    const row = (name: string) => page.getByRole("listitem").filter({ hasText: `docs/${name}.md` });
    await row("a").getByRole("button", { name: "Undo" }).click();
    await row("c").waitFor({ state: "detached" });
    await row("a").waitFor();
    await row("b").waitFor();
    expect(read(join(root, "docs/c.md"))).toContain("Go on.");
    expect(read(join(root, "docs/a.md"))).toBe(text);
    expect(git("status", "--porcelain", "docs")).toBe("");
    await page.keyboard.press("j");
    expect(await page.evaluate("document.activeElement.closest('li') !== null")).toBe(true);
    expect(faults).toEqual([]);
  });
});
