import { execFileSync } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { openExample } from "../src/http/example.ts";
import { expectAccessible, select, sideways, visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { folderOfAgent, withAgentsIn } from "./support/first-agent.ts";
import { needs, skipWithout } from "./support/programs.ts";
import { ask } from "./support/requests.ts";
import { newWorkspace, temporaryFolder } from "./support/workspace.ts";

const card = (page: Page) => page.getByRole("region", { name: "First steps" });
const steps = async (page: Page, url: string, done: number) => {
  await page.goto(url);
  await card(page).getByText(`${done} of 5 done`).waitFor();
};

describe("the first hour in a browser", needs("chromium"), () => {
  test("R20: a newcomer sets up an agent, discusses a passage, asks the agent, approves its change and starts a run", async () => {
    skipWithout("bubblewrap");
    const root = await openExample(temporaryFolder());
    const { link, token } = await serve(root, withAgentsIn(folderOfAgent()));
    const { page, url, faults } = await visit(link);
    await steps(page, url, 0);
    await expectAccessible(page, "first steps");

    await card(page).getByRole("link", { name: "Set up agent" }).click();
    await page.getByText("No agent is set up.").waitFor();
    await page.getByRole("radio", { name: "Claude Code" }).check();
    await page.getByRole("button", { name: "Show change" }).click();
    await page.getByRole("heading", { name: "Change of scriptorium.yaml" }).waitFor();
    await expectAccessible(page, "agent, change");
    expect(readFileSync(join(root, "scriptorium.yaml"), "utf8")).not.toContain("agent:");
    await page.getByRole("button", { name: "Write scriptorium.yaml" }).click();
    await page.getByRole("button", { name: "Test agent" }).click();
    await page.getByText("The agent works.").waitFor();
    await page.getByText("It said: ready").waitFor();
    await steps(page, url, 1);

    await card(page).getByRole("link", { name: "Open a page" }).first().click();
    await page.locator(".prose").waitFor();
    await select(page, "one place tells them the truth");
    await page.locator(".selection-bar").waitFor();
    await page.keyboard.press("c");
    await page.getByRole("textbox").first().fill("How soon does the depot answer?");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("button", { name: "Ask agent" }).click();
    const proposal = page.getByRole("link", { name: "Proposal 1" });
    await proposal.waitFor();
    await steps(page, url, 3);

    const { proposals } = (await ask(url, "/api/proposals?status=open", { token })).json();
    const own = (proposals as { id: string; subject: string }[]).find(({ subject }) => subject === "wiki/vision.md");
    await page.goto(`${url}/proposals/${own?.id}`);
    await page.getByRole("button", { name: "Approve" }).click();
    await expect
      .poll(() => readFileSync(join(root, "wiki/vision.md"), "utf8"), { timeout: 60_000 })
      .toContain("The depot answers within a day.");
    await steps(page, url, 4);

    await card(page).getByRole("link", { name: "Open runs" }).click();
    await page.getByRole("button", { name: "New run" }).click();
    await page.getByRole("dialog").getByRole("textbox").first().fill("Welcome new colleagues");
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /^Plan|^Start|^Create/ })
      .click();
    await page.waitForURL(/\/runs\/run-/);
    await steps(page, url, 5);
    expect(faults).toEqual([]);
  });

  test("R20: the card is hidden and brought back, and what others did does not check it off", async () => {
    const root = await openExample(temporaryFolder());
    const { link } = await serve(root);
    const { page, url } = await visit(link, { viewport: { width: 390, height: 800 } });
    await steps(page, url, 0);
    expect(await sideways(page)).toBe(0);
    await card(page).getByRole("button", { name: "Hide first steps" }).click();
    await card(page).waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("button", { name: "Show first steps" }).click();
    await card(page).getByText("0 of 5 done").waitFor();
  });

  test("R20, R17: a failing agent says why and what to do", async () => {
    skipWithout("bubblewrap");
    const { root } = await newWorkspace({ config: "agent: {author_name: A, author_email: a@example.org}\n" });
    const { link } = await serve(root, withAgentsIn(folderOfAgent({ broken: true })));
    const { page, url } = await visit(link);
    await page.goto(`${url}/settings/agents`);
    await page.getByRole("button", { name: "Test agent" }).click();
    await page.getByText("The agent does not work:").waitFor();
    await page.getByText("Sign in: claude auth login").waitFor();
    await expectAccessible(page, "agent, failed");
  });

  test("R20: without an agent program, Agents says so and asks for no model", async () => {
    const { root } = await newWorkspace();
    const onlyGit = temporaryFolder();
    const git = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();
    symlinkSync(git, join(onlyGit, "git"));
    const { link } = await serve(root, { PATH: onlyGit });
    const { page, faults, url } = await visit(link);
    await page.goto(`${url}/settings/agents`);
    await page.getByText("No agent program was found in PATH.").waitFor();
    expect(await page.getByLabel("Model").count()).toBe(0);
    await expectAccessible(page, "agents, none installed");
    expect(faults).toEqual([]);
  });

  test("R20, R4: a collaborator sees no set-up of agents", async () => {
    const { root } = await newWorkspace();
    const { link, token } = await serve(root);
    const { origin } = new URL(link);
    const made = (
      await ask(origin, "/api/tokens", {
        token,
        method: "POST",
        body: { kind: "person", name: "Grace", rank: "collaborator" },
      })
    ).json();
    const { page, url } = await visit(`${origin}/?token=${made.token}`);
    await page.goto(`${url}/settings/agents`);
    await page.getByText("Only admins can see and set up agents.").waitFor();
    expect(await page.getByRole("button", { name: "Show change" }).count()).toBe(0);
    await page.goto(url);
    await card(page).getByText("An admin sets it up.").waitFor();
    expect(await card(page).getByRole("link", { name: "Set up agent" }).count()).toBe(0);
  });
});
