import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { expectAccessible, visit } from "./support/browsing.ts";
import { scriptoriumOfPerson, serve, serveProcess } from "./support/commands.ts";
import { needs } from "./support/programs.ts";
import { ask } from "./support/requests.ts";
import { newWorkspace, temporaryFolder } from "./support/workspace.ts";

/** One red pixel. */
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==",
  "base64",
);

async function workspaceWith(files: Record<string, string | Buffer>) {
  const workspace = await newWorkspace();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(workspace.root, path)), { recursive: true });
    writeFileSync(join(workspace.root, path), text);
  }
  return workspace;
}

describe("reading in a browser", needs("chromium"), () => {
  test("U8: an old version shows its own author, time and word count", async () => {
    const { root } = await newWorkspace();
    const { link, token } = await serve(root);
    const { page, url, faults } = await visit(link);
    const put = async (content: string, version: number, who: string) =>
      ask(url, "/api/entries/notes", { method: "PUT", token: who, body: { content, version } });
    const { version } = (await ask(url, "/api/entries/notes", { token })).json();
    await put("one two three\n", version, token);
    const body = { kind: "agent", name: "scribe-bot", role: "engineer" };
    const made = (await ask(url, "/api/tokens", { method: "POST", token, body })).json();
    await put("one two three four five six seven\n", version + 1, made.token ?? token);
    await page.goto(`${url}/entries/notes?version=${version + 1}`);
    await page.getByText("You are reading version").waitFor();
    const facts = page.locator(".page-top .facts");
    expect(await facts.textContent()).toContain("3 words");
    expect(await facts.textContent()).toContain("Ada Lovelace");
    await page.getByRole("button", { name: /Read the latest version/ }).click();
    await facts.getByText("7 words").waitFor();
    expect(faults).toEqual([]);
  });

  test("U9: a person whose session ended is told so, not that the server is unreachable, and returns to the page after signing in", async () => {
    const { root } = await newWorkspace();
    const { link, token } = await serve(root);
    const { page, url } = await visit(link);
    await page.goto(`${url}/entries/notes`);
    await page.getByText("Live", { exact: true }).waitFor();
    await page.evaluate(`{
      window.seen = [];
      new MutationObserver(() => window.seen.push(document.body.textContent)).observe(document.body, { childList: true, subtree: true, characterData: true });
    }`);
    const { sessions } = (await ask(url, "/api/sessions", { token })).json();
    for (const { id } of sessions) await ask(url, `/api/sessions/${id}`, { method: "DELETE", token });
    await page.getByText("Your session has ended.").waitFor();
    expect(await page.evaluate("window.seen.some((text) => text.includes('not reachable'))")).toBe(false);
    expect(await page.getByRole("link", { name: "Sign in" }).getAttribute("href")).toBe(
      "/sign-in?to=%2Fentries%2Fnotes",
    );
  });

  test("U10: the open palette has no accessibility faults; a reader at ?view=edit reads, and is told why; a link to a file is not a dead end", async () => {
    const { root } = await workspaceWith({
      "docs/guide.md": "# Guide\n\nSee [the code](../src/main.ts), [notes](../wiki/notes.md) and [other](other.md).\n",
      "docs/other.md": "# Other\n\nthe other page\n",
    });
    const { link, token } = await serve(root);
    const { page, url, faults } = await visit(link);
    await page.goto(`${url}/pages/docs/guide.md`);
    await page.getByText("the code").waitFor();
    expect(await page.getByRole("link", { name: "the code" }).count()).toBe(0);
    await page.getByRole("link", { name: "other", exact: true }).click();
    await page.getByText("the other page").waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Find anything" }).waitFor();
    await page.getByRole("option").first().waitFor();
    await expectAccessible(page, "the palette");
    await page.getByRole("combobox", { name: "Find anything" }).fill("nothing has these words");
    await page.getByText("No results").waitFor();
    await expectAccessible(page, "the palette without results");
    expect(faults).toEqual([]);

    const report = { texts: ["[a](<../../docs/other.md>) [b](<../../src/main.ts>)"], path: "runs/r-1/report.md" };
    const { htmls } = (await ask(url, "/api/rendered/texts", { method: "POST", token, body: report })).json();
    expect(htmls[0]).toContain('href="/pages/docs/other.md"');
    expect(htmls[0]).toContain('class="file-link"');

    const added = (
      await ask(url, "/api/people", { method: "POST", token, body: { name: "Grace", rank: "reader" } })
    ).json();
    const reader = await visit(added.link);
    for (const view of ["/entries/notes?view=edit", "/entries/decisions?view=edit"]) {
      await reader.page.goto(`${reader.url}${view}`);
      await reader.page.getByText("Only collaborators and admins can edit this page.").waitFor();
      expect(await reader.page.getByRole("textbox").count()).toBe(0);
    }
    await expectAccessible(reader.page, "a page for a reader");
  });

  test("U11: the current view is marked, right-to-left text and one-line formulas are laid out, content is two tab stops away, Escape closes the phone's menu", async () => {
    const { root } = await workspaceWith({
      "docs/guide.md": "# Guide\n\nשלום עולם\n\nplain $x$ text\n\n$$a^2 + b^2$$\n",
    });
    const { link } = await serve(root);
    const { page, url, faults } = await visit(link);
    await page.goto(`${url}/entries/notes`);
    for (const view of ["Read", "Edit", "History", "Blame", "Source"]) {
      await page.getByRole("button", { name: view, exact: true }).click();
      await page.locator(`.page-actions [aria-current=page]`, { hasText: view }).waitFor();
      expect(await page.locator(".page-actions [aria-current]").count()).toBe(1);
    }
    await expectAccessible(page, "a page's views");
    await page.goto(`${url}/pages/docs/guide.md`);
    await page.getByText("שלום").waitFor();
    expect(await page.evaluate("getComputedStyle(document.querySelector('.prose p')).direction")).toBe("rtl");
    expect(await page.locator("math[display=block]").count()).toBe(1);
    expect(await page.locator("math").count()).toBe(2);

    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.closest('main') !== null")).toBe(true);
    expect(new URL(page.url()).pathname).toBe("/pages/docs/guide.md");

    await page.setViewportSize({ width: 390, height: 844 });
    const menu = page.getByRole("button", { name: "Menu" });
    await menu.click();
    await page.locator("[data-nav=open]").waitFor();
    await page.getByRole("link", { name: "Inbox" }).focus();
    await page.keyboard.press("Escape");
    await page.locator("[data-nav=open]").waitFor({ state: "detached" });
    expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe("Menu");
    expect(faults).toEqual([]);
  });

  test("U11: palette and search find the text of README, docs and sources and lead there; right-to-left lines of a diff are laid out so", async () => {
    const { root, app } = await workspaceWith({
      "README.md": "# Larkspur\n\nThe kingfisher dives at dawn.\n",
      "docs/deep/birds.md": "# Birds\n\nA bittern booms.\n\nשלום עולם\n",
    });
    await app.sources.add("sighting.txt", Buffer.from("A hoopoe was seen."), { name: "Ada" });
    while ((await app.search.catchUp()) > 0);
    const { link, token } = await serve(root);
    const { page, url, faults } = await visit(link);
    for (const [word, address] of [
      ["kingfisher", "/pages/README.md"],
      ["bittern", "/pages/docs/deep/birds.md"],
      ["hoopoe", "/source/sighting.txt"],
    ]) {
      await page.goto(url);
      await page.locator("main h1").waitFor();
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Find anything" }).fill(word ?? "");
      await page.getByRole("option", { name: /^Text/ }).first().click();
      await page.waitForURL((at) => at.pathname === address);
      await page.goto(`${url}/search?q=${word}`);
      await page.locator(".hits mark").first().waitFor();
      expect(new URL((await page.locator(".hits h2 a").first().getAttribute("href")) ?? "", url).pathname).toBe(
        address,
      );
    }

    const body = { source_path: "docs/deep/birds.md", kind: "change", content: "Greet the town." };
    const topic = (await ask(url, "/api/topics", { method: "POST", token, body })).json();
    const shown = (await ask(url, `/api/topics/${topic.id}`, { token })).json();
    const proposed = {
      topic_id: topic.id,
      base_sha: shown.source_sha,
      content: "# Birds\n\nA bittern booms.\n\nשלום עיר\n",
    };
    const made = (await ask(url, "/api/proposals", { method: "POST", token, body: proposed })).json();
    await page.goto(`${url}/proposals/${made.id}?as=source`);
    await page.locator("tr.added .code").waitFor();
    const direction = (selector: string) =>
      page.evaluate(`getComputedStyle(document.querySelector(${JSON.stringify(selector)})).direction`);
    expect(await direction("tr.added .code")).toBe("rtl");
    expect(await direction("tr.same .code")).toBe("ltr");
    await page.goto(`${url}/proposals/${made.id}`);
    await page.locator(".rendered-diff .added p").waitFor();
    expect(await direction(".rendered-diff .added p")).toBe("rtl");
    expect(faults).toEqual([]);
  });

  test("U11, T12, T13, T15, T16: images of the repository are shown, and no other file, script or address is loaded by them", async () => {
    const outside = temporaryFolder();
    writeFileSync(join(outside, "secret.png"), png);
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10" onload="alert(1)">
      <script>alert(2)</script><image href="http://127.0.0.1:9/beacon.png"/><rect width="10" height="10"/></svg>`;
    const { root } = await workspaceWith({
      "docs/img/red dot.png": png,
      "docs/picture.svg": svg,
      "docs/fake.png": "<script>alert(3)</script>",
      "notes.txt": "text",
      "docs/guide.md":
        "# Guide\n\n![Dot](img/red%20dot.png) ![Picture](picture.svg) ![Fake](fake.png) ![Gone](gone.png) " +
        "![Up](../../secret.png) ![Hidden](../.scriptorium/x.png) ![Far](https://example.test/a.png) ![Link](link.png)\n",
    });
    symlinkSync(join(outside, "secret.png"), join(root, "docs/link.png"));
    const { link, token } = await serve(root);
    const { page, url, faults } = await visit(link);
    await page.goto(`${url}/pages/docs/guide.md`);
    for (const name of ["Dot", "Picture"]) {
      const image = page.getByRole("img", { name });
      await expect.poll(() => image.getAttribute("src")).toMatch(/^data:image\//);
      await expect
        .poll(() => page.evaluate(`document.querySelector("img[alt=${name}]").naturalWidth`))
        .toBeGreaterThan(0);
    }
    await page.getByText("Gone (image not found)").waitFor();
    for (const name of ["Fake", "Hidden", "Link"]) await page.getByText(`${name} (image not shown)`).waitFor();
    expect(await page.getByText("(image not loaded)").count()).toBe(2);
    await page.waitForTimeout(300);
    expect(faults.filter((fault) => !/status of 40[04]/.test(fault))).toEqual([]);

    const get = (path: string, more: object = { token }) =>
      ask(url, `/api/rendered/image?path=${encodeURIComponent(path)}`, more);
    const shown = await get("docs/picture.svg");
    expect(shown.headers["content-security-policy"]).toContain("sandbox");
    expect(shown.headers["content-disposition"]).toBe("attachment");
    expect(shown.headers["x-content-type-options"]).toBe("nosniff");
    for (const path of [
      "../secret.png",
      "/etc/passwd",
      "notes.txt",
      "docs/guide.md",
      ".git/x.png",
      "docs/link.png",
      "docs/fake.png",
      "",
    ])
      expect((await get(path)).status).toBe(400);
    expect((await get("docs/picture.svg", {})).status).toBe(401);
  });

  test("R20: a long page shows its beginning while the whole is rendered, and does not move when that comes", async () => {
    const part = (at: number) => `## Part ${at}\n\n${"The ferry carries tea and rope. ".repeat(40)}\n\n`;
    const text = `# Ferries\n\n${Array.from({ length: 160 }, (_, at) => part(at)).join("")}See [the rules][rules].\n\n[rules]: docs/rules.md\n`;
    const { root } = await newWorkspace({ files: { "ferries.md": text, "docs/rules.md": "# Rules\n" } });
    const { link } = await serve(root);
    const { page, faults, url } = await visit(link);
    let send = () => {};
    const maySend = new Promise<void>((done) => (send = done));
    await page.route(/rendered\/page\?(?!.*part=)/, async (route) => {
      await maySend;
      await route.continue();
    });
    await page.goto(`${url}/pages/ferries.md`);
    await page.locator(".prose h2").first().waitFor();
    expect(await page.locator(".prose h2").count()).toBeLessThan(30);
    await page.evaluate("window.scrollTo(0, 900)");
    const top = () => page.locator(".prose h2", { hasText: /^Part 2$/ }).evaluate((h) => h.getBoundingClientRect().top);
    const before = await top();
    send();
    await expect.poll(() => page.locator(".prose h2").count()).toBe(160);
    expect(Math.abs((await top()) - before)).toBeLessThan(2);
    await page.goto(`${url}/pages/ferries.md#part-150`);
    await expect.poll(() => page.locator(".prose h2").count()).toBe(160);
    expect(faults).toEqual([]);
  });
});

test("U11: user add prints a link for the server that runs", async () => {
  const { root } = await newWorkspace();
  const { url, token } = await serveProcess(root);
  const env = { SCRIPTORIUM_TOKEN: token };
  const added = await scriptoriumOfPerson(["user", "add", "Grace", "--json"], { cwd: root, env });
  expect(new URL(added.json<{ link: string }>().link).port).toBe(new URL(url).port);
});
