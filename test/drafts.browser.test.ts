import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { authorship, program } from "./support/jobs.ts";
import { needs } from "./support/programs.ts";
import { agent, newWorkspace, person, read } from "./support/workspace.ts";

const path = "docs/deploy.md";
const text = "# Deploy\n\nWe deploy on Fridays.\n\nBuild first.\n\nThen pray.\n\nGo home.\n";
const better = text.replace("Fridays", "Tuesdays").replace("pray", "watch the error rate");

const setUp = (command = "/bin/true") => {
  const block = { ...authorship, runner: "command", isolation: "workspace", command: [command] };
  return newWorkspace({ config: `agent: ${JSON.stringify(block)}\n`, files: { [path]: text } });
};

async function propose(app: App, content = better): Promise<{ id: string; topic: string }> {
  const opened = { source_path: path, content: "Deploy earlier in the week.", quote: "on Fridays" };
  const topic = unwrap(await operations.open_topic.perform(app, opened, person()));
  const input = { topic_id: topic.id, base_sha: topic.source_sha ?? "", content };
  const { id } = unwrap(await operations.insert_proposal.perform(app, input, agent("engineer")));
  return { id, topic: topic.id };
}

/** Holds changes that are sent to an address until they are let go. */
async function holding(page: Page, address: string) {
  let letGo: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  await page.route(address, async (route) => {
    if (route.request().method() !== "GET") await released;
    await route.continue();
  });
  return () => letGo();
}

describe("drafts in a browser", needs("chromium"), () => {
  test("U2: Suggest edit begins with the text that was just approved and undoes nothing of it", async () => {
    const { app, root } = await setUp();
    const { id } = await propose(app);
    const { link } = await serve(root);
    const { page, url, faults } = await visit(link);
    await page.goto(`${url}/proposals/${id}`);
    await page.getByRole("button", { name: "Approve" }).click();
    await page.locator(".state-approved").waitFor();
    await page.locator("h1").getByRole("link", { name: path }).click();
    await page.getByText("watch the error rate").first().waitFor();
    await page.getByRole("button", { name: "Suggest edit" }).click();
    await page.locator(".cm-content").waitFor();
    await page.waitForTimeout(500);
    await page.locator(".cm-content").press("Control+End");
    await page.keyboard.type("Sleep.");
    await page.getByRole("textbox", { name: "What you changed and why" }).fill("They should sleep.");
    await page.getByRole("button", { name: "Propose edit" }).click();
    await page.waitForURL(/\/proposals\//);
    const [made] = await app.proposals.list("open");
    expect(unwrap(await operations.show_proposal.perform(app, { id: made?.id ?? "" }, person())).content).toBe(
      `${better}Sleep.`,
    );
    expect(faults).toEqual([]);
  });

  test("U7: words typed while a reply, a line of a log or a text is sent stay in the field", async () => {
    const { app, root } = await setUp();
    const { id, topic } = await propose(app);
    const { link } = await serve(root);
    const { page, url, faults } = await visit(link);

    const replies = await holding(page, "**/api/topics/*/messages");
    for (const address of [`/pages/${path}?topic=${topic}`, `/proposals/${id}`]) {
      await page.goto(url + address);
      const reply = page.getByRole("textbox", { name: "Reply" });
      await reply.fill("First.");
      await reply.press("Control+Enter");
      await reply.fill("Second, not sent.");
      replies();
      await page.getByRole("listitem").getByText("First.").first().waitFor();
      await page.waitForTimeout(500);
      expect(await reply.inputValue()).toBe("Second, not sent.");
      await reply.fill("");
    }

    const lines = await holding(page, "**/api/entries/**");
    await page.goto(`${url}/entries/decisions?view=edit`);
    const line = page.getByRole("textbox", { name: "New line" });
    await line.fill("Started.");
    await line.press("Enter");
    await line.fill("Half a lin");
    lines();
    await page.getByText("Line added").waitFor();
    expect(await line.inputValue()).toBe("Half a lin");

    const saves = await holding(page, "**/api/entries/**");
    await page.goto(`${url}/entries/vision?view=edit`);
    await page.locator(".cm-content").press("Control+End");
    await page.keyboard.type("Saved.");
    await page.keyboard.press("Control+s");
    await page.keyboard.type(" Not saved.");
    saves();
    await page.getByText("Saved version").waitFor();
    await page.waitForTimeout(500);
    expect(await page.locator(".cm-content").textContent()).toContain("Saved. Not saved.");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await expect.poll(() => read(join(root, "wiki/vision.md"))).toContain("Saved. Not saved.");
    expect(faults).toEqual([]);
  });

  test("U7: a note, comments on two lines and choices of changes survive a reload, another view and another line", async () => {
    const { app, root } = await setUp();
    const { id } = await propose(app);
    const { link } = await serve(root);
    const { page, url, faults } = await visit(link);
    await page.goto(`${url}/proposals/${id}?as=source`);
    const approve = page.getByRole("button", { name: "Approve" });
    await page.getByRole("textbox", { name: "Note" }).fill("Nearly");
    await page.getByRole("button", { name: "Comment on line 3", exact: true }).click();
    await page.getByRole("textbox", { name: "Comment on line 3" }).fill("Why not Mon");
    // A line that did not change, reached by Tab.
    await page.getByRole("button", { name: "Comment on line 4", exact: true }).focus();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("textbox", { name: "Comment on line 5" }).waitFor();
    await page.keyboard.type("Build what?");
    expect(await page.getByRole("textbox", { name: "Comment on line 3" }).inputValue()).toBe("Why not Mon");
    await page.getByRole("button", { name: "Leave out change 1" }).click();
    await page.getByRole("button", { name: "Edit change 2" }).click();
    await page.getByRole("textbox", { name: "Lines of change 2" }).fill("Then watch.");
    await page.getByText("Rendered", { exact: true }).click();
    await page.locator(".rendered-diff").waitFor();
    expect(await approve.isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Make revision" }).waitFor();
    await page.reload();
    await page.locator(".rendered-diff").waitFor();
    expect(await approve.isDisabled()).toBe(true);
    await page.getByText("Source", { exact: true }).click();
    expect(await page.getByRole("textbox", { name: "Lines of change 2" }).inputValue()).toBe("Then watch.");
    expect(await page.getByRole("textbox", { name: "Comment on line 3" }).inputValue()).toBe("Why not Mon");
    expect(await page.getByRole("textbox", { name: "Comment on line 5" }).inputValue()).toBe("Build what?");
    expect(await page.getByRole("textbox", { name: "Note" }).inputValue()).toBe("Nearly");
    await page.getByRole("button", { name: "Make revision" }).click();
    await page.getByText("revision 2", { exact: true }).waitFor();
    expect(await approve.isEnabled()).toBe(true);
    expect(faults).toEqual([]);
  });

  test("U4, U7: a note that is being typed when the next revision arrives is kept, and the page waits for it", async () => {
    const reviser = `prompt=$(cat)
of() { printf '%s\\n' "$prompt" | sed -n "s/^$1: //p"; }
while test -e "$(of 'Repo root')/wait"; do sleep 0.1; done
scribe=$(of 'Agent CLI path'); config=$(of 'Config file'); topic=$(of 'Topic ID'); page=$(of 'Source path')
{ cat "$page"; echo; echo "Revised as asked."; } |
  "$scribe" insert-proposal -config "$config" --topic-id "$topic" --base-sha "$(of 'Base source SHA')"`;
    const { app, root } = await setUp();
    const block = { ...authorship, runner: "command", isolation: "workspace", command: [program(root, reviser)] };
    const config = join(root, "scriptorium.yaml");
    writeFileSync(config, `${read(config).replace(/^agent: .*\n/m, "")}agent: ${JSON.stringify(block)}\n`);
    writeFileSync(join(root, "wait"), "");
    const { id } = await propose(app);
    const { link } = await serve(root);
    const { page, url, faults } = await visit(link);
    await page.goto(`${url}/proposals/${id}`);
    const note = page.getByRole("textbox", { name: "Note" });
    await note.fill("Say it in other words.");
    await page.getByRole("button", { name: "Return with a note" }).click();
    await page.getByText("agent running").waitFor();
    await note.fill("And mention the dashb");
    rmSync(join(root, "wait"));
    await page.getByRole("link", { name: "Revision 2" }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/proposals/${id}`);
    await note.press("End");
    await page.keyboard.type("oard.");
    await page.getByRole("button", { name: "Comment", exact: true }).click();
    await page.waitForURL((at) => !at.pathname.endsWith(id));
    await page.getByText("revision 2", { exact: true }).waitFor();
    expect(faults).toEqual([]);
  });
});
