import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { chromium } from "./support/chromium.ts";
import { start } from "./support/commands.ts";
import { temporaryFolder } from "./support/workspace.ts";

const found = await chromium();
const reason = "missing" in found ? found.missing : undefined;
if (reason) process.stderr.write(`skipping the browser tests of the site: ${reason}\n`);
const pictures = process.env.SCRIPTORIUM_TEST_PICTURES;

type Example = { url: string; link: string };

/** `scriptorium serve --example`, as somebody would try it first. */
async function serveExample(): Promise<Example> {
  const child = start("scriptorium.js", ["serve", "--example", "--port", "0"], temporaryFolder());
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  child.stdout?.on("data", (chunk) => {
    said += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    said += chunk;
  });
  await expect.poll(() => said, { timeout: 20_000 }).toContain("Press Ctrl-C to stop.");
  const link = /http:\S+/.exec(said)?.[0] ?? "";
  return { url: new URL(link).origin, link };
}

type Visit = { page: Page; context: BrowserContext; faults: string[] };

/** A browser of its own, which notes every error, message and request that leaves the server's origin. */
async function visit({ url }: Example, options: Parameters<Browser["newContext"]>[0] = {}): Promise<Visit> {
  if (!("browser" in found)) throw new Error("no browser");
  const context = await found.browser.newContext(options);
  onTestFinished(() => context.close());
  const faults: string[] = [];
  context.on("request", (request) => {
    const asked = request.url();
    if (!asked.startsWith(`${url}/`) && !asked.startsWith("data:image/svg+xml,")) faults.push(`asked for ${asked}`);
  });
  const page = await context.newPage();
  page.on("console", (message) => faults.push(`console ${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return { page, context, faults };
}

async function picture(page: Page, name: string): Promise<void> {
  if (pictures) await page.screenshot({ path: `${pictures}/${name}.png`, fullPage: true });
}

const heading = (page: Page) => page.locator("h1").first().textContent();
const sideways = (page: Page) =>
  page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");

describe.skipIf(reason)("the site in a browser", () => {
  afterAll(async () => {
    if ("browser" in found) await found.browser.close();
  });

  const looks = (["light", "dark"] as const).flatMap((colorScheme) =>
    [1280, 390].map((width) => ({ colorScheme, width })),
  );

  test("a person signs in by the link and finds their way through the example, light and dark, wide and narrow", async () => {
    const example = await serveExample();
    for (const { colorScheme, width } of looks) {
      const { page, faults } = await visit(example, { colorScheme, viewport: { width, height: 900 } });
      const look = async (name: string) => {
        await picture(page, `${name}-${colorScheme}-${width}`);
        expect(await sideways(page), `${name} scrolls sideways at ${width}`).toBe(0);
        expect(await page.locator("main").count()).toBe(1);
        expect(await page.locator("h1").count()).toBe(1);
      };

      await page.goto(example.link);
      expect(page.url()).toBe(`${example.url}/`);
      expect(await heading(page)).toBe("Catalogue");
      expect(await page.locator(".entries > li").count()).toBeGreaterThan(10);
      await look("catalogue");

      await page
        .getByRole("link", { name: /architecture/i })
        .first()
        .click();
      expect(page.url()).toBe(`${example.url}/entries/architecture`);
      expect(await page.locator(".prose").textContent()).toMatch(/\w{3}/);
      await look("entry");

      const wiki = page.locator("a.wiki-link").first();
      const target = await wiki.getAttribute("href");
      await wiki.click();
      expect(page.url()).toBe(`${example.url}${target}`);
      await look("linked");

      expect(await page.locator("aside .versions > li").count()).toBeGreaterThan(0);
      await page.locator("aside .versions a").last().click();
      expect(page.url()).toMatch(/version=1$/);
      await look("version");

      await page.goto(`${example.url}/entries/decisions`);
      await look("log");

      await page.getByRole("link", { name: "Catalogue" }).first().click();
      await page.getByRole("searchbox", { name: "Search entries" }).fill("webhook retry");
      await page.keyboard.press("Enter");
      await page.waitForURL(/q=webhook/);
      expect(await page.locator("mark").count()).toBeGreaterThan(0);
      await look("search");
      await page.goto(`${example.url}/?q=zzzzqqq`);
      expect(await page.locator("main").textContent()).toContain("Nothing found");
      await look("nothing");

      await page.getByRole("link", { name: "Sources" }).click();
      expect(await page.locator("table.sources tbody tr").count()).toBe(4);
      await look("sources");
      expect(faults).toEqual([]);

      await page.goto(`${example.url}/entries/nowhere`);
      expect(await heading(page)).toBe("Not here");
      await look("missing");
      expect(faults.filter((fault) => !fault.includes("404 (Not Found)"))).toEqual([]);
    }
  });

  test("without a token there is only the way to sign in", async () => {
    const example = await serveExample();
    const { page, faults } = await visit(example);
    const answer = await page.goto(`${example.url}/entries/architecture`);
    expect(answer?.status()).toBe(401);
    expect(await heading(page)).toBe("Sign in");
    expect(await page.locator("main").textContent()).toContain("Open the link that scriptorium serve printed");
    expect(await page.locator("nav").count()).toBe(0);
    await picture(page, "sign-in");
    expect(faults.filter((fault) => !fault.includes("401 (Unauthorized)"))).toEqual([]);
  });

  test("everything can be reached and followed by keyboard, with the focus in sight", async () => {
    const example = await serveExample();
    const { page } = await visit(example, { viewport: { width: 1280, height: 900 } });
    await page.goto(example.link);
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to content");
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement.id")).toBe("main");
    await page.reload();

    const reached = new Set<string>();
    for (let step = 0; step < 60; step++) {
      await page.keyboard.press("Tab");
      const focus = (await page.evaluate(describeFocus)) as { label: string; isVisible: boolean };
      if (focus.label === "") break;
      expect(focus).toMatchObject({ isVisible: true });
      reached.add(focus.label);
    }
    const all = (await page.evaluate(`[...document.querySelectorAll("a, button, input")].map(${labelOf})`)) as string[];
    expect(all.filter((label) => !reached.has(label))).toEqual([]);

    await page.goto(`${example.url}/`);
    await page
      .getByRole("link", { name: /vision/i })
      .first()
      .focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(`${example.url}/entries/vision`);
  });

  test("text and background differ enough to be read, light and dark", async () => {
    const example = await serveExample();
    for (const colorScheme of ["light", "dark"] as const) {
      const { page } = await visit(example, { colorScheme });
      await page.goto(example.link);
      for (const path of ["/", "/entries/architecture", "/entries/decisions", "/sources", "/?q=retry"]) {
        await page.goto(`${example.url}${path}`);
        expect([path, colorScheme, await page.evaluate(lowContrast)]).toEqual([path, colorScheme, []]);
      }
    }
  });

  test("T10: another site's page can do nothing here, but a link from it opens for who is signed in", async () => {
    const example = await serveExample();
    const outside = createServer((request, response) => {
      response.setHeader("content-type", "text/html");
      response.end(request.url === "/" ? foreignPage(example.url) : "");
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void outside.close());
    await new Promise((ready) => outside.once("listening", ready));
    const { port } = outside.address() as AddressInfo;
    const { page, context } = await visit(example);
    const answers: Record<string, number> = {};
    context.on("response", (response) => {
      if (response.url().startsWith(example.url)) answers[new URL(response.url()).pathname] = response.status();
    });

    await page.goto(example.link);
    for (const origin of [`http://localhost:${port}`, `http://127.0.0.1:${port}`]) {
      await page.goto(`${origin}/`);
      await page.waitForFunction("document.title.startsWith('done')");
      expect(await page.title()).toBe("done failed failed failed failed blocked");
      await page.getByRole("link", { name: "a link" }).click();
      await page.locator("article").waitFor();
      expect(page.url()).toBe(`${example.url}/entries/vision?version=1`);

      await page.goto(`${origin}/`);
      await page.getByRole("button", { name: "send" }).click();
      await page.waitForURL(/decisions\/log/);
      expect(await page.locator("body").textContent()).toContain("denied");
    }
    const stranger = await visit(example);
    let asked = 0;
    stranger.context.on("request", (request) => {
      if (request.url().includes("/entries/vision")) asked++;
    });
    await stranger.page.goto(`http://localhost:${port}/`);
    await stranger.page.getByRole("link", { name: "a link" }).click();
    await expect.poll(() => asked).toBe(2);
    await stranger.page.waitForTimeout(500);
    expect([await heading(stranger.page), asked]).toEqual(["Sign in", 2]);

    await page.goto(`${example.url}/entries/decisions`);
    expect(await page.locator("body").textContent()).not.toContain("owned");
    expect(Object.entries(answers).filter(([path, status]) => path.startsWith("/api") && status < 400)).toEqual([]);
  });
});

// What runs in the page is written as text, for this project's types know no DOM.
const labelOf = `(node) => node.tagName + " " + (node.getAttribute("href") ?? node.id ?? "") + " " + node.textContent.trim()`;
const describeFocus = `(() => {
  const node = document.activeElement;
  if (!node || node === document.body) return { label: "", isVisible: true };
  const box = node.getBoundingClientRect();
  const outline = getComputedStyle(node).outlineStyle;
  const isVisible = box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight && outline !== "none";
  return { label: (${labelOf})(node), isVisible };
})()`;

const lowContrast = `(() => {
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const backdrop = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const color = numbers(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const texts = [...document.querySelectorAll("body *")].filter((node) =>
    [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim()) && node.getClientRects().length);
  return texts.flatMap((node) => {
    const [a, b] = [light(numbers(getComputedStyle(node).color)), light(backdrop(node))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    return ratio < 4.5 ? [node.className + ": " + node.textContent.trim().slice(0, 30) + " " + ratio.toFixed(2)] : [];
  });
})()`;

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
