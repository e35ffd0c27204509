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
  wiki: [
    ["home", "/"],
    ["page", "/entries/architecture"],
    ["page with every block", "/pages/docs/style.md"],
    ["page, about", "/entries/architecture?side=about"],
    ["page, editing", "/entries/architecture?view=edit"],
    ["page, history", "/entries/architecture?view=history"],
    ["page, compared", "/entries/architecture?view=history&compare=1"],
    ["page, old version", "/entries/architecture?version=1"],
    ["page, blame", "/entries/architecture?view=blame"],
    ["page, source", "/entries/architecture?view=source"],
    ["log", "/entries/decisions"],
    ["log, new line", "/entries/decisions?view=edit"],
    ["perspective", "/entries/vision?as=newcomer"],
    ["perspective, none", "/entries/requirements?as=newcomer"],
    ["search, empty", "/search"],
    ["search", "/search?q=parcel"],
    ["search, folder", "/search?in=services"],
    ["search, nothing", "/search?q=zzzzqqq"],
    ["sources", "/sources"],
    ["source", "/source/2026-10-07-brambling-request.md"],
    ["source not found", "/source/nowhere.md"],
    ["graph", "/graph"],
    ["graph of a node", ({ node }) => `/graph?node=${node}`],
  ],
  creating: [
    ["page, suggesting an edit", "/pages/docs/depot.md?view=suggest"],
    ["page, moving", "/pages/docs/depot.md", moving("docs/station.md")],
    ["page, moving to a taken path", "/pages/docs/depot.md", moving("docs/labels.md")],
    ["entry, renaming", "/entries/architecture", opens("Rename")],
    ["new page", "/pages/docs/nowhere.md", opens("Create page")],
    ["new section", "/entries/nowhere", opens("Propose section")],
    ["new section, wrong id", "/entries/nowhere", wrongId],
    ["topic, editing a message", ({ topic }) => `/pages/docs/depot.md?topic=${topic}`, press("Edit message")],
    ["run, reverting", ({ completed }) => `/runs/${completed}`, opens("Revert run")],
    ["task, overturning", ({ doneTask }) => `/tasks/${doneTask}`, opens("Overturn")],
  ],
  review: [
    ["inbox", "/inbox"],
    ["inbox, all", "/inbox?show=all"],
    [
      "inbox, proposals to approve",
      "/inbox",
      async (page) => {
        for (const box of await page.getByRole("checkbox").all()) await box.check();
        await opens("Approve chosen")(page);
      },
    ],
    ["inbox, decided", "/inbox?show=decided"],
    ["topics", "/topics"],
    ["topics, resolved", "/topics?show=resolved"],
    ["topics beside a page", "/pages/docs/depot.md?side=talk"],
    ["topic", ({ topic }) => `/pages/docs/depot.md?topic=${topic}`],
    ["topic, names", ({ topic }) => `/pages/docs/depot.md?topic=${topic}`, completing],
    ["topic, orphaned", ({ orphan }) => `/pages/docs/holidays.md?topic=${orphan}`],
    ["topic, resolved", ({ resolved }) => `/pages/docs/insurance.md?topic=${resolved}`],
    ["proposal", ({ proposal }) => `/proposals/${proposal}`],
    ["proposal, source", ({ proposal }) => `/proposals/${proposal}?as=source`],
    [
      "proposal, effects",
      ({ proposal }) => `/proposals/${proposal}`,
      (page) => page.getByRole("tab", { name: "Effects" }).click(),
    ],
    [
      "proposal, agent",
      ({ proposal }) => `/proposals/${proposal}`,
      async (page) => {
        await page.getByRole("tab", { name: "Agent" }).click();
        await page.locator(".transcript li").first().waitFor();
      },
    ],
    ["proposal, conflict", ({ conflict }) => `/proposals/${conflict}`],
    ["proposal, hidden characters", ({ hidden }) => `/proposals/${hidden}`],
    ["proposal, decided", ({ decided }) => `/proposals/${decided}`],
    ["proposal, section", ({ section }) => `/proposals/${section}`],
    ["gate", ({ gate }) => `/gates/${gate}`],
    ["held files", ({ held }) => `/held-files/${held}`],
    ["plan change", ({ planChange }) => `/plan-changes/${planChange}`],
  ],
  runs: [
    ["runs", "/runs"],
    ["new run", "/runs", opens(/^(New|Plan a) run|^Plan/)],
    ["run, completed", ({ completed }) => `/runs/${completed}`],
    ["run, list", ({ completed }) => `/runs/${completed}?tab=list`],
    ["run, report", ({ completed }) => `/runs/${completed}?tab=report`],
    ["run, figures", ({ completed }) => `/runs/${completed}?tab=figures`],
    ["run, transcript", ({ completed }) => `/runs/${completed}?tab=transcript`],
    ["run, activity", ({ completed }) => `/runs/${completed}?tab=activity`],
    ["run, failed", ({ failed }) => `/runs/${failed}`],
    ["run, stopped at a gate", ({ gated }) => `/runs/${gated}`],
    ["run, planned", ({ planned }) => `/runs/${planned}`],
    ["run, plan", ({ planned }) => `/runs/${planned}?tab=plan`],
    ["run, plan versions", ({ planned }) => `/runs/${planned}?tab=plan&versions=true`],
    ["run, limits", ({ planned }) => `/runs/${planned}`, opens(/^Run$/)],
    ["tasks", "/tasks"],
    ["new task", "/tasks", opens("New task")],
    ["task, completed", ({ doneTask }) => `/tasks/${doneTask}`],
    ["task, files", ({ doneTask }) => `/tasks/${doneTask}`, opensEach(/^1 file changed$/, /^criterion 1 met/)],
    ["task, compared", ({ retriedTask, retriedPair }) => `/tasks/${retriedTask}?compare=${retriedPair}`],
    ["run, timeline", ({ completed }) => `/runs/${completed}?tab=timeline`],
    ["task, failed", ({ failedTask }) => `/tasks/${failedTask}`],
    ["task, waiting", ({ waitingTask }) => `/tasks/${waitingTask}`],
  ],
  people: [
    ["people", "/people"],
    ["new person", "/people", opens(/^(Add|New) person/)],
    ["new token", "/people", opens(/^(Create|New) token/)],
    ["person to remove", "/people", opens("Remove Grace Hopper")],
    ["sessions", "/sessions"],
    ["profile", "/profile"],
    ["notifications", "/notifications"],
    ["activity", "/activity"],
    ["activity, nothing", "/activity?by=nobody"],
    ["bell", "/", press(/^Notifications/)],
    ["settings", "/settings"],
    ["agents", "/settings/agents"],
    ["agents, change", "/settings/agents", showsChange],
    ["account menu", "/", press(/^Signed in as/)],
    ["palette", "/", palette("")],
    ["palette, results", "/", palette("parcel")],
    ["palette, nothing", "/", palette("zzzzqqq")],
    ["help", "/", help],
    ["not found", "/nowhere"],
    ["entry not found", "/entries/nowhere"],
    ["proposal not found", "/proposals/p-0"],
    ["run not found", "/runs/run-0"],
    ["task not found", "/tasks/t-0"],
  ],
};

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
