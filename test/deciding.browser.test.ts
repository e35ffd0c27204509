import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { expectAccessible, sideways, visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { authorship, program } from "./support/jobs.ts";
import { needs } from "./support/programs.ts";
import { ask } from "./support/requests.ts";
import { agent, newWorkspace, person, read } from "./support/workspace.ts";

const files = Object.fromEntries(
  ["one", "two", "three"].map((name) => [`docs/${name}.md`, `# Page ${name}\n\nIt begins here.\n`]),
);

/** An agent that proposes the page with the last message of its topic, once it is let go. */
const reviser = `prompt=$(cat)
of() { printf '%s\\n' "$prompt" | sed -n "s/^$1: //p"; }
while test -e "$(of 'Repo root')/wait"; do sleep 0.1; done
test -e "$(of 'Repo root')/broken" && { echo 'out of credit' >&2; exit 4; }
scribe=$(of 'Agent CLI path'); config=$(of 'Config file'); topic=$(of 'Topic ID'); page=$(of 'Source path')
{ cat "$page"; echo; echo "Revised as asked."; } |
  "$scribe" insert-proposal -config "$config" --topic-id "$topic" --base-sha "$(of 'Base source SHA')"`;

const setUp = async (command = "/bin/true") => {
  const block = { ...authorship, runner: "command", isolation: "workspace", command: [command] };
  return newWorkspace({ config: `agent: ${JSON.stringify(block)}\n`, files });
};

async function propose(app: App, path: string, more: string): Promise<{ id: string; topic: string }> {
  const opened = { source_path: path, kind: "change", content: "Say where it ends.", quote: "It begins here." };
  const topic = unwrap(await operations.open_topic.perform(app, opened, person()));
  const { source_sha } = unwrap(await operations.get_topic.perform(app, { id: topic.id }, person()));
  const proposed = { topic_id: topic.id, base_sha: source_sha, content: `${files[path]}\n${more}\n` };
  const { id } = unwrap(await operations.insert_proposal.perform(app, proposed, agent("engineer")));
  return { id, topic: topic.id };
}

const typeOnPage = async (page: Page, words: string) => {
  await page.locator("h1").click();
  for (const key of words) await page.keyboard.press(key === " " ? "Space" : key);
};

describe("deciding in a browser", needs("chromium"), () => {
  test("U3: no bare key approves or rejects; Ctrl+Enter in the panel does, and every browser can undo it for ten seconds", async () => {
    const { app, root } = await setUp();
    const { id } = await propose(app, "docs/one.md", "It ends here.");
    const { id: second } = await propose(app, "docs/two.md", "It ends there.");
    const { link, url, token } = await serve(root);
    const { page, faults } = await visit(link);
    const other = await visit(link);
    const origin = new URL(link).origin;
    const decisions = async () => (await ask(url, `/api/proposals/${id}`, { token })).json();
    await page.goto(`${origin}/proposals/${id}`);
    await other.page.goto(`${origin}/proposals/${id}`);
    await page.getByRole("button", { name: "Approve" }).waitFor();
    await typeOnPage(page, "wait an axe");
    await page.keyboard.press("Control+Enter");
    expect(await page.getByText("It takes effect in").count()).toBe(0);
    expect(await decisions()).toMatchObject({ status: "open", pending: null });
    await page.goto(`${origin}/proposals/${id}`);
    await page.locator("h1").click();
    await page.keyboard.press("?");
    const help = page.getByRole("dialog");
    await help.getByText("Reject").waitFor();
    expect(await help.locator("dl > div", { hasText: "Approve" }).textContent()).toMatch(/CTRL ↵$/);
    expect(await help.locator("dl > div", { hasText: "Reject" }).textContent()).toMatch(/SHIFT ↵$/);
    await page.keyboard.press("Escape");

    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Find anything" }).fill("Decision");
    await page.getByRole("option", { name: /Write a note/ }).waitFor();
    expect(await page.getByRole("option", { name: /Approve|Reject/ }).count()).toBe(0);
    await page.keyboard.press("Escape");

    await page.getByRole("textbox", { name: "Note" }).fill("Well said.");
    await page.keyboard.press("Control+Enter");
    // The next item opens; the decision can be undone above it.
    await page.waitForURL(new RegExp(second));
    await page.getByText("It takes effect in").waitFor();
    await other.page.getByText(/approved this/).waitFor();
    await expectAccessible(page, "a pending decision");
    await other.page.getByRole("button", { name: "Undo" }).click();
    await expect.poll(() => page.getByText("It takes effect in").count()).toBe(0);
    await page.goto(`${origin}/proposals/${id}`);
    await page.getByRole("button", { name: "Approve" }).waitFor();
    expect(await page.getByRole("textbox", { name: "Note" }).inputValue()).toBe("Well said.");
    expect(await decisions()).toMatchObject({ status: "open", pending: null });

    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("It takes effect in").waitFor();
    // Closing the tab does not undo it.
    await page.goto("about:blank");
    await other.page.locator(".state-approved").waitFor();
    expect(read(join(root, "docs/one.md"))).toContain("It ends here.");
    expect(await decisions()).toMatchObject({ note: "Well said." });
    await other.page.getByRole("link", { name: "Next item" }).click();
    await other.page.waitForURL(new RegExp(second));
    expect([...faults, ...other.faults]).toEqual([]);
  });

  test("U3: a decision that cannot take effect says why", async () => {
    const { app, root, git } = await setUp();
    const { id } = await propose(app, "docs/one.md", "It ends here.");
    const { link } = await serve(root);
    const { page, url } = await visit(link);
    await page.goto(`${url}/proposals/${id}`);
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("It takes effect in").waitFor();
    writeFileSync(join(root, "docs/one.md"), "# Page one\n\nIt begins elsewhere.\n");
    git("commit", "-qam", "Begin elsewhere");
    await page.getByRole("alert").getByText("did not take effect").waitFor();
    await page.getByRole("button", { name: "Dismiss" }).click();
    await expect.poll(() => page.getByText("did not take effect").count()).toBe(0);
    expect(read(join(root, "docs/one.md"))).not.toContain("It ends here.");
  });

  test("U3, T35: Approve is disabled until the hidden characters, which it names, are ticked", async () => {
    const { app, root } = await setUp();
    const { id } = await propose(app, "docs/one.md", "Pay \u202eeva\u202c now.");
    const { link } = await serve(root);
    const { page, url, faults } = await visit(link);
    await page.goto(`${url}/proposals/${id}`);
    const box = page.getByRole("checkbox", { name: /hidden characters: U\+202E U\+202C \(line 5\)/ });
    await box.waitFor();
    expect(await page.getByRole("button", { name: "Approve" }).isDisabled()).toBe(true);
    await page.getByRole("textbox", { name: "Note" }).focus();
    await page.keyboard.press("Control+Enter");
    expect(await page.getByText("It takes effect in").count()).toBe(0);
    await expectAccessible(page, "hidden characters to acknowledge");
    await box.check();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("It takes effect in").waitFor();
    expect(faults).toEqual([]);
  });

  test("U3: on a topic, the key a starts no agent", async () => {
    const { app, root } = await setUp();
    const { topic } = await propose(app, "docs/one.md", "It ends here.");
    const { link, token } = await serve(root);
    const { page, url } = await visit(link);
    await page.goto(`${url}/pages/docs/one.md?topic=${topic}`);
    await page.getByRole("button", { name: "Ask agent" }).waitFor();
    await typeOnPage(page, "a");
    await page.keyboard.press("a");
    expect((await ask(url, "/api/agent/jobs", { token })).json()).toEqual({ jobs: [] });
  });

  test("U4, U11: a proposal returned with a note shows the agent at work, its stderr if it fails, and then the revision", async () => {
    const { app, root } = await setUp();
    const config = join(root, "scriptorium.yaml");
    const block = { ...authorship, runner: "command", isolation: "workspace", command: [program(root, reviser)] };
    writeFileSync(config, `${read(config).replace(/^agent: .*\n/m, "")}agent: ${JSON.stringify(block)}\n`);
    const { id, topic } = await propose(app, "docs/one.md", "It ends here.");
    writeFileSync(join(root, "broken"), "");
    const { link, token } = await serve(root);
    const { page, url, faults } = await visit(link);
    await page.goto(`${url}/proposals/${id}`);
    const give = page.getByRole("button", { name: "Return with a note" });
    await page.getByRole("textbox", { name: "Note" }).fill("Say it in other words.");
    await give.click();
    await page.getByText("agent failed").waitFor();
    await page.getByText("out of credit").waitFor();

    writeFileSync(join(root, "wait"), "");
    rmSync(join(root, "broken"));
    await page.getByRole("textbox", { name: "Note" }).fill("Say it in better words.");
    await give.click();
    await page.getByText("agent running").waitFor();
    rmSync(join(root, "wait"));
    await page.waitForURL((at) => !at.pathname.endsWith(id));
    await page.getByText("revision 2", { exact: true }).waitFor();
    await page.locator(".rendered-diff .added").getByText("Revised as asked.").waitFor();
    const { messages } = (await ask(url, `/api/topics/${topic}`, { token })).json();
    expect(messages.map((message: { content: string }) => message.content)).toEqual([
      "Say where it ends.",
      "Say it in other words.",
      "Say it in better words.",
    ]);
    expect(faults).toEqual([]);
  });

  test("U4: without an agent, a returned proposal keeps its note and says what is missing", async () => {
    const { app, root } = await newWorkspace({ files });
    const { id } = await propose(app, "docs/one.md", "It ends here.");
    const { link } = await serve(root);
    const { page, url } = await visit(link, { viewport: { width: 390, height: 800 } });
    await page.goto(`${url}/proposals/${id}`);
    await page.getByRole("textbox", { name: "Note" }).fill("Say it in other words.");
    await page.getByRole("button", { name: "Return with a note" }).click();
    await page.getByText(/no agent is configured for jobs/).waitFor();
    await page.getByText("requested a revision").waitFor();
    expect(await sideways(page)).toBe(0);
  });

  test("U11: a row of the inbox has the topic, title and size of the change, and a conflict; the proposal says it at the top", async () => {
    const { app, root, git } = await setUp();
    const { id } = await propose(app, "docs/one.md", "It ends here.");
    await propose(app, "docs/two.md", "It ends\u200b there.");
    writeFileSync(join(root, "docs/one.md"), "# Page one\n\nIt begins here.\n\nSomeone ended it.\n");
    git("commit", "-qam", "End it");
    const { link } = await serve(root);
    const { page, url, faults } = await visit(link, { viewport: { width: 390, height: 800 } });
    await page.goto(`${url}/inbox`);
    const row = (name: string) => page.locator("ul.entries > li", { hasText: `docs/${name}.md` });
    await row("one").getByText("conflicts with the page").waitFor();
    for (const fact of ["Page one", "Say where it ends.", "It begins here.", "2 lines added, 0 removed", "the agent"])
      expect(await row("one").textContent()).toContain(fact);
    expect(await row("one").textContent()).toMatch(/waiting for (less than a|\d+) minute/);
    expect(await row("two").textContent()).toContain("hidden characters");
    expect(await row("two").textContent()).not.toContain("conflicts");
    expect(await sideways(page)).toBe(0);
    await expectAccessible(page, "the inbox");
    await page.goto(`${url}/proposals/${id}`);
    await page.locator(".page-head").getByText("Conflict: the page changed since").waitFor();
    expect(await page.getByRole("button", { name: "Approve" }).isDisabled()).toBe(true);
    expect(faults).toEqual([]);
  });
});
