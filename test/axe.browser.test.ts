import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { sideways, violationsOn, visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { everyState, type Made } from "./support/every-state.ts";
import { needs } from "./support/programs.ts";
import { areas, press, type View } from "./support/views.ts";
import { newWorkspace } from "./support/workspace.ts";

/** Each width is a test of its own: on a loaded machine all views in one test would need longer than a test may. */
const widths = [1280, 390];

/** Where a person who looks at the views wants pictures of them. */
const pictures = process.env.SCRIPTORIUM_TEST_PICTURES;

/** Walks the views in light and dark. */
async function walk(link: string, views: View[], made: Made, how: Walk): Promise<string[]> {
  const { width, settled = true, before } = how;
  const wrong: string[] = [];
  for (const colorScheme of ["light", "dark"] as const) {
    const options = { viewport: { width, height: 900 }, colorScheme };
    const { page, url } = await visit(link, options);
    await before?.(page.context());
    for (const [name, path, steps] of views) {
      const what = `${name}, ${width} ${colorScheme}`;
      try {
        await page.goto(url + (typeof path === "string" ? path : path(made)));
        await page.locator("main h1, main [aria-busy=true], main [role=alert]").first().waitFor();
        if (settled) await expect.poll(() => page.locator("[aria-busy=true]").count()).toBe(0);
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

type Walk = { width: number; settled?: boolean; before?: (context: BrowserContext) => Promise<unknown> };

/** On a phone the account is in the menu. */
async function openMenuFor(page: Page, name: string, width: number): Promise<void> {
  if (name === "account menu" && width < 800) await press("Menu")(page);
}

async function take(page: Page, what: string): Promise<void> {
  mkdirSync(pictures ?? "", { recursive: true });
  await page.screenshot({ path: join(pictures ?? "", `${what.replaceAll(/[^a-z0-9]+/gi, "-")}.png`) });
}

describe.each(widths)("axe in light and dark, %i pixels wide", needs("chromium"), (width) => {
  test.each(Object.keys(areas))("R20: no view of %s breaks a rule of axe or scrolls sideways", async (area) => {
    const { root, made } = await everyState();
    const { link } = await serve(root);
    expect(await walk(link, areas[area] ?? [], made, { width })).toEqual([]);
  });

  const lists = [
    ...["/", "/inbox", "/topics", "/runs", "/tasks", "/activity", "/graph", "/sources", "/people", "/sessions"],
  ];
  const failing = (context: BrowserContext) =>
    context.route(/\/api\/(?!events)/, (route) =>
      route.fulfill({ status: 500, json: { code: "internal", message: "the database is locked" } }),
    );
  const waiting = (context: BrowserContext) => context.route(/\/api\/(?!events)/, () => undefined);
  const states: [name: string, how: Omit<Walk, "width">][] = [
    ["empty", {}],
    ["failed", { settled: false, before: failing }],
    ["loading", { settled: false, before: waiting }],
  ];

  test.each(states)("R20: neither does a view that is %s", async (name, how) => {
    const { root } = await newWorkspace();
    const { link } = await serve(root);
    const views = lists.map((path): View => [`${name} ${path}`, path]);
    expect(await walk(link, views, {}, { width, ...how })).toEqual([]);
  });

  test("R20: nor do the ways to sign in", async () => {
    const { root } = await newWorkspace();
    const { url } = await serve(root);
    expect(await walk(url, [["sign-in", "/sign-in"]], {}, { width })).toEqual([]);
  });
});
