import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { disputePassage } from "../src/review/dispute-operations.ts";
import { getTrust, verifyPassage } from "../src/trust/operations.ts";
import { commitEntry } from "../src/wiki/operations.ts";
import { expectAccessible, sideways, visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { authorship, program } from "./support/jobs.ts";
import { needs } from "./support/programs.ts";
import { ask } from "./support/requests.ts";
import { agent, newWorkspace, person, type TestWorkspace } from "./support/workspace.ts";

const text = (days: number) => `# Vision

Parcels arrive within ${days} days.

Drivers rest after eight hours.

- Vans are electric.
- The depot closes at ten.
`;

/** A page with a passage that was changed after its verification, a disputed one, a verified one and an unverified one. */
async function pageInDoubt(): Promise<TestWorkspace> {
  const workspace = await newWorkspace();
  const { app } = workspace;
  await commit(workspace, text(2));
  for (const words of ["Parcels arrive", "Drivers rest", "Vans are"])
    unwrap(await verifyPassage.perform(app, { id: "vision", passage: await idOf(workspace, words) }, person()));
  const why = "The law says nine hours.";
  const disputed = { id: "vision", passage: await idOf(workspace, "Drivers rest"), why };
  unwrap(await disputePassage.perform(app, disputed, person()));
  await commit(workspace, text(9));
  return workspace;
}

async function commit({ app }: TestWorkspace, content: string): Promise<void> {
  const { version } = await app.entries.fetch("vision");
  unwrap(await commitEntry.perform(app, { id: "vision", content, version }, agent("planner")));
}

async function idOf({ app }: TestWorkspace, words: string): Promise<string> {
  const { passages } = unwrap(await getTrust.perform(app, { id: "vision" }, person()));
  return passages.find((one) => one.text.includes(words))?.passage ?? "";
}

/** An agent that finds the passage in server.conf. */
const checker = `prompt=$(cat)
of() { printf '%s\\n' "$prompt" | sed -n "s/^$1: //p"; }
"$(of 'Agent CLI path')" report-recheck -config "$(of 'Config file')" --source-path "$(of 'Source path')" \\
  --passage "$(of 'Passage ID')" --outcome holds --note 'The configuration says the same.' \\
  --evidence '{"ref":"file:server.conf","quote":"drain = 30 seconds"}'`;

const marks = (page: Page) => page.getByRole("list", { name: "Trust of passages" }).getByRole("button");
const card = (page: Page) => page.getByRole("dialog", { name: "Trust of the passage" });
const centre = async (page: Page, words: string) => {
  const box = await page.locator(".prose").getByText(words).boundingBox();
  return (box?.y ?? 0) + (box?.height ?? 0) / 2;
};

const folder = process.env.SCRIPTORIUM_TEST_PICTURES;

async function picture(page: Page, name: string): Promise<void> {
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

describe("earned trust in a browser", needs("chromium"), () => {
  test("K10: marks in the margin name the state of doubtful passages only; a mark shows cause, writer and verification, and Verify takes it away", async () => {
    const { root } = await pageInDoubt();
    const { link } = await serve(root);
    for (const [width, colorScheme] of [
      [390, "dark"],
      [390, "light"],
      [1280, "dark"],
      [1280, "light"],
    ] as const) {
      const { page, faults, url } = await visit(link, { viewport: { width, height: 900 }, colorScheme });
      await page.goto(`${url}/entries/vision?side=about`);
      await marks(page).first().waitFor();
      expect(await marks(page).evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")))).toEqual([
        "Unverified: Parcels arrive within 9 days.",
        "Disputed: Drivers rest after eight hours.",
      ]);
      const mark = marks(page).nth(1);
      const box = await mark.boundingBox();
      expect(box?.x).toBeGreaterThanOrEqual(0);
      expect(Math.abs((box?.y ?? 0) + (box?.height ?? 0) / 2 - (await centre(page, "Drivers rest")))).toBeLessThan(8);
      expect(await sideways(page)).toBe(0);
      await expectAccessible(page, `marks, ${width} ${colorScheme}`);
      await picture(page, `trust-page-${width}-${colorScheme}`);

      await page.locator("h1").click();
      await page.keyboard.press("]");
      await page.keyboard.press("]");
      await page.keyboard.press("Enter");
      await card(page).getByText("The law says nine hours.").waitFor();
      await card(page).getByRole("link", { name: "Topic", exact: true }).waitFor();
      const shown = await card(page).boundingBox();
      expect((shown?.y ?? 0) + (shown?.height ?? 0)).toBeLessThanOrEqual(900);
      expect(await card(page).locator("dl").textContent()).toMatch(/Written byplanner.*Verified byAda Lovelace/);
      expect(await sideways(page)).toBe(0);
      await expectAccessible(page, `the card of a mark, ${width} ${colorScheme}`);
      await picture(page, `trust-card-${width}-${colorScheme}`);
      await page.keyboard.press("Escape");
      await card(page).waitFor({ state: "hidden" });
      expect(await mark.evaluate((one) => one.matches(":focus"))).toBe(true);
      expect(faults).toEqual([]);
      if (width !== 1280 || colorScheme !== "light") await page.context().close();
      else await decideAll(page, faults);
    }
  });

  async function decideAll(page: Page, faults: string[]): Promise<void> {
    await marks(page).first().click();
    await card(page).getByText("planner changed the verified text").waitFor();
    expect(await card(page).getByRole("button", { name: "Dispute" }).isDisabled()).toBe(true);
    await card(page).getByRole("textbox", { name: "Note" }).fill("The contract of May.");
    await card(page).getByRole("button", { name: "Verify" }).click();
    await page.getByText("Passage verified").waitFor();
    await expect.poll(() => marks(page).count()).toBe(1);
    // A reader who wants the state of everything turns it on; it stays on.
    await page.locator("h1").click();
    await page.keyboard.press("v");
    await page.keyboard.press("t");
    await expect.poll(() => marks(page).count()).toBe(4);
    await page.reload();
    await page.getByRole("button", { name: "Verified by a person: Vans are electric." }).click();
    await card(page).getByRole("textbox", { name: "Note" }).fill("One of them burns diesel.");
    await card(page).getByRole("button", { name: "Dispute" }).click();
    await page.getByRole("button", { name: "Disputed: Vans are electric." }).waitFor();
    await expectAccessible(page, "marks of every passage");
    await picture(page, "trust-all");
    await page.getByRole("tab", { name: /^Discussion/ }).click();
    await page.getByText("One of them burns diesel.").first().waitFor();
    expect(faults).toEqual([]);
  }

  test("K10: readers see the marks and decide nothing", async () => {
    const { root } = await pageInDoubt();
    const { link, url: plain, token } = await serve(root);
    const body = { kind: "person", name: "Grace", rank: "reader" };
    const made = (await ask(plain, "/api/tokens", { token, method: "POST", body })).json();
    const { page, url } = await visit(`${new URL(link).origin}/?token=${made.token}`);
    await page.goto(`${url}/entries/vision`);
    await marks(page).first().click();
    await card(page).getByText("planner changed the verified text").waitFor();
    expect(await card(page).getByRole("button", { name: "Verify" }).count()).toBe(0);
  });

  test("R6, K10: Re-check shows the agent at work and its report with the quotes; Confirm verifies the passage", async () => {
    const { app, root } = await newWorkspace({
      files: { "docs/deploy.md": "# Deploy\n\nThe server waits 30 seconds.\n", "server.conf": "drain = 30 seconds\n" },
    });
    const block = { ...authorship, runner: "command", isolation: "workspace", command: [program(root, checker)] };
    appendFileSync(join(root, "scriptorium.yaml"), `agent: ${JSON.stringify(block)}\n`);
    const id = "docs/deploy.md";
    const [first] = unwrap(await getTrust.perform(app, { id }, person())).passages;
    const passage = first?.passage ?? "";
    unwrap(await verifyPassage.perform(app, { id, passage }, person()));
    unwrap(await disputePassage.perform(app, { id, passage, why: "Is it not 60?" }, person()));
    const { link } = await serve(root);
    const { page, faults, url } = await visit(link);
    await page.goto(`${url}/pages/docs/deploy.md`);
    await marks(page).first().click();
    await card(page).getByRole("button", { name: "Re-check" }).click();
    const report = card(page).getByRole("region", { name: "Report of the agent" });
    await report.getByText("The configuration says the same.").waitFor();
    await report.getByText("file:server.conf:1").waitFor();
    await expectAccessible(page, "the report of a recheck");
    await picture(page, "trust-recheck");
    await report.getByRole("button", { name: "Confirm" }).click();
    await page.getByText("Passage verified").waitFor();
    await expect.poll(() => marks(page).count()).toBe(0);
    expect(faults).toEqual([]);
  });

  test("K10, R6: without an agent, Re-check leads to its set-up", async () => {
    const { root } = await pageInDoubt();
    const { link } = await serve(root);
    const { page, url } = await visit(link);
    await page.goto(`${url}/entries/vision`);
    await marks(page).first().click();
    await card(page).getByRole("button", { name: "Re-check" }).click();
    await card(page).getByRole("link", { name: /agent/i }).waitFor();
  });

  test("K10: results of a search and the palette have the state and the doubts, and are filtered by it", async () => {
    const { root } = await pageInDoubt();
    const { link } = await serve(root);
    for (const [width, colorScheme] of [
      [390, "dark"],
      [1280, "light"],
    ] as const) {
      const { page, faults, url } = await visit(link, { viewport: { width, height: 900 }, colorScheme });
      await page.goto(`${url}/search?q=drivers`);
      const hit = page.locator(".hits > li", { hasText: "Drivers rest" });
      await hit.locator(".trust-label", { hasText: "disputed" }).waitFor();
      await hit.locator(".doubt", { hasText: "The law says nine hours." }).waitFor();
      await expectAccessible(page, `search, ${width} ${colorScheme}`);
      expect(await sideways(page)).toBe(0);
      await picture(page, `trust-search-${width}-${colorScheme}`);
      await page
        .getByRole("navigation", { name: "Trust" })
        .getByRole("link", { name: "Verified", exact: true })
        .click();
      await expect.poll(() => hit.count()).toBe(0);
      await page.getByRole("navigation", { name: "Trust" }).getByRole("link", { name: "Doubtful" }).click();
      await hit.waitFor();

      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Find anything" }).fill("drivers");
      const option = page.getByRole("option").filter({ hasText: "Drivers rest" });
      await option.locator(".trust-label", { hasText: "disputed" }).waitFor();
      await expectAccessible(page, `palette, ${width} ${colorScheme}`);
      await picture(page, `trust-palette-${width}-${colorScheme}`);
      await page.getByRole("checkbox", { name: "Verified text only" }).check();
      await expect.poll(() => option.count()).toBe(0);
      expect(faults).toEqual([]);
      await page.context().close();
    }
  });

  test("K10: a page that lost trust is in the inbox with the cause and what to do, leads to the passage, and leaves it when verified", async () => {
    const { root } = await pageInDoubt();
    const { link } = await serve(root);
    for (const [width, colorScheme] of [
      [390, "dark"],
      [1280, "light"],
    ] as const) {
      const { page, faults, url } = await visit(link, { viewport: { width, height: 900 }, colorScheme });
      await page.goto(`${url}/inbox`);
      const row = page.locator(".inbox-rows > li", { hasText: "Re-check wiki/vision.md" });
      await row.getByText("2 passages").waitFor();
      await row.getByText("Parcels arrive within 9 days.").waitFor();
      await row.getByText("planner changed the verified text").waitFor();
      await row.getByText("Verify the new text, or correct it").waitFor();
      await expectAccessible(page, `inbox, ${width} ${colorScheme}`);
      await picture(page, `trust-inbox-${width}-${colorScheme}`);
      await row.getByRole("link").click();
      await page.waitForURL(/entries\/vision\?passage=/);
      await expect
        .poll(() =>
          marks(page)
            .first()
            .evaluate((one) => one.matches(":focus")),
        )
        .toBe(true);
      expect(faults).toEqual([]);
      if (width === 1280) {
        for (let left = 2; left > 0; left--) {
          await marks(page).first().click();
          await card(page).getByRole("button", { name: "Verify" }).click();
          await expect.poll(() => marks(page).count()).toBe(left - 1);
        }
        await page.goto(`${url}/inbox`);
        await page.getByRole("heading", { name: "Inbox", level: 1 }).waitFor();
        await expect.poll(() => row.count()).toBe(0);
      }
      await page.context().close();
    }
  });
});
