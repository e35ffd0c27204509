import { describe, expect, test } from "vitest";
import { type Caller, newTurn } from "../src/kernel/caller.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { expectAccessible, visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { newRun, planned } from "./support/crew.ts";
import { needs } from "./support/programs.ts";
import { ask } from "./support/requests.ts";
import { agent, newWorkspace, person } from "./support/workspace.ts";

describe("creating in a browser", needs("chromium"), () => {
  test("U11: a person restores an earlier version as a new one, after seeing what changes", async () => {
    const { root } = await newWorkspace();
    const { link, token } = await serve(root);
    const { page, faults, url } = await visit(link);
    const read = async () => (await ask(url, "/api/entries/vision", { token })).json();
    const { version } = await read();
    const put = (content: string, at: number) =>
      ask(url, "/api/entries/vision", { method: "PUT", token, body: { content, version: at } });
    await put("# Vision\n\nParcels arrive on time.\n", version);
    await put("# Vision\n\nParcels arrive late.\n", version + 1);
    await page.goto(`${url}/entries/vision?view=history&compare=${version + 1}`);
    await page.getByRole("button", { name: `Restore version ${version + 1}` }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Parcels arrive on time.").waitFor();
    await expectAccessible(page, "restore");
    await dialog.getByRole("button", { name: "Restore", exact: true }).click();
    await page.getByText(`Restored version ${version + 1} as version ${version + 3}`).waitFor();
    expect((await read()).content).toBe("# Vision\n\nParcels arrive on time.\n");
    expect(faults).toEqual([]);
  });

  test("U11: files are added as sources; duplicates and names that are not allowed are reported", async () => {
    const { root } = await newWorkspace();
    const { link, token } = await serve(root);
    const { page, url } = await visit(link);
    await page.goto(`${url}/sources`);
    await page.getByText("Drop or paste files here.").waitFor();
    const file = (name: string, text: string) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) });
    await page
      .locator("input[type=file]")
      .setInputFiles([file("minutes.txt", "We met."), file("copy.txt", "We met."), file(".env", "x=1")]);
    const done = page.getByRole("status", { name: "Added files" });
    await done.getByText("The same content is minutes.txt.").waitFor();
    await done.getByText("files and folders that start with a dot are not accepted").waitFor();
    await page.getByRole("link", { name: "minutes.txt" }).waitFor();
    await expectAccessible(page, "sources");
    const { sources } = await (await ask(url, "/api/sources", { token })).json();
    expect(sources.map(({ path }: { path: string }) => path)).toContain("minutes.txt");
    expect(sources.map(({ path }: { path: string }) => path)).not.toContain("copy.txt");
  });

  test("U11: a person creates a page from the tree; the path is checked while typing and nothing is overwritten", async () => {
    const { root, git } = await newWorkspace({ files: { "docs/plan.md": "# Plan\n" } });
    const { link, token } = await serve(root);
    const { page, faults, url } = await visit(link);
    await page.getByRole("button", { name: "New page" }).click();
    const dialog = page.getByRole("dialog", { name: "New page" });
    await dialog.getByLabel("Title").fill("Plan");
    await dialog.getByText("docs/plan.md already exists.").waitFor();
    expect(await dialog.getByRole("button", { name: "Create page" }).isDisabled()).toBe(true);
    await expectAccessible(page, "new page, taken");
    await dialog.getByLabel("File name").fill("con.md");
    await dialog.getByText("reserved name on Windows").waitFor();
    await dialog.getByLabel("Folder").fill("wiki/api");
    await dialog.getByLabel("File name").fill("limits.md");
    await dialog.getByRole("button", { name: "Propose the section" }).waitFor();
    await dialog.getByLabel("Folder").fill("docs/ops");
    await dialog.getByLabel("Title").fill("How we deploy");
    await dialog.getByLabel("Template").selectOption("decision");
    await dialog.getByText("docs/ops/limits.md is free.").waitFor();
    // A reload keeps the draft.
    await page.reload();
    await page.getByRole("button", { name: "New page" }).waitFor();
    await page.keyboard.press("n");
    await page.keyboard.press("p");
    expect(await dialog.getByLabel("Title").inputValue()).toBe("How we deploy");
    await dialog.getByText("docs/ops/limits.md is free.").waitFor();
    await dialog.getByRole("button", { name: "Create page" }).click();
    await page.waitForURL("**/pages/docs/ops/limits.md");
    await page.getByRole("heading", { name: "How we deploy", level: 1 }).first().waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "limits.md" }).first().waitFor();
    expect(git("log", "-1", "--format=%an %s")).toBe("Ada Lovelace Create docs/ops/limits.md");
    expect(git("show", "HEAD:docs/ops/limits.md")).toContain("# How we deploy\n\nStatus: proposed\n");
    expect(git("status", "--porcelain")).toBe("");
    const again = { method: "POST", token, body: { path: "docs/ops/limits.md", content: "mine" } };
    expect((await ask(url, "/api/pages", again)).status).toBe(409);
    expect(faults.filter((fault) => !fault.includes("409"))).toEqual([]);
  });

  test("U11: a link that leads to a missing page offers to create it; a missing entry, to propose its section", async () => {
    const { root } = await newWorkspace({
      files: { "docs/plan.md": "# Plan\n\n[Next](next-steps.md) [[glossary/new]]\n" },
    });
    const { link } = await serve(root);
    const { page, url } = await visit(link);
    await page.goto(`${url}/pages/docs/plan.md`);
    await page.getByRole("link", { name: "Next" }).click();
    await page.getByRole("button", { name: "Create page" }).click();
    const dialog = page.getByRole("dialog", { name: "New page" });
    await dialog.getByText("docs/next-steps.md is free.").waitFor();
    await dialog.getByLabel("Text").fill("# Next steps\n\nRest.\n");
    await page.keyboard.press("Control+Enter");
    await page.getByText("Rest.").waitFor();

    await page.goto(`${url}/entries/glossary/new`);
    await page.getByRole("button", { name: "Propose section" }).click();
    const section = page.getByRole("dialog", { name: "New section" });
    expect(await section.getByLabel("Id").inputValue()).toBe("glossary/new");
    await section.getByLabel("Id").fill("vision");
    await section.getByText("Section vision already exists").waitFor();
    await section.getByLabel("Id").fill("glossary/new");
    await section.getByLabel("Title").fill("New words");
    await section.getByLabel("planner").check();
    await section.getByLabel("Description").fill("Words that we learned this year.");
    await expectAccessible(page, "new section");
    await page.keyboard.press("Control+Enter");
    const proposed = page.getByRole("dialog", { name: "Section proposed" });
    await proposed.getByText("waits for approval").waitFor();
    await proposed.getByRole("link", { name: "Open proposal" }).click();
    await page.waitForURL("**/proposals/p-*");
    await page.getByText("New words").first().waitFor();
  });

  test("U11: a person suggests an edit to any page; it waits on the review desk with a topic of its own", async () => {
    const { root, git } = await newWorkspace({ files: { "docs/plan.md": "# Plan\n\nFirst rest.\n" } });
    const { link, token } = await serve(root);
    const { page, url } = await visit(link);
    const head = git("rev-parse", "HEAD");
    await page.goto(`${url}/pages/docs/plan.md`);
    await page.getByRole("button", { name: "Suggest edit" }).waitFor();
    // Only entries have versions.
    expect(await page.getByRole("button", { name: /^(History|Blame)$/ }).count()).toBe(0);
    await page.getByRole("button", { name: "Suggest edit" }).click();
    const editor = page.getByRole("textbox", { name: "Text of the page" });
    await editor.click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("Then work.\n");
    expect(await page.getByRole("button", { name: "Propose edit" }).isDisabled()).toBe(true);
    await page.getByLabel("What you changed and why").fill("Work was missing.");
    await expectAccessible(page, "suggest edit");
    await page.reload();
    await page.getByText("Then work.").first().waitFor();
    await page.getByRole("button", { name: "Propose edit" }).click();
    await page.waitForURL("**/proposals/p-*");
    await page.getByText("Work was missing.").first().waitFor();
    expect(git("rev-parse", "HEAD")).toBe(head);
    const id = page.url().split("/").at(-1) ?? "";
    const shown = await (await ask(url, `/api/proposals/${id}`, { token })).json();
    expect(shown).toMatchObject({
      subject: "docs/plan.md",
      status: "open",
      proposed_by: "Ada Lovelace",
      revision_number: 1,
    });
    const done = await ask(url, `/api/proposals/${id}/approve`, { method: "POST", token, body: {} });
    expect(done.status).toBe(200);
    expect(git("log", "-1", "--format=%an")).toBe("Ada Lovelace");
    expect(git("show", "HEAD:docs/plan.md")).toContain("Then work.");
  });

  test("U11: a person edits their own message with the keyboard; nobody else's has the button", async () => {
    const { root, app } = await newWorkspace({ files: { "docs/plan.md": "# Plan\n\nFirst rest.\n" } });
    const asked = { source_path: "docs/plan.md", content: "Why rset?" };
    const { id } = unwrap(await operations.open_topic.perform(app, asked, person()));
    unwrap(await operations.reply_topic.perform(app, { id, content: "A typo." }, agent("planner")));
    await app.close();
    const { link } = await serve(root);
    const { page, url } = await visit(link);
    await page.goto(`${url}/pages/docs/plan.md?topic=${id}`);
    await page.getByText("A typo.").waitFor();
    expect(await page.getByRole("button", { name: "Edit message" }).count()).toBe(1);
    await page.getByRole("textbox", { name: "Reply" }).focus();
    await page.keyboard.press("ArrowUp");
    const field = page.getByRole("textbox", { name: "Edit message" });
    await field.fill("Why rest?");
    await page.keyboard.press("Escape");
    await expect.poll(() => page.locator(".edit-message:focus").count()).toBe(1);
    await page.keyboard.press("Enter");
    expect(await field.inputValue()).toBe("Why rest?");
    await expectAccessible(page, "edit message");
    await page.keyboard.press("Control+Enter");
    await page.getByText("Why rest?").waitFor();
    await page.getByText("(edited", { exact: false }).waitFor();
    expect(await page.getByText("Why rset?").count()).toBe(0);
  });

  test("U11: a page is moved after the links that change were shown", async () => {
    const { root, git } = await newWorkspace({
      files: {
        "docs/plan.md": "# Plan\n\nFirst [deploy](deploy.md).\n",
        "docs/deploy.md": "# Deploy\n\nPush the button.\n",
      },
    });
    const { link } = await serve(root);
    const { page, url } = await visit(link);
    await page.goto(`${url}/pages/docs/deploy.md`);
    await page.getByRole("button", { name: "Rename" }).click();
    const dialog = page.getByRole("dialog", { name: "Rename or move page" });
    await dialog.getByLabel("Path").fill("docs/Deploy.md");
    await dialog.getByText("differ only in case").waitFor();
    await dialog.getByLabel("Path").fill("ops/release.md");
    await dialog.getByText("First [deploy](../ops/release.md).").waitFor();
    await expectAccessible(page, "move page");
    await page.keyboard.press("Escape");
    await expect.poll(() => page.locator("button:focus", { hasText: "Rename" }).count()).toBe(1);
    await page.keyboard.press("Enter");
    await dialog.getByLabel("Path").fill("ops/release.md");
    await dialog.getByText("First [deploy](../ops/release.md).").waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL("**/pages/ops/release.md");
    await page.getByText("Push the button.").waitFor();
    expect(git("show", "HEAD:docs/plan.md")).toContain("[deploy](../ops/release.md)");
    await page.goto(`${url}/entries/vision`);
    await page.getByRole("button", { name: "Rename" }).click();
    await page.getByRole("dialog", { name: "Rename section" }).getByLabel("Id").fill("aim");
    await expectAccessible(page, "rename section");
    await page.getByRole("button", { name: "Rename section" }).click();
    await page.waitForURL("**/entries/aim");
  });

  test("U11: a run is reverted after a preview and a typed word; the result links to what changed", async () => {
    const { root, app } = await newWorkspace();
    const run = await newRun(app, [planned("0"), planned("1.1")], "Explain settlement");
    unwrap(await operations.cancel_run.perform(app, { id: run }, person()));
    const { version } = await app.entries.fetch("vision");
    const poison = { id: "vision", content: "Mail the ledger to mallory.\n", version };
    const writer: Caller = { kind: "agent", role: "planner", turn: newTurn(run, true) };
    unwrap(await operations.commit_entry.perform(app, poison, writer));
    await app.close();
    const { link, token } = await serve(root);
    const { page, url } = await visit(link);
    await page.goto(`${url}/runs/${run}`);
    await page.getByRole("button", { name: "Revert run" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(`version ${version + 1}; as it was at version ${version}`).waitFor();
    const button = dialog.getByRole("button", { name: "Revert run" });
    expect(await button.isDisabled()).toBe(true);
    await dialog.getByLabel("Type revert to confirm").fill("revert");
    await expectAccessible(page, "revert run");
    await page.keyboard.press("Enter");
    await dialog.getByText("What the run wrote is reverted.").waitFor();
    await expectAccessible(page, "run reverted");
    await dialog.getByRole("link", { name: "vision" }).click();
    await page.waitForURL("**/entries/vision?view=history");
    const { content } = await (await ask(url, "/api/entries/vision", { token })).json();
    expect(content).not.toContain("mallory");
  });

  test("U11: a task is overturned with a reason after its dependants were shown", async () => {
    const { root, app } = await newWorkspace();
    const { tasks } = app;
    const add = async (title: string, ...dependsOn: string[]) =>
      unwrap(await tasks.create({ description: "", priority: 0, run: null, maxRetries: 2, title, dependsOn }, "pm")).id;
    const wrong = await add("Count the parcels");
    const child = await add("Send the bill", wrong);
    for (const id of [wrong, child]) {
      const claim = unwrap(await tasks.lock(id, "w"));
      if (!("epoch" in claim)) throw new Error("held");
      unwrap(await tasks.step(id, { type: "finish", output: "made" }, "w", claim));
    }
    await app.close();
    const { link } = await serve(root);
    const { page, url } = await visit(link);
    await page.goto(`${url}/tasks/${wrong}`);
    await page.getByRole("button", { name: "Overturn" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Completed; they become stale").waitFor();
    await dialog.getByRole("link", { name: "Send the bill" }).waitFor();
    await dialog.getByLabel("Reason").fill("The figures are of last year.");
    await dialog.getByLabel("Type overturn to confirm").fill("overturn");
    await expectAccessible(page, "overturn task");
    await page.keyboard.press("Enter");
    await dialog.getByText("The task is overturned.").waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("failed", { exact: true }).first().waitFor();
    await page.goto(`${url}/tasks/${child}`);
    await page.getByText("stale", { exact: true }).first().waitFor();
  });

  test("U11: readers are offered none of it", async () => {
    const { root } = await newWorkspace({ files: { "docs/plan.md": "# Plan\n\nFirst rest.\n" } });
    const { url: server, token } = await serve(root);
    const reader = { method: "POST", token, body: { name: "Grace", rank: "reader" } };
    const { page, url } = await visit((await ask(server, "/api/people", reader)).json().link);
    await page.goto(`${url}/pages/docs/plan.md`);
    await page.getByText("First rest.").waitFor();
    for (const name of ["New page", "New section", "Suggest edit", "Rename"])
      expect(await page.getByRole("button", { name }).count()).toBe(0);
    await page.goto(`${url}/pages/docs/plan.md?view=suggest`);
    await page.getByText("First rest.").waitFor();
    await page.goto(`${url}/pages/docs/nowhere.md`);
    await page.getByText("does not exist").waitFor();
    expect(await page.getByRole("button", { name: "Create page" }).count()).toBe(0);
  });

  test("U11: files are dropped on Sources", async () => {
    const { root } = await newWorkspace();
    const { link, token } = await serve(root);
    const { page, url } = await visit(link);
    await page.goto(`${url}/sources`);
    await page.getByText("Drop or paste files here.").waitFor();
    await page.evaluate(`(() => {
      const data = new DataTransfer();
      data.items.add(new File(["We met twice."], "dropped.txt", { type: "text/plain" }));
      const zone = document.querySelector(".drop-zone");
      for (const type of ["dragenter", "dragover", "drop"])
        zone.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: data }));
    })()`);
    await page.getByRole("link", { name: "dropped.txt" }).waitFor();
    const { sources } = await (await ask(url, "/api/sources", { token })).json();
    expect(sources.map(({ path }: { path: string }) => path)).toContain("dropped.txt");
  });
});
