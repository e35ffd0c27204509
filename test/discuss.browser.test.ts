import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { expectAccessible, select, visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { needs } from "./support/programs.ts";
import { ask, type Json } from "./support/requests.ts";
import { newWorkspace } from "./support/workspace.ts";

const paragraphs = Array.from(
  { length: 40 },
  (_, n) => `Paragraph ${n} tells of ship number ${n}, which carries ${n * 7} crates of tea to the far harbour.`,
);
const long = `# Ships\n\n${paragraphs.join("\n\n")}\n`;

async function harbour(options: Parameters<typeof visit>[1] = {}) {
  const { root, git } = await newWorkspace();
  const file = join(root, "docs/ships.md");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, long);
  const { link, token } = await serve(root);
  const visited = await visit(link, options);
  const { page, url } = visited;
  const post = async (path: string, body: object): Promise<Json> =>
    (await ask(url, path, { method: "POST", token, body })).json();
  const topic = (quote: string, content: string) =>
    post("/api/topics", { source_path: "docs/ships.md", content, quote });
  await page.goto(`${url}/pages/docs/ships.md`);
  await page.getByText("Paragraph 0 tells").waitFor();
  return { ...visited, root, git, token, post, topic, write: (text: string) => writeFileSync(file, text) };
}

const scrolled = (page: Page) => page.evaluate("Math.round(scrollY)") as Promise<number>;
const topOf = (page: Page, words: string) =>
  page.evaluate(`(() => {
    const walker = document.createTreeWalker(document.querySelector(".prose"), NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const at = walker.currentNode.data.indexOf(${JSON.stringify(words)});
      if (at < 0) continue;
      const range = document.createRange();
      range.setStart(walker.currentNode, at);
      range.setEnd(walker.currentNode, at + ${words.length});
      return Math.round(range.getBoundingClientRect().top);
    }
  })()`) as Promise<number>;
const painted = (page: Page) =>
  page.evaluate("[...(CSS.highlights.get('topic-active') ?? [])].map(String)") as Promise<string[]>;
/** Scrolls so that the words are at this height of the window. */
const bring = async (page: Page, words: string, at: number) => {
  const top = await topOf(page, words);
  await page.evaluate(`scrollBy({ top: ${top - at}, behavior: "instant" })`);
};
const settle = (page: Page) => page.waitForTimeout(400);
/** Selects words and presses the key that discusses them. */
const discuss = async (page: Page, words: string) => {
  await select(page, words);
  await page.locator(".selection-bar").waitFor();
  await page.keyboard.press("c");
};
const message = (page: Page) => page.getByRole("textbox", { name: "Message" });

describe("discussing in place", needs("chromium"), () => {
  test.each([
    ["a desktop", { width: 1280, height: 900 }],
    ["a phone", { width: 390, height: 844 }],
  ])(
    "U1: on %s the page stays where it is while a topic is opened at the words, answered, resolved and closed",
    async (_, viewport) => {
      const { page, faults, topic } = await harbour({ viewport });
      await topic("ship number 20", "Which ship?");
      await page.getByText("Which ship?").first().waitFor();
      for (const height of [200, viewport.height - 150]) {
        await bring(page, "ship number 30", height);
        await page.mouse.move(viewport.width - 2, 5);
        const before = await topOf(page, "ship number 30");
        await select(page, "ship number 30");
        await page.getByRole("button", { name: "Discuss", exact: true }).click();
        await message(page).waitFor();
        await settle(page);
        expect(await topOf(page, "ship number 30")).toBe(before);
        const box = await page.locator(".composer").boundingBox();
        expect(box?.y).toBeGreaterThanOrEqual(0);
        expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(viewport.height);
        expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe("Message");
        await page.keyboard.press("Escape");
        await message(page).waitFor({ state: "detached" });
        expect(await topOf(page, "ship number 30")).toBe(before);
      }

      await bring(page, "ship number 30", 300);
      await discuss(page, "ship number 30");
      await message(page).fill("How many crates?");
      const before = await topOf(page, "ship number 30");
      await page.keyboard.press("Control+Enter");
      const thread = page.locator(".thread.active");
      await thread.getByRole("button", { name: "Resolve" }).waitFor();
      await settle(page);
      expect(await topOf(page, "ship number 30")).toBe(before);
      await expectAccessible(page, "a topic at its words");
      await thread.getByRole("textbox", { name: "Reply" }).fill("Many.");
      // The driver scrolls to what it fills and clicks, as a person does; from here on nothing may move by itself.
      await settle(page);
      const typing = await topOf(page, "ship number 30");
      const press = (name: string) => thread.getByRole("button", { name }).dispatchEvent("click");
      await press("Send");
      await thread.getByText("Many.", { exact: true }).first().waitFor();
      await press("Resolve");
      await thread.getByRole("button", { name: "Reopen" }).waitFor();
      await settle(page);
      expect(await topOf(page, "ship number 30")).toBe(typing);
      await press("Close topic");
      await thread.waitFor({ state: "detached" });
      await settle(page);
      expect(await topOf(page, "ship number 30")).toBe(typing);

      await bring(page, "ship number 20", 250);
      const at = await scrolled(page);
      await page.evaluate(
        `document.caretPositionFromPoint && (() => {
        const walker = document.createTreeWalker(document.querySelector(".prose"), NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
          const from = walker.currentNode.data.indexOf("ship number 20");
          if (from < 0) continue;
          const range = document.createRange();
          range.setStart(walker.currentNode, from + 2);
          range.setEnd(walker.currentNode, from + 3);
          const { left, top } = range.getBoundingClientRect();
          walker.currentNode.parentElement.dispatchEvent(
            new MouseEvent("click", { bubbles: true, clientX: left + 2, clientY: top + 4 }));
        }
      })()`,
      );
      await thread.getByText("Which ship?").waitFor();
      await settle(page);
      expect(await scrolled(page)).toBe(at);
      const card = await thread.boundingBox();
      expect(card?.y).toBeGreaterThanOrEqual(0);
      expect(card?.y).toBeLessThan(viewport.height - 100);
      expect(faults).toEqual([]);
    },
  );

  test("U1: switching the side panel leaves the text where it is; the next topic is scrolled to, with its card beside it", async () => {
    const { page, topic, faults } = await harbour();
    await topic("ship number 5,", "First?");
    await topic("ship number 35,", "Second?");
    await page.getByText("Second?").waitFor();
    await bring(page, "ship number 20", 300);
    for (const tab of ["About", "Discussion"]) {
      // The tabs are above the window; a click of the pointer would scroll to them.
      await page.evaluate(
        `[...document.querySelectorAll("[role=tab]")].find((tab) => tab.textContent.startsWith("${tab}")).click()`,
      );
      await page.getByRole("tab", { name: tab, selected: true }).waitFor();
      await settle(page);
      expect(await topOf(page, "ship number 20")).toBe(300);
    }
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.locator(".thread.active").getByText("Second?").waitFor();
    await expect.poll(() => topOf(page, "ship number 35,")).toBeLessThan(900);
    const [words, card] = [await topOf(page, "ship number 35,"), await page.locator(".thread.active").boundingBox()];
    expect(words).toBeGreaterThan(0);
    await expect
      .poll(async () => Math.abs(((await page.locator(".thread.active").boundingBox())?.y ?? 0) - words))
      .toBeLessThan(400);
    expect(card).not.toBeNull();
    expect(faults).toEqual([]);
  });

  test.each([1280, 390])(
    "U2: at %i pixels the composer stays in the window when its words vanish from the page",
    async (width) => {
      const { page, write } = await harbour({ viewport: { width, height: 844 } });
      await bring(page, "ship number 30", 300);
      await discuss(page, "ship number 30");
      await message(page).fill("How many crates?");
      write(long.replace(paragraphs[30] ?? "", "Nothing sails."));
      await page.getByText(/The page changed, and these words are gone/).waitFor();
      await expect
        .poll(async () => {
          const box = await page.locator(".composer").boundingBox();
          return box !== null && box.y >= 0 && box.y + box.height <= 844;
        })
        .toBe(true);
      expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe("Message");
      expect(await message(page).inputValue()).toBe("How many crates?");
    },
  );

  test("U2: a topic is opened on the selected words although the page changed while it was written, and asks if they are gone", async () => {
    const { page, write, url, token, faults } = await harbour();
    await bring(page, "ship number 30", 300);
    await discuss(page, "ship number 30");
    await message(page).fill("Is this the one?");
    write(long.replace("# Ships\n", "# Ships\n\nA paragraph that was added above everything else.\n"));
    await page.getByText("added above everything else").waitFor();
    await expect.poll(() => painted(page)).toEqual(["ship number 30"]);
    await page.getByRole("button", { name: "Open topic" }).click();
    await page.locator(".thread.active").getByRole("button", { name: "Resolve" }).waitFor();
    await expect.poll(() => painted(page)).toEqual(["ship number 30"]);

    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await discuss(page, "ship number 12");
    await message(page).fill("And this one?");
    write("# Ships\n\nAll ships have left the harbour, and nobody knows when they return.\n");
    await page.getByText("All ships have left").waitFor();
    const composer = page.locator(".composer");
    await composer.getByText(/The page changed, and these words are gone/).waitFor();
    await expectAccessible(page, "a draft without its words");
    expect(await composer.getByRole("button", { name: "Open topic" }).isDisabled()).toBe(true);
    await select(page, "nobody knows");
    await page.getByRole("button", { name: "Use for draft" }).click();
    await composer.getByRole("button", { name: "Open topic" }).click();
    await page.locator(".thread.active").getByRole("button", { name: "Resolve" }).waitFor();
    await expect.poll(() => painted(page)).toEqual(["nobody knows"]);
    const { topics } = (await ask(url, "/api/topics?status=open", { token })).json();
    expect(topics.map((topic: Json) => topic.anchor.quote).sort()).toEqual(["nobody knows", "ship number 30"]);
    expect(faults).toEqual([]);
  });

  test("U7: drafts of topics, replies and log lines survive Escape, a link, a reload, another tab and a new sign-in, until they are sent", async () => {
    const { page, context, topic, post, url, faults } = await harbour();
    const { id } = await topic("ship number 3,", "Which ship?");
    await page.goto(`${url}/pages/docs/ships.md?topic=${id}`);
    await page.getByRole("textbox", { name: "Reply" }).fill("half a reply");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.locator(".thread.active").waitFor({ state: "detached" });
    await page.locator(".thread", { hasText: "Which ship?" }).getByText("draft").waitFor();

    await discuss(page, "ship number 2,");
    await message(page).fill("half a topic");
    await page.getByText("Question", { exact: true }).click();
    await message(page).focus();
    await page.keyboard.press("Escape");
    await page.getByRole("article", { name: "Draft: half a topic" }).waitFor();
    await page.keyboard.press("d");
    await page.keyboard.press("p");
    await message(page).fill("about all of it");
    await page.getByRole("link", { name: "Sources" }).click();
    await page.goto(`${url}/entries/decisions?view=edit`);
    await page.getByRole("textbox", { name: "New line" }).fill("half a line");
    await page.reload();
    await expect.poll(() => page.getByRole("textbox", { name: "New line" }).inputValue()).toBe("half a line");

    await page.getByRole("button", { name: /Signed in as/ }).click();
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.waitForURL(/\/sign-in/);
    const { link } = await post("/api/sign-in-links", {});
    await page.goto(link);
    await page.waitForURL((at) => !/[?&](code|token)=/.test(at.search));
    await page.goto(`${url}/pages/docs/ships.md`);
    await page.getByRole("article", { name: "Draft: about all of it" }).waitFor();
    await page.getByRole("article", { name: "Draft: half a topic" }).waitFor();
    await expectAccessible(page, "drafts of topics");

    const tab = await context.newPage();
    await tab.goto(`${url}/pages/docs/ships.md`);
    await tab.getByRole("article", { name: "Draft: half a topic" }).getByRole("button").click();
    expect(await message(tab).inputValue()).toBe("half a topic");
    expect(await painted(tab)).toEqual(["ship number 2,"]);
    await message(tab).fill("a whole topic");
    await tab.keyboard.press("Control+Enter");
    await tab.locator(".thread.active").getByText("question").waitFor();
    await page.getByRole("article", { name: /Draft: (half|a whole) topic/ }).waitFor({ state: "detached" });

    await page.locator(".thread", { hasText: "Which ship?" }).getByRole("button").click();
    const reply = page.getByRole("textbox", { name: "Reply" });
    await expect.poll(() => reply.inputValue()).toBe("half a reply");
    await reply.press("Control+Enter");
    await page.locator(".thread.active").getByText("half a reply", { exact: true }).first().waitFor();
    await expect.poll(() => reply.inputValue()).toBe("");

    await page.getByRole("article", { name: "Draft: about all of it" }).getByRole("button").click();
    await page.getByRole("button", { name: "Discard" }).click();
    await page.reload();
    await page.getByText("a whole topic").first().waitFor();
    expect(await page.getByRole("article", { name: /^Draft/ }).count()).toBe(0);
    await page.goto(`${url}/entries/decisions?view=edit`);
    await expect.poll(() => page.getByRole("textbox", { name: "New line" }).inputValue()).toBe("half a line");
    await page.keyboard.press("Enter");
    await page.locator(".prose").getByText("half a line").waitFor();
    expect(await page.evaluate("Object.keys(localStorage).filter((key) => key.includes('draft'))")).toEqual([]);
    expect(faults.filter((fault) => !fault.includes("401"))).toEqual([]);
  });

  test("U11: words are selected with the keyboard and discussed", async () => {
    const { page, faults } = await harbour();
    await bring(page, "ship number 20", 200);
    const at = await scrolled(page);
    await page.keyboard.press("s");
    await page
      .getByRole("status")
      .getByText(/Arrow keys move the caret/)
      .waitFor();
    await page.locator(".text-caret").waitFor();
    await expectAccessible(page, "the caret in a page");
    await page.keyboard.press("End");
    await page.keyboard.press("Home");
    for (let n = 0; n < 3; n++) await page.keyboard.press("Control+Shift+ArrowRight");
    const chosen = ((await page.evaluate("String(getSelection())")) as string).trim();
    expect(chosen.split(/\s+/)).toHaveLength(3);
    expect(await scrolled(page)).toBe(at);
    await page.locator(".selection-bar").waitFor();
    await page.keyboard.press("Enter");
    await message(page).fill("By keyboard?");
    expect((await painted(page)).join("").trim()).toBe(chosen);
    await page.keyboard.press("Control+Enter");
    await page.locator(".thread.active").getByRole("button", { name: "Resolve" }).waitFor();
    expect(await page.locator(".text-caret").count()).toBe(0);
    expect(faults).toEqual([]);
  });
});
