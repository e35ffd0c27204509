import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { expectAccessible, sideways, violationsOn, visit } from "./support/browsing.ts";
import { start } from "./support/commands.ts";
import { needs } from "./support/programs.ts";

type Example = { url: string; link: string };

/** `scriptorium serve --example`, the first thing that a newcomer tries. */
async function serveExample(folder: string): Promise<Example & { child: ChildProcess }> {
  const child = start("scriptorium.js", ["serve", "--example", "--port", "0"], folder);
  const said = await new Promise<string>((done, fail) => {
    let text = "";
    const hear = (chunk: unknown) => {
      text += chunk;
      if (text.includes("Press Ctrl-C to stop.")) done(text);
    };
    child.stdout?.on("data", hear);
    child.stderr?.on("data", hear);
    child.once("close", () => fail(new Error(`serve --example ended early: ${text}`)));
  });
  const { origin } = new URL(/http:\S+/.exec(said)?.[0] ?? "");
  const token = readFileSync(join(folder, ".example/.scriptorium/token"), "utf8").trim();
  return { url: origin, link: `${origin}/?token=${token}`, child };
}

describe("the site in a browser", needs("chromium"), () => {
  // No test changes the example, so one server is enough.
  let example: Example = { url: "", link: "" };
  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), "scriptorium-example-"));
    const { child, ...served } = await serveExample(folder);
    example = served;
    return async () => {
      child.kill("SIGKILL");
      await once(child, "close");
      rmSync(folder, { recursive: true, force: true });
    };
  });

  const places = [
    "/",
    "/entries/architecture",
    "/entries/architecture?side=talk",
    "/entries/architecture?view=history",
    "/entries/architecture?view=blame",
    "/entries/architecture?view=source",
    "/entries/vision?view=edit",
    "/entries/decisions?view=edit",
    "/search?q=webhook",
    "/inbox",
    "/topics",
    "/runs",
    "/tasks",
    "/graph?node=entry:architecture",
    "/sources",
    "/source/2026-10-07-brambling-books-request.md",
    "/people",
  ];

  test("R20: every page has one heading, fits a phone, breaks no rule of axe, and says nothing in the console, light and dark", async () => {
    const { link } = example;
    const { page, faults, url } = await visit(link);
    const wrong: string[] = [];
    for (const path of places) {
      await page.goto(url + path);
      await page.locator("main h1").first().waitFor();
      await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
      expect([path, await page.locator("main").count()]).toEqual([path, 1]);
      if (!path.includes("edit")) expect([path, await page.locator("h1").count()]).toEqual([path, 1]);
      wrong.push(...(await violationsOn(page, `${path}, light`)));
      await page.emulateMedia({ colorScheme: "dark" });
      wrong.push(...(await violationsOn(page, `${path}, dark`, ["color-contrast"])));
      await page.setViewportSize({ width: 390, height: 800 });
      expect([path, await sideways(page)]).toEqual([path, 0]);
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.emulateMedia({ colorScheme: "light" });
    }
    expect(faults).toEqual([]);
    expect(wrong).toEqual([]);
  });

  test("a person signs in by the link, reads, follows links and versions, and finds words", async () => {
    const { link } = example;
    const { page, faults, url } = await visit(link);
    expect(page.url()).toBe(`${url}/`);
    await page.getByRole("heading", { name: "Wiki" }).waitFor();
    await page.locator(".entries > li").nth(10).waitFor();

    await page.locator("main").getByRole("link", { name: "Architecture" }).first().click();
    await page.waitForURL(`${url}/entries/architecture`);
    await page.locator(".contents").getByRole("link", { name: "Who owns what" }).waitFor();
    await page.getByRole("heading", { name: "Linked from" }).waitFor();
    await page.emulateMedia({ media: "print" });
    expect(await page.locator("nav:visible").count()).toBe(0);
    expect(await page.locator(".prose").isVisible()).toBe(true);
    await page.emulateMedia({ media: "screen" });

    const wiki = page.locator(".prose a.wiki-link").first();
    const target = await wiki.getAttribute("href");
    await wiki.hover();
    await page.getByRole("tooltip").waitFor();
    await wiki.click();
    await page.waitForURL(`${url}${target}`);
    expect(await page.evaluate("performance.getEntriesByType('navigation').length")).toBe(1);

    await page.goto(`${url}/entries/architecture?view=blame`);
    await page.locator(".blame td.by").first().waitFor();
    await page.goto(`${url}/entries/architecture?version=9`);
    await page.getByRole("heading", { name: "Not found" }).waitFor();
    await page.goto(`${url}/entries/nowhere`);
    await page.getByText("Entry nowhere does not exist").waitFor();

    await page.goto(`${url}/search`);
    await page.getByRole("searchbox", { name: "Search everything" }).fill("webhook retry");
    await page.waitForURL(/q=webhook/);
    await page.locator("mark").first().waitFor();
    await page.goto(`${url}/search?q=zzzzqqq`);
    await page.getByText("No results for zzzzqqq").waitFor();
    await page.goto(`${url}/sources`);
    await page.getByRole("button", { name: "Verify" }).click();
    await page.getByText("4 sources are unchanged").waitFor();
    expect(await page.locator("table.sources tbody tr").count()).toBe(4);
    await page.getByRole("link", { name: /incident-chat/ }).click();
    await page.getByRole("region", { name: "Text of the source" }).getByText("Quaywise").first().waitFor();
    expect(faults.filter((fault) => !fault.includes("404 (Not Found)"))).toEqual([]);
  });

  test("everything is reached by keyboard: skip link, palette, shortcuts and their help", async () => {
    const { link } = example;
    const { page, url } = await visit(link);
    await page.getByRole("heading", { name: "Wiki" }).waitFor();
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to content");
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement.id")).toBe("main");

    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Find anything" }).fill("tracking api");
    await page
      .getByRole("option", { name: /Tracking API/ })
      .first()
      .waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(`${url}/entries/interfaces/tracking-api`);

    await page.keyboard.press("g");
    await page.keyboard.press("i");
    await page.waitForURL(`${url}/inbox`);
    await page.keyboard.press("?");
    const help = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    await help.getByText("Find anything").waitFor();
    await expectAccessible(page, "help");
    await page.keyboard.press("Escape");
    await help.waitFor({ state: "detached" });
    await page.keyboard.press("t");
    await page.keyboard.press("d");
    await expect.poll(() => page.evaluate("document.documentElement.dataset.mantineColorScheme")).toBe("dark");

    await page.goto(`${url}/tasks`);
    await page.getByRole("button", { name: "New task" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "New task" }).waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => page.evaluate("document.activeElement.textContent")).toBe("New task");
    await page.goto(url);
    await page.locator("main").getByRole("link", { name: "Vision" }).focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(`${url}/entries/vision`);
    await expect.poll(() => page.evaluate("document.activeElement.id")).toBe("main");

    await page.setViewportSize({ width: 1600, height: 900 });
    await page.locator("article .prose").waitFor();
    const titleAt = async () => (await page.locator("h1").first().boundingBox())?.x;
    const read = await titleAt();
    await page.keyboard.press("e");
    await page.locator(".cm-content").waitFor();
    expect(await titleAt(), "the title stays where it is when the page is edited").toBe(read);
  });

  test("the first page loads at most 200 kB of zipped JavaScript, and neither editor, diagrams nor charts", async () => {
    const { link } = example;
    const loaded: string[] = [];
    await visit(link, {}, async (context) => {
      context.on("response", (response) => {
        if (response.url().endsWith(".js")) loaded.push(new URL(response.url()).pathname.split("/").at(-1) ?? "");
      });
    }).then(({ page }) => page.getByRole("heading", { name: "Wiki" }).waitFor());
    const folder = new URL("../dist/web/assets/", import.meta.url);
    const size = [...new Set(loaded)].reduce(
      (sum, name) => sum + gzipSync(readFileSync(new URL(name, folder))).length,
      0,
    );
    process.stderr.write(`first load: ${(size / 1000).toFixed(1)} kB of zipped JavaScript in ${loaded.length} files\n`);
    expect(size).toBeLessThanOrEqual(200_000);
    expect(readdirSync(folder).length).toBeGreaterThan(loaded.length);
    expect(loaded.filter((name) => /editor|mermaid|figures|graph/.test(name))).toEqual([]);
  });

  test("without a token there is only the way to sign in", async () => {
    const { url } = example;
    const { page, faults } = await visit(`${url}/entries/architecture`);
    expect(await page.locator("h1").textContent()).toBe("Sign in");
    expect(await page.locator("main").textContent()).toContain("Open a sign-in link");
    expect(await page.locator("nav").count()).toBe(0);
    await expectAccessible(page, "sign in");
    expect(faults.filter((fault) => !fault.includes("401 (Unauthorized)"))).toEqual([]);
  });

  test("T10: another site's page can do nothing here, but a link from it opens for who is signed in", async () => {
    const outside = createServer((request, response) => {
      response.setHeader("content-type", "text/html");
      response.end(request.url === "/" ? foreignPage(example.url) : "");
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void outside.close());
    await new Promise((ready) => outside.once("listening", ready));
    const { port } = outside.address() as AddressInfo;
    const { page, context } = await visit(example.link);
    const answers: Record<string, number> = {};
    context.on("response", (response) => {
      const { pathname } = new URL(response.url());
      const isForeign = !response.frame().url().startsWith(example.url);
      if (response.url().startsWith(example.url) && isForeign) answers[pathname] = response.status();
    });

    for (const origin of [`http://localhost:${port}`, `http://127.0.0.1:${port}`]) {
      await page.goto(`${origin}/`);
      await page.waitForFunction("document.title.startsWith('done')");
      expect(await page.title()).toBe("done failed failed failed failed blocked");
      await page.getByRole("link", { name: "a link" }).click();
      await page.locator("article .prose").waitFor();
      expect(page.url()).toBe(`${example.url}/entries/vision?version=1`);

      await page.goto(`${origin}/`);
      await page.getByRole("button", { name: "send" }).click();
      await page.waitForURL(/decisions\/log/);
      expect(await page.locator("body").textContent()).toContain("denied");
    }
    const stranger = await visit(example.url);
    let asked = 0;
    stranger.context.on("request", (request) => {
      if (request.url().includes("/entries/vision")) asked++;
    });
    await stranger.page.goto(`http://localhost:${port}/`);
    await stranger.page.getByRole("link", { name: "a link" }).click();
    await expect.poll(() => asked).toBe(2);
    await stranger.page.waitForTimeout(500);
    expect([await stranger.page.locator("h1").first().textContent(), asked]).toEqual(["Sign in", 2]);

    await page.goto(`${example.url}/entries/decisions`);
    await page.locator("article .prose").waitFor();
    expect(await page.locator("body").textContent()).not.toContain("owned");
    expect(Object.entries(answers).filter(([path, status]) => path.startsWith("/api") && status < 400)).toEqual([]);
  });
});

/** A page that tries, with the visitor's cookies, what a page of another origin can try. */
const foreignPage = (url: string) => `<!doctype html><title>trying</title>
<a href="${url}/entries/vision?version=1">a link</a>
<form method="post" enctype="text/plain" action="${url}/api/entries/decisions/log">
  <input name='{"line": "owned", "x": "' value='"}'><button>send</button>
</form>
<script type="module">
  const body = JSON.stringify({ line: "owned" });
  const log = "${url}/api/entries/decisions/log";
  const say = (promise) => promise.then((answer) => (answer.type === "opaque" ? "failed" : "worked"), () => "failed");
  const results = [
    await say(fetch("${url}/api/entries", { credentials: "include" })),
    await say(fetch(log, { method: "POST", mode: "no-cors", credentials: "include", body })),
    await say(fetch(log, { method: "POST", credentials: "include", headers: { "content-type": "application/json" }, body })),
    await new Promise((done) => {
      const image = new Image();
      image.onload = () => done("worked");
      image.onerror = () => done("failed");
      image.src = "${url}/api/entries";
    }),
    await new Promise((done) => {
      const frame = document.createElement("iframe");
      frame.onload = () => {
        try { done(frame.contentDocument ? "open" : "blocked"); } catch { done("blocked"); }
      };
      frame.src = "${url}/";
      document.body.append(frame);
    }),
  ];
  document.title = "done " + results.join(" ");
</script>`;
