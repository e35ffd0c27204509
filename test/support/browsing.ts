import { join } from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";
import { startChromium } from "./chromium.ts";

/** One browser for all tests of a worker; it ends with the worker. */
let browser: Promise<Browser> | undefined;

export type Visit = { page: Page; context: BrowserContext; faults: string[]; url: string };
type Options = Parameters<Browser["newContext"]>[0];

/** A signed-in browser context of its own. It records every error, dialog and request to another server. */
export async function visit(
  link: string,
  options: Options = {},
  before?: (context: BrowserContext) => Promise<void>,
): Promise<Visit> {
  browser ??= startChromium();
  const url = new URL(link).origin;
  const context = await (await browser).newContext({
    reducedMotion: "reduce",
    viewport: { width: 1280, height: 900 },
    ...options,
  });
  context.setDefaultTimeout(60_000);
  onTestFinished(() => context.close());
  const faults: string[] = [];
  context.on("request", (request) => {
    const asked = request.url();
    if (!asked.startsWith(`${url}/`) && !asked.startsWith("data:")) faults.push(`asked for ${asked}`);
  });
  await before?.(context);
  const page = await context.newPage();
  page.on(
    "console",
    (message) => message.type() === "error" && faults.push(`console: ${message.text()} ${message.location().url}`),
  );
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(link);
  // The page of a sign-in link leaves by itself when it is done.
  if (new URL(link).search.match(/[?&](code|token)=/))
    await page.waitForURL((at) => !/[?&](code|token)=/.test(at.search));
  return { page, context, faults, url };
}

/** No violation of WCAG A and AA that axe can find. */
export async function expectAccessible(page: Page, what: string): Promise<void> {
  expect(await violationsOn(page, what)).toEqual([]);
}

export async function violationsOn(page: Page, what: string, rules?: string[]): Promise<string[]> {
  const axe = new AxeBuilder({ page }).setLegacyMode().exclude("[data-portal] > .mantine-Notifications-root");
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"];
  const { violations } = await (rules ? axe.withRules(rules) : axe.withTags(tags)).analyze();
  return violations.map(({ id, nodes }) => {
    const where = nodes.slice(0, 3).map((node) => node.html.slice(0, 120));
    return `${what}: ${id}: ${where.join(" | ")}`;
  });
}

/** A picture for a person who looks at the views, in the folder that SCRIPTORIUM_TEST_PICTURES names. */
export async function savePicture(page: Page, name: string): Promise<void> {
  const folder = process.env.SCRIPTORIUM_TEST_PICTURES;
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

export const sideways = (page: Page) =>
  page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");

/** Selects words of a rendered page as a person would. */
export async function select(page: Page, words: string): Promise<void> {
  await page.evaluate(
    `(() => {
      const walker = document.createTreeWalker(document.querySelector(".prose"), NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const at = walker.currentNode.data.indexOf(${JSON.stringify(words)});
        if (at < 0) continue;
        const range = document.createRange();
        range.setStart(walker.currentNode, at);
        range.setEnd(walker.currentNode, at + ${words.length});
        getSelection().removeAllRanges();
        getSelection().addRange(range);
        return;
      }
      throw new Error("no such words");
    })()`,
  );
}
