import type { BrowserContext, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { renderMarkdown } from "../src/http/markdown.ts";
import { visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { hostileMarkdown } from "./support/hostile-markdown.ts";
import { needs } from "./support/programs.ts";
import { ask } from "./support/requests.ts";
import { newWorkspace } from "./support/workspace.ts";

const bad = '"><script>alert(1)</script><img src=x onerror=alert(1)>';
const render = (text: string) =>
  renderMarkdown(text, { linkTo: (id) => `/entries/${encodeURIComponent(id)}`, stampFrom: 0 });

/** The application with pages that the test writes: the server's own, but for what is changed. */
async function withPage(changed: Record<string, unknown>, look: (page: Page) => Promise<void>, policy = true) {
  const { root } = await newWorkspace();
  const { plainLink, stop } = await serve(root);
  const violations: string[] = [];
  const change = async (context: BrowserContext) => {
    await context.exposeFunction("noteViolation", (what: string) => violations.push(what));
    await context.addInitScript({ content: noteViolations });
    await context.route(/\/api\/rendered\/page/, async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, json: { ...(await answer.json()), ...changed } });
    });
    if (policy) return;
    await context.route(/\/entries\//, async (route) => {
      if (route.request().resourceType() !== "document") return route.fallback();
      const answer = await route.fetch();
      const { "content-security-policy": _gone, ...headers } = answer.headers();
      await route.fulfill({ response: answer, headers });
    });
  };
  const { page, faults, url } = await visit(plainLink, {}, change);
  await page.goto(`${url}/entries/vision`);
  await page.locator(".prose, .empty-text").first().waitFor();
  await page.waitForTimeout(200);
  await look(page);
  await page.close();
  await stop();
  return { faults, violations };
}

// What runs in the page is written as text, for this project's types know no DOM.
const noteViolations = `
  document.addEventListener("securitypolicyviolation", (event) => noteViolation(event.violatedDirective + " " + event.blockedURI));`;

const partsOfPage = `(() => {
  const all = [...document.querySelectorAll(".page .prose *, .page h1 *, .page .facts *, .messages *")];
  const foreign = "script,style,link,meta,base,iframe,object,embed,img,video,audio,source,template,form";
  return {
    foreign: all.filter((node) => node.matches(foreign)).map((node) => node.outerHTML),
    handlers: all.flatMap((node) => node.getAttributeNames().filter((name) => /^on/i.test(name))),
    schemes: [...new Set([...document.links].map((link) => link.protocol))]
      .filter((scheme) => !["http:", "https:", "mailto:"].includes(scheme)),
    mains: document.querySelectorAll("#main").length,
  };
})()`;

const onlyKnownParts = async (page: Page) => {
  expect(await page.evaluate(partsOfPage)).toEqual({ foreign: [], handlers: [], schemes: [], mains: 1 });
};

const nothing = { faults: [], violations: [] };
// A diagram is a picture that we draw, and comes from a frame of ours: it has a test of its own.
const everything = hostileMarkdown
  .filter((text) => !text.includes("```mermaid"))
  .map(render)
  .join("\n");

describe("pages in a browser", needs("chromium"), () => {
  test("T15: the checks below notice a page that does misbehave", async () => {
    const misbehaving = async (page: Page) => {
      await page.evaluate(
        `document.body.insertAdjacentHTML("beforeend", '<img src="http://beacon.test/x.png" onerror="alert(1)">')`,
      );
      await page.waitForTimeout(300);
    };
    const guarded = await withPage({}, misbehaving);
    expect(guarded.violations.join()).toContain("img-src");
    const bare = await withPage({}, misbehaving, false);
    expect(bare.faults.some((fault) => fault.includes("beacon.test"))).toBe(true);
    expect(bare.faults).toContain("dialog: 1");
  });

  test("T15: T16: hostile texts run nothing and load nothing, with the policy and without it", async () => {
    expect(hostileMarkdown.length).toBeGreaterThanOrEqual(300);
    expect(await withPage({ html: everything }, onlyKnownParts)).toEqual(nothing);
    expect(await withPage({ html: everything }, onlyKnownParts, false)).toEqual(nothing);
  });

  test("T15: hostile titles, authors and tags are shown as text", async () => {
    const named = { title: bad, lastAuthor: bad, tags: [bad], section: { description: bad, writable_by: [bad] } };
    const look = async (page: Page) => {
      await onlyKnownParts(page);
      expect(await page.locator("h1").textContent()).toBe(bad);
    };
    expect(await withPage(named, look)).toEqual(nothing);
  });

  test("T15: T16: hostile messages run nothing and load nothing, and a thread is rendered with one request", async () => {
    const { root } = await newWorkspace();
    const { plainLink, token } = await serve(root);
    const texts = hostileMarkdown.filter((text) => text.trim() !== "" && !text.includes("```mermaid")).slice(0, 400);
    const asked: string[] = [];
    const { page, faults, url } = await visit(plainLink, {}, async (context) => {
      await context.route(/\/api\/topics\/t-/, async (route) => {
        const answer = await route.fetch();
        const topic = await answer.json();
        const messages = texts.map((text, seq) => ({ ...topic.messages[0], seq, content: text }));
        await route.fulfill({ response: answer, json: { ...topic, messages: [...topic.messages, ...messages] } });
      });
      context.on("request", (request) => {
        if (request.url().includes("/api/rendered/texts")) asked.push(request.url());
      });
    });
    const body = { source_path: "wiki/vision.md", kind: "change", content: "# Please\n\nMake it **short**." };
    const { id } = (await ask(url, "/api/topics", { method: "POST", token, body })).json();
    await page.goto(`${url}/topics/${id}`);
    await page.waitForURL(/\/entries\/vision/);
    await page.locator(".messages strong").getByText("short").waitFor();
    await page.locator(`.messages li:nth-child(${texts.length + 1}) .prose`).waitFor();
    await onlyKnownParts(page);
    expect(await page.locator("h1").count(), "a heading in a message is none of the page").toBe(1);
    expect([asked.length, faults]).toEqual([1, []]);
  });

  test("T15: a diagram comes as a picture, whatever its text asks for", async () => {
    const click = 'graph TD; a["<img src=x onerror=alert(1)>"]-->b; click a "javascript:alert(1)"';
    const html = render(`\`\`\`mermaid\n${click}\n\`\`\`\n\n\`\`\`mermaid\ngraph TD; one-->two\n\`\`\``);
    const look = async (page: Page) => {
      await page.locator(".prose .diagram img").first().waitFor();
      expect(await page.locator(".prose svg, .prose a").count()).toBe(0);
      expect(await page.locator(".prose .diagram img").first().getAttribute("src")).toMatch(/^data:image\/svg\+xml/);
    };
    const { faults } = await withPage({ html }, look);
    // The frame's own policy stops what the drawing library tries on the way; nothing of it runs or leaves.
    expect(faults.filter((fault) => !fault.includes("inline event handler violates"))).toEqual([]);
  });

  test("P19: the palette and the search page find words of any markdown file, and open it", async () => {
    const { root } = await newWorkspace({ files: { "docs/birds.md": "# Waders\n\nThe ruff displays in May.\n" } });
    const { link, stop } = await serve(root);
    const { page, url } = await visit(link);
    await page.getByRole("heading", { name: "Wiki" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Find anything" }).fill("ruff displays");
    await page.getByRole("option", { name: /Waders.*The ruff displays in May/ }).click();
    await page.waitForURL(`${url}/pages/docs/birds.md`);
    await page.getByText("The ruff displays in May.").waitFor();

    await page.goto(`${url}/search?q=ruff&type=page`);
    await page.getByRole("link", { name: "Waders" }).click();
    await page.waitForURL(`${url}/pages/docs/birds.md`);
    await page.close();
    await stop();
  });

  test("T23: a page of 10 MB of quotes opens", async () => {
    await withPage({ html: render(">".repeat(10_000_000)) }, async (page) => {
      expect(await page.locator(".prose .note").first().textContent()).toContain("1 MiB");
      expect(await page.locator("pre.plain-text").count()).toBe(1);
    });
  });

  test("T35: hidden characters in title, author and text are spelled out; formulas and code are laid out", async () => {
    const text = "a\u2066\u{e0041}b\n\n$x^2$\n\n```ts\nconst a = 1;\n```\n";
    const hidden = { title: "pay\u202eee", lastAuthor: "ad\u200ba", html: render(text) };
    await withPage(hidden, async (page) => {
      expect(await page.locator("h1 .hidden-char").textContent()).toBe("U+202E");
      expect(await page.locator("article .facts .hidden-char").textContent()).toBe("U+200B");
      expect(await page.locator(".prose .hidden-char").textContent()).toBe("U+2066 U+E0041");
      expect(await page.title()).toContain("[U+202E]");
      expect(await page.locator(".prose math msup").count()).toBe(1);
      await page.locator(".prose pre code span[style*=color]").first().waitFor();
    });
  });
});
