import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { expectAccessible, sideways, visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { needs } from "./support/programs.ts";
import { ask } from "./support/requests.ts";
import { newWorkspace, person } from "./support/workspace.ts";

const files = {
  "docs/deploy.md": "# Deploy\n\nWe push on Fridays after the tests pass.\n\nThe on-call engineer watches the logs.\n",
  "docs/oncall.md": "# On call\n\nOne person a week.\n",
};

/** The owner and Grace, each in a browser of their own. */
async function twoPeople(before?: Parameters<typeof visit>[2]) {
  const { app, root } = await newWorkspace({ files });
  const { url: plain, token, link } = await serve(root);
  const body = { name: "Grace Hopper", rank: "collaborator" };
  const added = (await ask(plain, "/api/people", { method: "POST", token, body })).json();
  const owner = await visit(link);
  const grace = await visit(added.link, {}, before);
  await grace.page.getByRole("button", { name: "Sign in as Grace Hopper" }).or(grace.page.locator(".brand")).waitFor();
  const confirm = grace.page.getByRole("button", { name: "Sign in as Grace Hopper" });
  if (await confirm.isVisible()) await confirm.click();
  await grace.page.locator(".brand").waitFor();
  return { app, root, link: added.link as string, owner, grace };
}

const folder = process.env.SCRIPTORIUM_TEST_PICTURES;

/** Pictures in light and dark, wide and narrow, for a person who looks at the views. */
async function pictures(page: Page, name: string, reopen?: () => Promise<unknown>): Promise<void> {
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  for (const width of [1280, 390])
    for (const colorScheme of ["light", "dark"] as const) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      await reopen?.();
      await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`) });
    }
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.emulateMedia({ colorScheme: "light" });
}

const bell = (page: Page) => page.getByRole("button", { name: /^Notifications/ });

describe("working together in a browser", needs("chromium"), () => {
  test("U11: a name is completed by keys, a mention rings the other's bell, and reading it in one browser clears it in another", async () => {
    const { owner, grace, app } = await twoPeople();
    await owner.page.goto(`${owner.url}/pages/docs/deploy.md?side=talk`);
    await owner.page.getByRole("button", { name: "Discuss the whole page" }).click();
    const field = owner.page.getByRole("textbox", { name: "Message" });
    await field.pressSequentially("Why Fridays, @gr");
    await owner.page.getByRole("option", { name: "Grace Hopper" }).waitFor();
    expect(await field.getAttribute("aria-activedescendant")).toBe(
      await owner.page.getByRole("option", { selected: true }).getAttribute("id"),
    );
    await expectAccessible(owner.page, "completing a name");
    await pictures(owner.page, "completion");
    // Escape closes the names, not the composer; the next letter opens them again.
    await field.press("Escape");
    expect(await owner.page.getByRole("option").count()).toBe(0);
    await field.pressSequentially("a");
    await field.press("Enter");
    expect(await field.inputValue()).toBe("Why Fridays, @Grace Hopper ");
    await field.pressSequentially("and who watches?");
    await owner.page.getByRole("button", { name: "Open topic" }).click();

    await expect.poll(() => bell(grace.page).getAttribute("aria-label")).toBe("Notifications, 1 unread");
    await expect.poll(() => grace.page.title()).toMatch(/^\(1\) /);
    expect(await bell(owner.page).getAttribute("aria-label")).toBe("Notifications");
    const second = await grace.context.newPage();
    await second.goto(`${grace.url}/inbox`);
    await second.getByText("mentions you").waitFor();
    await pictures(second, "inbox");

    await bell(grace.page).click();
    await expectAccessible(grace.page, "the bell");
    await pictures(grace.page, "bell", async () => {
      await grace.page.keyboard.press("Escape");
      await bell(grace.page).click();
      await grace.page.getByRole("link", { name: /mentioned in a topic/ }).waitFor();
    });
    if (folder) await bell(grace.page).click();
    await grace.page.getByRole("link", { name: /mentioned in a topic/ }).click();
    await grace.page.locator(".thread.active").getByText("and who watches?").waitFor();
    await expect.poll(() => bell(grace.page).getAttribute("aria-label")).toBe("Notifications");
    await expect.poll(() => bell(second).getAttribute("aria-label")).toBe("Notifications");
    await second.getByText("mentions you").waitFor({ state: "detached" });
    await pictures(grace.page, "topic");

    // By mouse, on a phone, to an agent.
    await grace.page.setViewportSize({ width: 390, height: 800 });
    const reply = grace.page.getByRole("textbox", { name: "Reply" });
    await reply.pressSequentially("Ask @eng");
    await grace.page.getByRole("option", { name: /engineer/ }).click();
    expect(await reply.inputValue()).toBe("Ask @engineer ");
    expect(await sideways(grace.page)).toBe(0);
    await grace.page.keyboard.press("Control+Enter");
    await expect.poll(async () => (await app.db.read.selectFrom("mentions").selectAll().execute()).length).toBe(2);
    expect([...owner.faults, ...grace.faults]).toEqual([]);
  });

  test("U11: an assigned topic waits in the assignee's inbox until it is resolved, and For me leaves out what is for others", async () => {
    const { owner, grace, app } = await twoPeople();
    const opened = { source_path: "docs/deploy.md", content: "Name the logs to watch." };
    const { id } = unwrap(await operations.open_topic.perform(app, opened, person()));
    const { source_sha: base_sha } = unwrap(await operations.get_topic.perform(app, { id }, person()));
    const content = `${files["docs/deploy.md"]}\nSee the dashboard.\n`;
    const agent = { kind: "agent" as const, role: "engineer", turn: { id: "turn", reads: new Set<string>() } };
    unwrap(
      await operations.insert_proposal.perform(
        app,
        { topic_id: id, base_sha: base_sha ?? "", content },
        agent as never,
      ),
    );

    await grace.page.goto(`${grace.url}/inbox`);
    await grace.page.getByRole("heading", { name: "Nothing waits for you" }).waitFor();
    await grace.page.getByRole("link", { name: "One decision waits for others" }).click();
    await grace.page.getByRole("link", { name: "Change to docs/deploy.md" }).waitFor();
    await grace.page.getByRole("link", { name: "For me" }).click();

    await owner.page.goto(`${owner.url}/topics/${id}`);
    await owner.page.getByLabel("Assigned to").selectOption("Grace Hopper");
    await grace.page.getByText("assigned to you").waitFor();
    await grace.page.getByRole("link", { name: "Change to docs/deploy.md" }).waitFor();
    await expect.poll(() => grace.page.title()).toMatch(/^\(2\) Inbox/);
    await expect.poll(() => grace.page.locator(".places .count").textContent()).toBe("2 waiting");
    await owner.page.goto(`${owner.url}/inbox`);
    await owner.page.getByRole("heading", { name: "Nothing waits for you" }).waitFor();

    await grace.page.goto(`${grace.url}/notifications`);
    await grace.page.getByRole("link", { name: /assigned to you/ }).waitFor();
    await expectAccessible(grace.page, "notifications");
    await pictures(grace.page, "notifications");
    await grace.page.getByRole("link", { name: /assigned to you/ }).click();
    await grace.page.getByRole("button", { name: "Resolve", exact: true }).click();
    await grace.page.getByRole("button", { name: "Reopen" }).waitFor();
    await grace.page.goto(`${grace.url}/inbox`);
    await grace.page.getByRole("link", { name: "Change to docs/deploy.md" }).waitFor();
    expect(await grace.page.getByText("assigned to you").count()).toBe(0);
    expect([...owner.faults, ...grace.faults]).toEqual([]);
  });

  test("U11: browser notifications are off until a click, appear only while the tab is hidden, and have no text of a message", async () => {
    const { owner, grace, app } = await twoPeople(async (context) => {
      await context.grantPermissions(["notifications"]);
      // Chromium without a screen shows none and hides no tab, so the page records what it would show.
      await context.addInitScript(`
        window.announced = [];
        window.Notification = class {
          static permission = "granted";
          static requestPermission = async () => "granted";
          constructor(title, options) { window.announced.push({ title, ...options }); }
        };
        Object.defineProperty(document, "hidden", { get: () => window.isHidden === true });`);
    });
    const mention = async (words: string) => {
      const topic = { source_path: "docs/oncall.md", content: `@Grace Hopper: ${words}` };
      unwrap(await operations.open_topic.perform(app, topic, person()));
    };
    const announced = () => grace.page.evaluate<{ title: string; body?: string }[]>("window.announced");
    const rings = (count: number) =>
      expect.poll(() => bell(grace.page).getAttribute("aria-label")).toBe(`Notifications, ${count} unread`);
    await grace.page.goto(`${grace.url}/profile`);
    await grace.page.getByRole("button", { name: "Turn on" }).waitFor();
    await expectAccessible(grace.page, "profile");
    await pictures(grace.page, "profile");
    expect(await sideways(grace.page)).toBe(0);
    await grace.page.evaluate("window.isHidden = true");
    await mention("before it is on");
    await rings(1);
    expect(await announced()).toEqual([]);
    await grace.page.getByRole("button", { name: "Turn on" }).click();
    await grace.page.getByText("On in this browser.").waitFor();
    await mention("secret plans");
    await rings(2);
    await expect.poll(announced).toMatchObject([{ title: "You were mentioned in a topic" }]);
    expect(JSON.stringify(await announced())).not.toContain("secret");
    await grace.page.evaluate("window.isHidden = false");
    await mention("while it is seen");
    await rings(3);
    expect(await announced()).toHaveLength(1);
    await grace.page.getByRole("button", { name: "Turn off" }).click();
    await grace.page.getByRole("button", { name: "Turn on" }).waitFor();
    expect([...owner.faults, ...grace.faults]).toEqual([]);
  });

  test("U11: activity shows what others do as it happens, filtered, and leads to the thing", async () => {
    const { owner, grace, app } = await twoPeople();
    await grace.page.goto(`${grace.url}/activity`);
    await grace.page.getByRole("heading", { name: "Activity", level: 1 }).waitFor();
    const main = grace.page.getByRole("main");
    const opened = { source_path: "docs/deploy.md", content: "Name the logs to watch." };
    const { id } = unwrap(await operations.open_topic.perform(app, opened, person()));
    await main.getByText("opened a topic:").waitFor();
    unwrap(await operations.resolve_topic.perform(app, { id }, person()));
    await expect.poll(() => main.locator(".activity > li").first().textContent()).toContain("resolved Name the logs");
    await expectAccessible(grace.page, "activity");
    await pictures(grace.page, "activity");
    const options = await main.getByLabel("About").locator("option").allTextContents();
    expect(options).not.toContain("People and tokens");
    await main.getByLabel("By", { exact: true }).selectOption("Grace Hopper");
    await main.getByRole("heading", { name: "No activity here" }).waitFor();
    await main.getByRole("link", { name: "Show all activity" }).click();
    await main.getByRole("link", { name: "Name the logs to watch." }).first().click();
    await grace.page.locator(".thread.active").getByText("Name the logs to watch.").waitFor();
    await grace.page.goto(`${grace.url}/pages/docs/deploy.md?side=about`);
    await grace.page.locator("aside").getByText("opened a topic:").waitFor();
    await owner.page.goto(`${owner.url}/activity?about=people`);
    await owner.page.getByText("added Grace Hopper").waitFor();
    expect([...owner.faults, ...grace.faults]).toEqual([]);
  });
});
