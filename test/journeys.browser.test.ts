import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { openExample } from "../src/http/example.ts";
import { select, sideways, visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { planned } from "./support/crew.ts";
import { crewOfOneModel } from "./support/crew-mind.ts";
import { authorship, program } from "./support/jobs.ts";
import { needs } from "./support/programs.ts";
import { newWorkspace, read, temporaryFolder } from "./support/workspace.ts";

/**
 * The journeys of the application, each once by keyboard alone and once by touch on a phone. `Hand` is the only way in
 * which a journey acts: the one of the keyboard presses Tab until the wanted element has the focus, so a journey fails
 * when an element cannot be reached, and the one of the phone taps, so it fails when something lies over an element.
 */
type Hand = {
  page: Page;
  press(what: Locator): Promise<void>;
  write(into: Locator, words: string): Promise<void>;
  /** Opens a place of the navigation. */
  go(place: "Inbox" | "Runs", keys: string): Promise<void>;
  /** Starts a topic about words that are on the first screen. */
  discuss(words: string): Promise<void>;
};

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

const mostTabs = 150;

/** Presses Tab until the element has the focus. */
async function tabTo(page: Page, what: Locator): Promise<void> {
  await what.waitFor();
  const isThere = () => what.evaluate((element) => element.matches(":focus"));
  for (let presses = 0; presses < mostTabs; presses++) {
    if (await isThere()) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`${what} is not reached by Tab`);
}

const keyboard = (page: Page): Hand => ({
  page,
  async press(what) {
    await tabTo(page, what);
    await page.keyboard.press("Enter");
  },
  async write(into, words) {
    await tabTo(page, into);
    await page.keyboard.type(words);
  },
  async go(_, keys) {
    for (const key of keys.split(" ")) await page.keyboard.press(key);
  },
  async discuss(words) {
    await page.keyboard.press("s");
    await page.getByText("Arrow keys move the caret").waitFor();
    const selected = () => page.evaluate<string>("String(getSelection())");
    const before = () =>
      page.evaluate<boolean>(
        `!getSelection().focusNode.data?.slice(getSelection().focusOffset).startsWith(${JSON.stringify(words)})`,
      );
    for (let steps = 0; (await before()) && steps < 400; steps++) await page.keyboard.press("ArrowRight");
    for (let steps = 0; (await selected()) !== words && steps < words.length + 5; steps++)
      await page.keyboard.press("Shift+ArrowRight");
    expect(await selected()).toBe(words);
    await page.keyboard.press("Enter");
  },
});

const touch = (page: Page): Hand => ({
  page,
  press: (what) => what.tap(),
  async write(into, words) {
    await into.tap();
    await page.keyboard.type(words);
  },
  async go(place) {
    await page.getByRole("button", { name: "Menu" }).tap();
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: place }).tap();
  },
  async discuss(words) {
    // The handles of a selection belong to the system; the page is told the same way.
    await select(page, words);
    await page.getByRole("button", { name: "Discuss", exact: true }).tap();
  },
});

const hands: [name: string, Parameters<typeof visit>[1], (page: Page) => Hand][] = [
  ["by keyboard alone", {}, keyboard],
  ["by touch on a phone", phone, touch],
];

/** Two words of the first paragraph that are in one text node. */
const firstWords = `(() => {
  const walker = document.createTreeWalker(document.querySelector(".prose p"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const found = /\\w+ \\w+/.exec(walker.currentNode.data);
    if (found) return found[0];
  }
})()`;

/** An agent that proposes the page of its topic with a line more. */
const reviser = `prompt=$(cat)
of() { printf '%s\\n' "$prompt" | sed -n "s/^$1: //p"; }
scribe=$(of 'Agent CLI path'); config=$(of 'Config file'); topic=$(of 'Topic ID'); page=$(of 'Source path')
{ cat "$page"; echo; echo "It leaves at noon."; } |
  "$scribe" insert-proposal -config "$config" --topic-id "$topic" --base-sha "$(of 'Base source SHA')"`;

/** Opens a topic about words of the page, asks the agent, and approves what it proposes. */
async function discussAndApprove(hand: Hand, words: string, root: string): Promise<void> {
  const { page } = hand;
  await hand.discuss(words);
  await page.getByRole("textbox", { name: "Message" }).waitFor();
  await hand.write(page.getByRole("textbox", { name: "Message" }), "When does it leave?");
  await hand.press(page.getByRole("button", { name: "Open topic" }));
  const thread = page.locator(".thread.active");
  await thread.getByText("When does it leave?").first().waitFor();
  await hand.press(thread.getByRole("button", { name: "Ask agent" }));
  await thread.getByRole("link", { name: "Proposal 1" }).waitFor();
  await hand.press(thread.getByRole("link", { name: "Proposal 1" }));
  await page.waitForURL(/\/proposals\//);
  await page.getByText("It leaves at noon.").first().waitFor();
  expect(await sideways(page)).toBe(0);
  await hand.press(page.getByRole("button", { name: "Approve", exact: true }));
  await page.getByText("It takes effect in").waitFor();
  await page.locator(".state-approved").first().waitFor();
  expect(read(join(root, "docs/ferry.md"))).toContain("It leaves at noon.");
}

describe("journeys", needs("chromium"), () => {
  test.each(hands)("R20: a passage is discussed, revised by an agent and approved %s", async (_, options, handOf) => {
    const files = { "docs/ferry.md": "# Ferry\n\nThe ferry carries tea.\n\nIt has two decks.\n" };
    const { root } = await newWorkspace({ files });
    const block = { ...authorship, runner: "command", isolation: "workspace", command: [program(root, reviser)] };
    appendFileSync(join(root, "scriptorium.yaml"), `agent: ${JSON.stringify(block)}\n`);
    const { link } = await serve(root);
    const { page, faults, url } = await visit(link, options);
    await page.goto(`${url}/pages/docs/ferry.md`);
    await page.getByText("The ferry carries tea.").waitFor();
    await discussAndApprove(handOf(page), "carries tea", root);
    expect(faults).toEqual([]);
  });

  test.each(hands)("R20: a request is planned, run and merged %s", async (_, options, handOf) => {
    const tasks = [planned("0"), planned("1.1", { title: "Write the timetable" })];
    const { root } = await newWorkspace({ config: await crewOfOneModel(tasks) });
    const { link } = await serve(root, { FAKE_KEY: "sk-1" });
    const { page, faults } = await visit(link, options);
    const hand = handOf(page);
    await page.locator("main h1").waitFor();
    await hand.go("Runs", "g r");
    await page.getByRole("heading", { name: "Runs", level: 1 }).waitFor();
    await hand.press(page.getByRole("button", { name: "New run" }));
    const request = page.getByRole("dialog").getByRole("textbox", { name: "Request" });
    await hand.write(request, "Write a timetable");
    await hand.press(page.getByRole("dialog").getByRole("button", { name: "Plan", exact: true }));
    await page.waitForURL(/\/runs\/run-/);
    const run = page.getByRole("button", { name: "Run", exact: true });
    await run.waitFor();
    expect(await sideways(page)).toBe(0);
    await hand.press(run);
    const dialog = page.getByRole("dialog", { name: "Run plan" });
    await hand.press(dialog.getByRole("button", { name: "Run", exact: true }));
    await page.getByText("2 of 2 accepted").waitFor();
    await hand.press(page.getByRole("button", { name: "Merge accepted work" }));
    await hand.press(page.getByRole("dialog").getByRole("button", { name: "Merge", exact: true }));
    await expect.poll(() => existsSync(join(root, "out/1.1.txt")), { timeout: 30_000 }).toBe(true);
    expect(faults).toEqual([]);
  });

  test.each(hands)(
    "P15: in the example a newcomer reads a page, asks about a passage, approves the open proposal and finds out why a run failed %s",
    async (_, options, handOf) => {
      const root = await openExample(temporaryFolder());
      const { link } = await serve(root);
      const { page, faults } = await visit(link, options);
      const hand = handOf(page);
      const main = page.getByRole("main");
      await hand.press(main.getByRole("link", { name: "Vision", exact: true }).first());
      await page.getByRole("heading", { name: "Vision", level: 1 }).waitFor();
      await page.locator(".prose p").first().waitFor();
      const words = await page.evaluate<string>(firstWords);
      await hand.discuss(words);
      await hand.write(page.getByRole("textbox", { name: "Message" }), "Who decided this?");
      await hand.press(page.getByRole("button", { name: "Open topic" }));
      await page.locator(".thread.active").getByText("Who decided this?").first().waitFor();
      await page.keyboard.press("Escape");

      await hand.go("Inbox", "g i");
      await page.getByRole("heading", { name: "Inbox", level: 1 }).waitFor();
      await hand.press(main.locator('a[href^="/proposals/"]').first());
      await page.getByRole("button", { name: "Approve", exact: true }).waitFor();
      expect(await sideways(page)).toBe(0);
      await hand.press(page.getByRole("button", { name: "Approve", exact: true }));
      await page.getByText("It takes effect in").first().waitFor();

      await hand.go("Runs", "g r");
      await page.getByRole("heading", { name: "Runs", level: 1 }).waitFor();
      await hand.press(main.locator("li", { hasText: "failed" }).getByRole("link").first());
      await page
        .getByRole("button", { name: /^Retry/ })
        .first()
        .waitFor();
      expect(await sideways(page)).toBe(0);
      expect(faults).toEqual([]);
    },
  );
});
