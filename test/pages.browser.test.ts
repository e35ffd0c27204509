import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { html, raw } from "hono/html";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { renderMarkdown } from "../src/http/markdown.ts";
import { cataloguePage, entryPage } from "../src/http/pages.ts";
import { style } from "../src/http/style.ts";
import { chromium } from "./support/chromium.ts";
import { hostileMarkdown } from "./support/hostile-markdown.ts";

const policy =
  "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const chunks = Array.from({ length: Math.ceil(hostileMarkdown.length / 240) }, (_, at) =>
  hostileMarkdown.slice(at * 240, (at + 1) * 240),
);

const found = await chromium();
const reason = "missing" in found ? found.missing : undefined;
if (reason) process.stderr.write(`skipping the browser tests of pages: ${reason}\n`);

// Chromium asks its maker about any form it meets; that request carries nothing of the page's making.
const browsersOwn = new Set(["content-autofill.googleapis.com:443"]);

type Seen = { dialogs: string[]; violations: string[]; outside: string[]; errors: string[] };

describe.skipIf(reason)("pages in a browser", () => {
  let origin = "";
  let server: ReturnType<typeof serve>;
  let trap: Server;
  const trapped: string[] = [];

  beforeAll(async () => {
    // Chromium is told to use this as its proxy, so that anything bound elsewhere arrives here.
    trap = createServer((request, response) => {
      trapped.push(request.url ?? "");
      response.end();
    }).on("connect", (request, socket) => {
      trapped.push(request.url ?? "");
      socket.end();
    });
    await new Promise<void>((resolve) => trap.listen(0, "127.0.0.1", resolve));
    origin = await new Promise<string>((resolve) => {
      server = serve({ fetch: pages().fetch, hostname: "127.0.0.1", port: 0 }, (address) =>
        resolve(`http://127.0.0.1:${address.port}`),
      );
    });
  });

  afterAll(async () => {
    if ("browser" in found) await found.browser.close();
    server?.close();
    trap?.close();
  });

  async function visit(path: string, look?: (page: Page) => Promise<void>): Promise<Seen> {
    if (!("browser" in found)) throw new Error("no browser");
    const seen: Seen = { dialogs: [], violations: [], outside: [], errors: [] };
    const before = trapped.length;
    const proxy = {
      server: `http://127.0.0.1:${(trap.address() as AddressInfo).port}`,
      bypass: "127.0.0.1",
    };
    const context = await found.browser.newContext({ proxy });
    context.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(`${origin}/`) && !url.startsWith("data:image/svg+xml,")) seen.outside.push(url);
    });
    const page = await context.newPage();
    page.on("dialog", (dialog) => {
      seen.dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    page.on("pageerror", (error) => seen.errors.push(error.message));
    await page.addInitScript({ content: noteViolations });
    await page.goto(`${origin}${path}`, { waitUntil: "load" });
    await page.waitForTimeout(150);
    const violations = await page.locator("html").getAttribute("data-violations");
    if (violations) seen.violations.push(violations);
    await look?.(page);
    await context.close();
    seen.outside.push(...trapped.slice(before).filter((url) => !browsersOwn.has(url)));
    return seen;
  }

  const nothing: Seen = { dialogs: [], violations: [], outside: [], errors: [] };

  test("T15: the checks below notice a page that does misbehave", async () => {
    const bare = await visit("/misbehaving?policy=off");
    expect(bare.dialogs).toEqual(["ran"]);
    expect(bare.outside.some((url) => url.includes("beacon.test"))).toBe(true);
    const guarded = await visit("/misbehaving");
    expect(guarded.dialogs).toEqual([]);
    expect(guarded.violations.join()).toContain("script-src");
  });

  test.each(chunks.map((_, at) => at))("T15: T16: hostile texts, part %i, run nothing and load nothing", async (at) => {
    expect(await visit(`/chunk/${at}`, onlyKnownParts)).toEqual(nothing);
  });

  test.each(chunks.map((_, at) => at))(
    "T15: the same texts, part %i, are harmless even without the policy",
    async (at) => {
      expect(await visit(`/chunk/${at}?policy=off`)).toEqual(nothing);
    },
  );

  test("T15: hostile titles, ids, authors and search words are shown as text", async () => {
    expect(await visit("/catalogue", onlyKnownParts)).toEqual(nothing);
    expect(await visit("/found", onlyKnownParts)).toEqual(nothing);
  });

  test("T23: a page of 10 MB of quotes opens", async () => {
    await visit("/bomb", async (page) => {
      expect(await page.locator(".note").first().textContent()).toContain("1 MiB");
      expect(await page.locator("pre.plain-text").count()).toBe(1);
    });
  });

  test("T35: hidden characters in title, author and text are spelled out", async () => {
    await visit("/hidden", async (page) => {
      expect(await page.locator("h1 .hidden-char").textContent()).toBe("U+202E");
      expect(await page.locator("article .facts .hidden-char").textContent()).toBe("U+200B");
      expect(await page.locator(".prose .hidden-char").textContent()).toBe("U+2066 U+E0041");
      expect(await page.title()).toContain("[U+202E]");
    });
  });

  test("a page can be used by keyboard and does not scroll sideways on a phone", async () => {
    await visit("/chunk/0", async (page) => {
      await page.setViewportSize({ width: 390, height: 800 });
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
      await page.keyboard.press("Tab");
      expect(await page.evaluate("document.activeElement?.textContent")).toBe("Skip to content");
    });
  });
});

// What runs in the page is written as text, for this project's types know no DOM.
const noteViolations = `
  document.addEventListener("securitypolicyviolation", (event) => {
    document.documentElement.dataset.violations =
      (document.documentElement.dataset.violations ?? "") + event.violatedDirective + " ";
  });`;

const partsOfPage = `(() => {
  const all = [...document.querySelectorAll("body *")];
  const foreign = "script,style,link,meta,base,iframe,object,embed,img,svg,math,video,audio,source,template";
  return {
    foreign: all.filter((node) => node.matches(foreign)).map((node) => node.outerHTML),
    handlers: all.flatMap((node) => node.getAttributeNames().filter((name) => /^on|^style$/i.test(name))),
    schemes: [...new Set([...document.links].map((link) => link.protocol))]
      .filter((scheme) => !["http:", "https:", "mailto:"].includes(scheme)),
    forms: [...document.forms].filter((form) => form.getAttribute("action") !== "/").length,
    mains: document.querySelectorAll("#main").length,
  };
})()`;

async function onlyKnownParts(page: Page): Promise<void> {
  const parts = await page.evaluate(partsOfPage);
  expect(parts).toEqual({ foreign: [], handlers: [], schemes: [], forms: 0, mains: 1 });
}

function pages(): Hono {
  const render = (text: string) => renderMarkdown(text, { linkTo: (id) => `/entries/${encodeURIComponent(id)}` });
  const rendered = chunks.map((texts) => texts.map(render).join("\n"));
  const bad = '"><script>alert(1)</script><img src=x onerror=alert(1)>';
  const entry = {
    ...{ id: `a/${bad}`, title: bad, mode: "log" as const, version: 2, lastAuthor: bad, wordCount: 1 },
    ...{ summary: bad, writableBy: [bad], updatedAt: bad, content: "" },
  };
  const history = [{ version: 2, author: bad, role: bad, at: bad, summary: bad }];
  const place = { workspace: bad, person: bad };
  const hits = [{ id: bad, title: bad, snippet: `\u0002a \u0001${bad}\u0002 \u0001b` }];
  const hidden = { ...entry, id: "x", title: "pay\u202eee", lastAuthor: "ad\u200ba" };

  return new Hono()
    .use(async (c, next) => {
      await next();
      if (c.req.query("policy") !== "off") c.header("Content-Security-Policy", policy);
    })
    .get("/style.css", (c) => c.body(style, 200, { "Content-Type": "text/css; charset=utf-8" }))
    .get("/chunk/:at", (c) => {
      const body = rendered[Number(c.req.param("at"))] ?? "";
      return c.html(entryPage({ ...place, entry, history, html: body }));
    })
    .get("/catalogue", (c) => c.html(cataloguePage({ ...place, entries: [entry] })))
    .get("/found", (c) => c.html(cataloguePage({ ...place, entries: [], query: bad, hits })))
    .get("/bomb", (c) => c.html(entryPage({ ...place, entry, history, html: render(">".repeat(10_000_000)) })))
    .get("/hidden", (c) =>
      c.html(entryPage({ ...place, entry: hidden, history: [], html: render("a\u2066\u{e0041}b") })),
    )
    .get("/misbehaving", (c) =>
      c.html(
        html`<!doctype html><title>x</title>${raw('<img src="http://beacon.test/x.png"><script>alert("ran")</script>')}`,
      ),
    );
}
