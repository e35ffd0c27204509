import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { sideways, violationsOn, visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { everyState, type Made } from "./support/every-state.ts";
import { needs } from "./support/programs.ts";
import { newWorkspace } from "./support/workspace.ts";

/**
 * A view: its name, its address in the workspace of every-state.ts, and the steps from there to its state.
 * A new view is one row here, and what it shows one line in every-state.ts.
 */
type View = [name: string, path: string | ((made: Made) => string), steps?: (page: Page) => Promise<unknown>];

const press = (name: string | RegExp) => (page: Page) => page.getByRole("button", { name }).first().click();
const dialog = (page: Page) => page.getByRole("dialog").first().waitFor();
const opens = (name: string | RegExp) => async (page: Page) => {
  await press(name)(page);
  await dialog(page);
};
const opensEach =
  (...names: RegExp[]) =>
  async (page: Page) => {
    for (const name of names) await page.getByText(name).first().click();
    await expect.poll(() => page.locator("[aria-busy=true]").count()).toBe(0);
  };
const palette = (words: string) => async (page: Page) => {
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Find anything" }).fill(words);
  await page.getByRole("option").or(page.getByText("No results")).first().waitFor();
};

const completing = async (page: Page) => {
  await page.getByRole("textbox", { name: "Reply" }).fill("Ask @");
  await page.getByRole("listbox", { name: "Names" }).getByRole("option").first().waitFor();
};

const help = async (page: Page) => {
  await page.keyboard.press("?");
  await dialog(page);
};

const moving = (path: string) => async (page: Page) => {
  await opens("Rename")(page);
  await page.getByLabel("Path").fill(path);
  await page.locator(".effects").or(page.locator(".place-status.bad")).first().waitFor();
};

const wrongId = async (page: Page) => {
  await opens("Propose section")(page);
  await page.getByLabel("Id").fill("No Id");
  await page.getByText("Use lower-case letters").waitFor();
};

const showsChange = async (page: Page) => {
  if (await page.getByRole("radio", { name: "Claude Code" }).isDisabled()) return;
  await page.getByRole("radio", { name: "Claude Code" }).check();
  await press("Show change")(page);
  await page.getByRole("heading", { name: "Change of scriptorium.yaml" }).waitFor();
};

const areas: Record<string, View[]> = {
  mine: [
    ["page, suggesting an edit", "/pages/docs/depot.md?view=suggest"],
    ["page", "/pages/docs/depot.md"],
    ["page, moving", "/pages/docs/depot.md", moving("docs/station.md")],
    ["page, moving to a taken path", "/pages/docs/depot.md", moving("docs/labels.md")],
    ["entry, renaming", "/entries/architecture", opens("Rename")],
    ["new page", "/pages/docs/nowhere.md", opens("Create page")],
    ["not here", "/pages/docs/nowhere.md"],
    ["new section", "/entries/nowhere", opens("Propose section")],
    ["new section, wrong id", "/entries/nowhere", wrongId],
    ["topic, editing a message", ({ topic }) => `/pages/docs/depot.md?topic=${topic}`, press("Edit message")],
    ["run, reverting", ({ completed }) => `/runs/${completed}`, opens("Revert run")],
    ["task, overturning", ({ doneTask }) => `/tasks/${doneTask}`, opens("Overturn")],
  ],
};

const variants = [
  { width: 1280, colorScheme: "light" },
  { width: 1280, colorScheme: "dark" },
  { width: 390, colorScheme: "light" },
  { width: 390, colorScheme: "dark" },
] as const;

/** Where a person who looks at the views wants pictures of them. */
const pictures = process.env.SCRIPTORIUM_TEST_PICTURES;

/** Walks the views in light and dark, wide and narrow. */
async function walk(link: string, views: View[], made: Made, { settled = true, before }: Walk = {}): Promise<string[]> {
  const wrong: string[] = [];
  for (const { width, colorScheme } of variants) {
    const options = { viewport: { width, height: 900 }, colorScheme };
    const { page, url } = await visit(link, options);
    page.setDefaultTimeout(15_000);
    await before?.(page.context());
    for (const [name, path, steps] of views) {
      const what = `${name}, ${width} ${colorScheme}`;
      try {
        await page.goto(url + (typeof path === "string" ? path : path(made)));
        await page.locator("main h1, main [aria-busy=true], main [role=alert]").first().waitFor();
        if (settled) await expect.poll(() => page.locator("[aria-busy=true]").count(), { timeout: 15_000 }).toBe(0);
        await openMenuFor(page, name, width);
        await steps?.(page);
        wrong.push(...(await violationsOn(page, what)));
        if ((await sideways(page)) !== 0) wrong.push(`${what}: scrolls sideways`);
        const headings = await page.locator("h1").count();
        if (settled && !/edit|dialog/.test(what) && headings !== 1) wrong.push(`${what}: ${headings} headings`);
      } catch (error) {
        wrong.push(`${what}: ${String(error).split("\n")[0]}`);
      }
      if (pictures) await take(page, what);
    }
    await page.context().close();
  }
  return wrong;
}

type Walk = { settled?: boolean; before?: (context: BrowserContext) => Promise<unknown> };

/** On a phone the account is in the menu. */
async function openMenuFor(page: Page, name: string, width: number): Promise<void> {
  if (name === "account menu" && width < 800) await press("Menu")(page);
}

async function take(page: Page, what: string): Promise<void> {
  mkdirSync(pictures ?? "", { recursive: true });
  await page.screenshot({ path: join(pictures ?? "", `${what.replaceAll(/[^a-z0-9]+/gi, "-")}.png`) });
}

describe("axe in light and dark, wide and narrow", needs("chromium"), () => {
  test.each(Object.keys(areas))("R20: no view of %s breaks a rule of axe or scrolls sideways", async (area) => {
    const { root, made } = await everyState();
    const { link } = await serve(root);
    expect(await walk(link, areas[area] ?? [], made)).toEqual([]);
  });

});
