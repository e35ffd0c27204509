import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { expectAccessible, select, visit } from "./support/browsing.ts";
import { serve, serveProcess, start } from "./support/commands.ts";
import { authorship, jobWorkspace, program } from "./support/jobs.ts";
import { needs } from "./support/programs.ts";
import { ask } from "./support/requests.ts";
import { newWorkspace } from "./support/workspace.ts";

/** An agent as small as one can be: it proposes the page with one word more. */
const scribbler = `prompt=$(cat)
of() { printf '%s\\n' "$prompt" | sed -n "s/^$1: //p"; }
scribe=$(of 'Agent CLI path'); config=$(of 'Config file'); topic=$(of 'Topic ID'); page=$(of 'Source path')
test -e "$(of 'Repo root')/broken" && { echo 'out of credit' >&2; exit 4; }
sed 's/the button/the big green button/' "$page" |
  "$scribe" insert-proposal -config "$config" --topic-id "$topic" --base-sha "$(of 'Base source SHA')"`;

/** Another, which re-tells a page by the line that says what to do. */
const teller = `prompt=$(cat)
of() { printf '%s\\n' "$prompt" | sed -n "s/^$1: //p"; }
printf '# Told for you\\n\\nIt says: %s\\n' "$(grep ^Pu "$(of 'Source path')")" |
  "$(of 'Agent CLI path')" put-perspective --config "$(of 'Config file')" --source-path "$(of 'Source path')" \\
  --persona "$(of 'Persona name')" --source-sha "$(of 'Source SHA')" --persona-sha "$(of 'Persona SHA')"`;

/** Configures a program as the workspace's agent. */
function employ(root: string, text: string): void {
  const config = join(root, "scriptorium.yaml");
  const block = { ...authorship, runner: "command", isolation: "workspace", command: [program(root, text)] };
  const others = readFileSync(config, "utf8").replace(/^agent: .*\n/m, "");
  writeFileSync(config, `${others}agent: ${JSON.stringify(block)}\n`);
}

describe("reading, writing and deciding in a browser", needs("chromium"), () => {
  test("R1, R2, R3, R4, R16, R20: selected words become a topic, a failed job, a job, a proposal, an approval, and their anchor moves along", async () => {
    const { root, git } = await jobWorkspace();
    employ(root, scribbler);
    writeFileSync(join(root, "broken"), "");
    const { link } = await serve(root);
    const { page, faults, url } = await visit(link);
    await page.goto(`${url}/pages/docs/deploy.md`);
    await page.getByText("Push the button.").waitFor();

    await select(page, "the button");
    await page.getByRole("button", { name: "Discuss", exact: true }).waitFor();
    await page.keyboard.press("c");
    await page.getByRole("textbox", { name: "Message" }).fill("Which one is it?");
    await page.keyboard.press("Control+Enter");
    const thread = page.locator(".thread.active");
    await thread.getByText("Which one is it?").waitFor();
    await thread.getByRole("button", { name: "Resolve" }).waitFor();
    const painted = "[...(CSS.highlights.get('topic-active') ?? [])].map(String)";
    await expect.poll(() => page.evaluate(painted)).toEqual(["the button"]);
    await expectAccessible(page, "a topic");

    await thread.getByRole("button", { name: "Ask agent" }).click();
    await thread.getByText("agent failed").waitFor();
    await thread.getByText(/exited with code 4/).waitFor();
    await thread.getByRole("button", { name: "Show log" }).click();
    await thread.getByText("out of credit").waitFor();

    rmSync(join(root, "broken"));
    await thread.getByRole("button", { name: "Try again" }).click();
    await thread.getByRole("link", { name: "Proposal 1" }).click();
    await page.waitForURL(/\/proposals\//);
    await page.locator(".rendered-diff .added").getByText("big green").waitFor();
    await page.getByText("keeps its passage").or(page.getByText("would lose its passage")).first().waitFor();
    await expectAccessible(page, "a proposal");
    await page.locator("label").getByText("Source").click();
    await page.locator(".source-diff tr.added").waitFor();
    await page.getByRole("textbox", { name: "Note" }).focus();
    await page.keyboard.press("Control+Enter");
    await page.locator(".state-approved").first().waitFor();
    await expect.poll(() => git("show", "HEAD:docs/deploy.md")).toContain("the big green button");

    await page.goto(`${url}/pages/docs/deploy.md?side=talk`);
    await page.getByText("Push the big green button.").waitFor();
    await page.locator(".thread .state").first().waitFor();
    expect(faults).toEqual([]);
  });

  test("R3, R5: a page is read as a persona, stale once it changed and written again; a topic that lost its words gets others", async () => {
    const { root } = await jobWorkspace();
    employ(root, teller);
    const { link, token } = await serve(root);
    const { page, faults, url } = await visit(link);
    const write = async (content: string) => {
      const { version } = (await ask(url, "/api/entries/notes", { token })).json();
      await ask(url, "/api/entries/notes", { method: "PUT", token, body: { content, version } });
    };
    await write("Push the button.\n\nWait for the light.\n");
    const body = {
      source_path: "wiki/notes.md",
      kind: "change",
      content: "Which light?",
      quote: "Wait for the light.",
    };
    const topic = (await ask(url, "/api/topics", { method: "POST", token, body })).json();

    await page.goto(`${url}/entries/notes`);
    await page.getByRole("combobox", { name: "Read as" }).selectOption("newcomer");
    await page.getByText("This page has no perspective for newcomer yet.").waitFor();
    await page.getByRole("button", { name: "Write it" }).click();
    await page.getByText("It says: Push the button.").waitFor();
    await page.getByRole("button", { name: "Show source" }).click();
    await page.getByRole("region", { name: "Original page" }).getByText("Wait for the light.").waitFor();
    await expectAccessible(page, "a perspective");

    await write("Pull the lever.\n\nThen go home, all of you.\n");
    await page.getByText(/Stale: the page changed/).waitFor();
    await page.getByRole("button", { name: "Rewrite" }).click();
    await page.getByText("It says: Pull the lever.").waitFor();
    await page.getByText("Stale: the page").waitFor({ state: "detached" });

    await page.goto(`${url}/entries/notes?topic=${topic.id}`);
    const thread = page.locator(".thread.active");
    await thread.getByText("orphaned").waitFor();
    await expectAccessible(page, "an orphan");
    await select(page, "Then go home");
    await page.getByRole("button", { name: "Re-anchor here" }).click();
    await thread.getByText("orphaned").waitFor({ state: "detached" });
    const painted = "[...(CSS.highlights.get('topic-active') ?? [])].map(String)";
    await expect.poll(() => page.evaluate(painted)).toEqual(["Then go home"]);
    // Before anyone has re-told the page there is nothing to show, and the server says so.
    expect(faults.filter((fault) => !fault.includes("404 (Not Found)"))).toEqual([]);
  });

  test("a page is edited and saved; a clash shows both texts and loses neither; a draft survives a reload", async () => {
    const { root } = await newWorkspace();
    const { link, token } = await serve(root);
    const { page, url } = await visit(link);
    const put = async (content: string) => {
      const { version } = (await ask(url, "/api/entries/notes", { token })).json();
      await ask(url, "/api/entries/notes", { method: "PUT", token, body: { content, version } });
    };
    await put("# Notes\n\n## One\n\nfirst line\n\n## Two\n\nlast line\n");
    await page.goto(`${url}/entries/notes`);
    await page.getByText("last line").waitFor();
    await page.keyboard.press("e");
    const editor = page.getByRole("textbox", { name: "Text of the page" });
    await editor.click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("mine at the end");
    await page.locator(".preview").getByText("mine at the end").waitFor();
    await page.reload();
    await page.getByText("This is your unsaved draft.").waitFor();
    await page.locator(".cm-content").getByText("mine at the end").waitFor();

    await put("# Notes\n\n## One\n\nfirst line, theirs\n\n## Two\n\nlast line\n");
    await page.getByText(/while you were editing/).waitFor();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("alert").getByText("Nothing is overwritten").waitFor();
    await page.getByRole("textbox", { name: "Their text" }).getByText("first line, theirs").waitFor();
    await page.getByRole("button", { name: "Keep both" }).click();
    await page.getByRole("button", { name: /Save on top of version/ }).click();
    await page.locator(".prose").getByText("first line, theirs").waitFor();
    await page.locator(".prose").getByText("mine at the end").waitFor();

    await page.goto(`${url}/entries/decisions?view=edit`);
    await page.getByRole("textbox", { name: "New line" }).fill("we chose this");
    await page.keyboard.press("Enter");
    await page.locator(".prose").getByText("we chose this").waitFor();
  });

  test("what others write appears by itself, also what was missed while the server was away", async () => {
    const { root } = await newWorkspace();
    const first = await serveProcess(root);
    const { page, url } = await visit(first.link);
    await page.goto(`${url}/entries/decisions`);
    await page.getByText("Live", { exact: true }).waitFor();
    await ask(url, "/api/entries/decisions/log", {
      method: "POST",
      token: first.token,
      body: { line: "seen at once" },
    });
    await page.getByText("seen at once").waitFor();

    await first.stop("SIGKILL");
    await page.getByText("The server is not reachable.").waitFor();
    await page.getByRole("link", { name: "Sources" }).click();
    await page.getByText("this part of the application could not be loaded").waitFor();
    await page.goBack();
    await page.getByText("seen at once").waitFor();
    const config = join(root, "scriptorium.yaml");
    writeFileSync(config, `${readFileSync(config, "utf8")}port: ${new URL(url).port}\n`);
    const again = start("scriptorium.js", ["serve"], root);
    await page.getByText("Live", { exact: true }).waitFor();
    await ask(url, "/api/entries/decisions/log", {
      method: "POST",
      token: first.token,
      body: { line: "after it came back" },
    });
    await page.getByText("after it came back").waitFor();
    again.kill("SIGKILL");
  });

  test("K13: a change is seen that came before the feed was open, while answers come later than events, and to a page that is no entry", async () => {
    const { root } = await newWorkspace({ files: { "docs/guide.md": "# Guide\n\nas it was\n" } });
    const { link, token } = await serve(root);
    let open: () => void = () => undefined;
    const opened = new Promise<void>((done) => {
      open = done;
    });
    const { page, url } = await visit(link, {}, async (context) => {
      await context.route(/\/api\/events/, (route) => opened.then(() => route.continue()));
      await context.route(/\/api\/rendered\/page/, async (route) => {
        await new Promise((late) => setTimeout(late, 400));
        await route.continue();
      });
    });
    const log = (line: string) =>
      ask(url, "/api/entries/decisions/log", { method: "POST", token, body: { line } }).then(() => undefined);
    await page.goto(`${url}/entries/decisions`);
    await page.locator(".empty-text, .prose").first().waitFor();
    await log("written before the feed");
    open();
    const busy = setInterval(() => void log("more"), 100);
    onTestFinished(() => clearInterval(busy));
    await page.locator(".prose").getByText("written before the feed").waitFor();
    clearInterval(busy);

    await page.getByRole("button", { name: "Other pages" }).click();
    await page.getByRole("button", { name: "docs" }).click();
    await page.getByRole("link", { name: "guide.md" }).click();
    await page.getByText("as it was").waitFor();
    writeFileSync(join(root, "docs/guide.md"), "# Guide\n\nas a hand made it\n");
    await page.getByText("as a hand made it").waitFor();
  });

  test("R21: an admin lets people in, changes what they may do and keeps them out; what a reader may not do is absent or explained", async () => {
    const { root } = await newWorkspace();
    const { link, token } = await serve(root);
    const admin = await visit(link);
    const { url } = admin;
    await admin.page.goto(`${url}/people`);
    await admin.page.getByText("No other people yet").waitFor();
    await admin.page.keyboard.press("n");
    await admin.page.keyboard.press("u");
    await admin.page.getByRole("textbox", { name: "Name" }).fill("Rea");
    await admin.page.getByRole("combobox", { name: "Rank" }).selectOption("reader");
    await admin.page.keyboard.press("Enter");
    const reas = (await admin.page.locator(".secret").textContent()) ?? "";
    await expectAccessible(admin.page, "a new person");
    await admin.page.keyboard.press("Escape");
    const rank = admin.page.getByRole("combobox", { name: "Rank of Rea" });
    expect(await rank.inputValue()).toBe("reader");
    await ask(url, "/api/sections", {
      method: "POST",
      token,
      body: { id: "extra", title: "Extra", mode: "snapshot", writable_by: [], description: "More." },
    });
    const { page } = await visit(reas);
    await page.goto(`${url}/entries/vision?side=talk`);
    await page.getByText("Only collaborators and admins can open topics").waitFor();
    expect(await page.getByRole("button", { name: "Edit", exact: true }).count()).toBe(0);
    await page.goto(`${url}/inbox`);
    await page.getByRole("heading", { name: "Nothing waits for you" }).waitFor();
    await page.getByRole("link", { name: "One decision waits for others" }).click();
    await page.getByRole("link", { name: /New section/ }).click();
    await page.getByText("Only collaborators and admins can decide").waitFor();
    expect(await page.getByRole("button", { name: "Approve" }).count()).toBe(0);
    expect(await page.getByRole("link", { name: "People" }).count()).toBe(0);
    await page.goto(`${url}/people`);
    await page.getByText("Only admins can see and manage people and tokens.").waitFor();

    await rank.selectOption("collaborator");
    await admin.page.getByText("Rea is now collaborator").waitFor();
    await page.goto(`${url}/entries/vision`);
    await page.getByRole("button", { name: "Edit", exact: true }).waitFor();
    await admin.page.getByRole("button", { name: "Remove Rea" }).click();
    await admin.page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await admin.page.getByText("Rea can no longer sign in").waitFor();
    await page.goto(`${url}/entries/vision`);
    expect(await page.locator("h1").textContent()).toBe("Sign in");
  });
});
