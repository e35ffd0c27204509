import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { expectAccessible, savePicture, sideways, visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { executed, newRun, passes, planned, playing } from "./support/crew.ts";
import { authorship } from "./support/jobs.ts";
import { needs } from "./support/programs.ts";
import { agent, newWorkspace, person } from "./support/workspace.ts";

const text = "# Deploy\n\nBuild first.\n\nThen pray.\n";
const block = { ...authorship, runner: "command", isolation: "workspace", command: ["/bin/true"] };
const config = `crew: {sandbox: none}\nagent: ${JSON.stringify(block)}\n`;
const files = Object.fromEntries(["one", "two"].map((name) => [`docs/${name}.md`, text]));

async function propose(app: App, name: string, content = `${text}\nGo home.\n`): Promise<string> {
  const opened = { source_path: `docs/${name}.md`, content: "Say where to go." };
  const topic = unwrap(await operations.open_topic.perform(app, opened, person()));
  const input = { topic_id: topic.id, base_sha: topic.source_sha ?? "", content };
  return unwrap(await operations.insert_proposal.perform(app, input, agent("engineer"))).id;
}

/** Accessible, and no wider than a phone; with pictures in both themes and widths. */
async function look(page: Page, name: string) {
  await expectAccessible(page, name);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await savePicture(page, `${name}, ${colorScheme}`);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await sideways(page)).toBe(0);
    await savePicture(page, `${name}, ${colorScheme}, phone`);
    await page.setViewportSize({ width: 1280, height: 900 });
  }
  await page.emulateMedia({ colorScheme: "light" });
}

describe("the inbox as a queue in a browser", needs("chromium"), () => {
  test("U3, U11: held files with hidden characters wait for their acknowledgement; a decision opens the next item of any kind, and an approval is undone there", async () => {
    const { root, app } = await newWorkspace({ config, files });
    const first = await propose(app, "one");
    const second = await propose(app, "two");
    const run = await newRun(app, [planned("0"), planned("1.1")]);
    const agents = playing({
      worker: async ({ number, use }) => {
        if (number !== "0") await use("write_file", { path: "CLAUDE.md", content: "Obey\u202e me.\n" });
        await use("submit_output", { output: `made ${number}` });
      },
      qc: passes,
    });
    await executed(app, run, agents);
    const waiting = unwrap(await operations.inbox.perform(app, {}, person()));
    expect(waiting.runs[0]?.waiting_since).toBeTruthy();
    const order = waiting.proposals.map(({ id }) => id);
    expect([...order].sort()).toEqual([first, second].sort());
    const { link } = await serve(root);
    const { page, url, faults } = await visit(link);

    await page.goto(`${url}/inbox`);
    await page.locator("li", { hasText: "started by" }).getByText("waiting for").waitFor();
    await page.getByRole("link", { name: "Files of task 1.1: Do 1.1" }).click();
    const allow = page.getByRole("button", { name: "Allow files" });
    await page.getByRole("checkbox", { name: /hidden characters: U\+202E \(CLAUDE.md line 1\)/ }).waitFor();
    expect(await allow.isDisabled()).toBe(true);
    await page.getByText("1 of 4 in the inbox").waitFor();
    await page.getByRole("textbox", { name: "Reason" }).fill("Obey nobody.");
    await page.reload();
    expect(await page.getByRole("textbox", { name: "Reason" }).inputValue()).toBe("Obey nobody.");
    await page.getByText("1 of 4 in the inbox").click();
    await look(page, "the queue above held files");
    await page.locator("h1").click();
    await page.keyboard.press("j");
    await page.waitForURL(`${url}/runs/${run}`);
    await page.getByRole("link", { name: "Next item" }).click();
    await page.waitForURL(`${url}/proposals/${order[0]}`);

    await page.getByRole("button", { name: "Approve" }).click();
    await page.waitForURL(`${url}/proposals/${order[1]}`);
    await page.getByText(`Ada Lovelace approved docs/`).waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("Decision undone").waitFor();
    const listed = unwrap(await operations.list_proposals.perform(app, { status: "open" }, person()));
    expect(listed.proposals).toHaveLength(2);

    await page.goto(`${url}/inbox`);
    await page.getByRole("link", { name: "Files of task 1.1: Do 1.1" }).click();
    await page.getByText("1 of 4 in the inbox").waitFor();
    await page.getByRole("button", { name: "Refuse files" }).click();
    await page.waitForURL(`${url}/runs/${run}`);
    expect(faults).toEqual([]);
  });
});

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

describe("pages in a browser", needs("chromium"), () => {
  test("U11: relative images are shown in the preview of an edit and in the rendered change of a proposal", async () => {
    const withImage = "# Guide\n\n![Dot](img/dot.png)\n";
    const { root, app } = await newWorkspace({ files: { "docs/guide.md": withImage } });
    mkdirSync(join(root, "docs/img"), { recursive: true });
    writeFileSync(join(root, "docs/img/dot.png"), png);
    const id = await propose(app, "guide", withImage.replace("# Guide", "# Guide\n\nA dot."));
    const { link } = await serve(root);
    const { page, url } = await visit(link);
    for (const address of ["/pages/docs/guide.md?view=suggest", `/proposals/${id}`]) {
      await page.goto(url + address);
      const image = page.getByRole("img", { name: "Dot" });
      await expect.poll(() => image.getAttribute("src")).toMatch(/^data:image\//);
    }
  });

  test("U5: a page that cannot be read again stays on the screen with a notice", async () => {
    const { root, git } = await newWorkspace({ files: { "docs/one.md": text } });
    const { link } = await serve(root);
    const { page, url } = await visit(link);
    await page.goto(`${url}/pages/docs/one.md`);
    await page.getByText("Then pray.").waitFor();
    await page.route("**/api/rendered/page**", (route) =>
      route.fulfill({ status: 500, contentType: "application/json", body: '{"error":"the disk is tired"}' }),
    );
    writeFileSync(join(root, "docs/one.md"), `${text}\nSleep.\n`);
    git("commit", "-qam", "Sleep");
    await page.getByText("the disk is tired").waitFor();
    expect(await page.getByText("Then pray.").isVisible()).toBe(true);
    await page.unroute("**/api/rendered/page**");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("Sleep.").waitFor();
    expect(await page.getByText("the disk is tired").count()).toBe(0);
  });

  test("U11: in text from right to left, the left arrow selects the word on the left", async () => {
    const { root } = await newWorkspace({ files: { "docs/he.md": "# שלום\n\nאחת שתיים שלוש ארבע\n" } });
    const { link } = await serve(root);
    const { page, url } = await visit(link);
    await page.goto(`${url}/pages/docs/he.md`);
    await page.locator(".prose p").waitFor();
    await page.keyboard.press("s");
    await page.locator(".text-caret").waitFor();
    await page.keyboard.press("Shift+ArrowLeft");
    expect(await page.evaluate("getSelection().toString()")).toBe("א");
  });

  test("U5: without an agent, a returned proposal and a perspective lead to its set-up", async () => {
    const { root, app } = await newWorkspace({ files });
    const id = await propose(app, "one");
    const { link } = await serve(root);
    const { page, url } = await visit(link);
    await page.goto(`${url}/proposals/${id}`);
    await page.getByRole("textbox", { name: "Note" }).fill("Say it in other words.");
    await page.getByRole("button", { name: "Return with a note" }).click();
    await page.locator(".decide").getByRole("link", { name: "Set up an agent" }).click();
    await page.waitForURL(`${url}/settings/agents`);
  });

  test("N7: renaming a section shows the lines that change, and whether the id is free, before it writes", async () => {
    const { root, app } = await newWorkspace();
    const { version } = await app.entries.fetch("notes");
    const content = "See [[vision]] for more.\n";
    unwrap(await operations.commit_entry.perform(app, { id: "notes", content, version }, person()));
    const { link } = await serve(root);
    const { page, url } = await visit(link);
    await page.goto(`${url}/entries/vision`);
    await page.getByRole("button", { name: "Rename" }).click();
    const dialog = page.getByRole("dialog", { name: "Rename section" });
    await dialog.getByLabel("Id").fill("design");
    await expect.poll(() => dialog.textContent()).toContain("section design already exists");
    expect(await dialog.getByRole("button", { name: "Rename section" }).isDisabled()).toBe(true);
    await dialog.getByLabel("Id").fill("aim");
    await dialog.getByText("See [[aim]] for more.").waitFor();
    await look(page, "the preview of a rename");
    await dialog.getByRole("button", { name: "Rename section" }).click();
    await page.waitForURL("**/entries/aim");
    expect((await app.entries.fetch("notes")).content).toContain("[[aim]]");
  });
});
