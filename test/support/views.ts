import type { Page } from "playwright-core";
import { expect } from "vitest";
import type { Made } from "./every-state.ts";

/**
 * A view: its name, its address in the workspace of every-state.ts, and the steps from there to its state.
 * A new view is one row here, and what it shows one line in every-state.ts. Used for axe and for shortcuts.
 */
export type View = [name: string, path: string | ((made: Made) => string), steps?: (page: Page) => Promise<unknown>];

export const press = (name: string | RegExp) => (page: Page) => page.getByRole("button", { name }).first().click();
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

const palettePick = (words: string) => async (page: Page) => {
  await palette(words)(page);
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Resume run" }).getByLabel("Workers").waitFor();
};

/** Saves over a plan that somebody else saved: the answer of the server is given, so that the run stays as it is. */
const planConflict = async (page: Page) => {
  const json = {
    status: "conflict",
    error: "the plan changed",
    latestContent: "# Plan: Another\n",
    text_hash: "other",
  };
  await page.route("**/plan", (route) =>
    route.request().method() === "PUT" ? route.fulfill({ status: 409, json }) : route.fallback(),
  );
  await page.getByRole("textbox", { name: "The plan" }).click();
  await page.keyboard.type("x");
  await page.keyboard.press("Control+s");
  await page.getByText("Nothing is overwritten").waitFor();
  await page.unroute("**/plan");
  await page.evaluate(
    `Object.keys(localStorage).filter((key) => key.startsWith("scriptorium draft")).forEach((key) => localStorage.removeItem(key))`,
  );
};

const completing = async (page: Page) => {
  await page.getByRole("textbox", { name: "Reply" }).fill("Ask @");
  await page.getByRole("listbox", { name: "Names" }).getByRole("option").first().waitFor();
};

const marks = (page: Page) =>
  page
    .getByRole("button", { name: /^Disputed: / })
    .first()
    .waitFor();

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

/** Every view of the browser client, by area. */
export const areas: Record<string, View[]> = {
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
    ["page, doubted", ({ doubted }) => `/entries/requirements?passage=${doubted}`, marks],
    [
      "page, trust of a passage",
      "/entries/requirements",
      async (page) => {
        await press(/^Disputed: /)(page);
        await page.getByRole("dialog", { name: "Trust of the passage" }).getByText("Verified by").waitFor();
      },
    ],
    [
      "page, trust of every passage",
      "/entries/requirements?side=about",
      async (page) => {
        await press("Mark every passage")(page);
        await page.getByRole("button", { name: /^Verified by a person: / }).waitFor();
        await page.evaluate(`localStorage.removeItem("scriptorium trust marks")`);
      },
    ],
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
    ["gate that asks", ({ question }) => `/gates/${question}`],
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
    ["run, running", ({ running }) => `/runs/${running}`],
    ["run, running, timeline", ({ running }) => `/runs/${running}?tab=timeline`],
    ["run, paused", ({ paused }) => `/runs/${paused}`],
    ["run, resuming", ({ paused }) => `/runs/${paused}`, palettePick("Resume")],
    ["run, cancelling", ({ running }) => `/runs/${running}`, opens("Cancel run")],
    ["run, merging", ({ completed }) => `/runs/${completed}`, opens("Merge accepted work")],
    ["run, pull request", ({ completed }) => `/runs/${completed}`, opens("Open pull request")],
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
    [
      "run, timeline table",
      ({ completed }) => `/runs/${completed}?tab=timeline`,
      async (page) => {
        await press("Table")(page);
        await page.locator("table.list").waitFor();
      },
    ],
    ["run, plan conflict", ({ planned }) => `/runs/${planned}?tab=plan`, planConflict],
    ["task, rerunning", ({ doneTask }) => `/tasks/${doneTask}`, opens("Rerun from here")],
    ["task, rerunning an attempt", ({ retriedTask }) => `/tasks/${retriedTask}`, opens("Rerun from attempt 1")],
    ["task, taken over", ({ takenTask }) => `/tasks/${takenTask}`],
    ["task, handing back", ({ takenTask }) => `/tasks/${takenTask}`, opens("Hand back")],
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
