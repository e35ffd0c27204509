import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { expectAccessible, sideways, violationsOn, visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { needs } from "./support/programs.ts";
import { ask } from "./support/requests.ts";
import { newWorkspace } from "./support/workspace.ts";

/** A "preview" that an agent serves on a port of this machine. It keeps the headers that browsers send. */
async function preview(): Promise<{ port: number; received: IncomingHttpHeaders[] }> {
  const received: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    received.push(request.headers);
    response.setHeader("content-type", "text/html").end("<!doctype html><title>preview</title><h1>Preview</h1>");
  });
  // Both loopback addresses, because a browser tries ::1 first for localhost.
  await new Promise<void>((ready) => server.listen(0, "::", ready));
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, received };
}

const nameIn = (page: Page) => page.locator(".side-foot .person").textContent();

describe("sessions in a browser", needs("chromium"), () => {
  test("S2: a preview on another port gets no cookie, and a cookie that it does get creates no token", async () => {
    const { app, root } = await newWorkspace();
    const { url: plainUrl, onceLink } = await serve(root);
    const { page, context, url } = await visit(onceLink);
    await page.getByRole("heading", { name: "Wiki" }).waitFor();
    const { port, received } = await preview();
    for (const host of ["127.0.0.1", "localhost", "preview.localhost"]) {
      const tab = await context.newPage();
      await tab.goto(`http://${host}:${port}/`);
      await tab.getByRole("heading", { name: "Preview" }).waitFor();
      await tab.close();
    }
    expect(received.length).toBeGreaterThanOrEqual(3);
    expect(received.filter(({ cookie }) => cookie !== undefined)).toEqual([]);
    expect(JSON.stringify(received)).not.toContain(new URL(url).hostname);

    // Were the host name to become known, the browser would send the cookie to the preview. It is not enough.
    const tab = await context.newPage();
    await tab.goto(`http://${new URL(url).hostname}:${port}/`);
    const stolen = received.at(-1)?.cookie ?? "";
    expect(stolen).toMatch(/^scriptorium-/);
    expect(await tab.evaluate("localStorage.length")).toBe(0);
    const body = { kind: "person", name: "Mallory", rank: "admin" };
    for (const origin of [url, plainUrl]) {
      const headers = { cookie: stolen, origin, "sec-fetch-site": "same-origin" };
      expect((await ask(origin, "/api/tokens", { method: "POST", headers, body })).status).toBe(401);
      expect((await ask(origin, "/api/entries", { headers })).status).toBe(401);
      expect((await ask(origin, "/api/events", { headers })).status).toBe(401);
    }
    expect(await app.tokens.list()).toEqual([]);
  });

  test("S2: two workspaces in one browser keep their sessions, under their own names and under 127.0.0.1", async () => {
    const one = await serve((await newWorkspace()).root);
    const two = await serve((await newWorkspace()).root);
    const { page, context, url } = await visit(one.onceLink);
    await context.newPage().then((tab) => tab.goto(two.link));
    await page.goto(`${url}/entries/vision`);
    await page.locator("article").waitFor();

    for (const { url, token } of [one, two]) {
      const tab = await context.newPage();
      await tab.goto(`${url}/?token=${token}`);
      await tab.waitForURL(`${url}/`);
      await tab.getByRole("heading", { name: "Wiki" }).waitFor();
    }
    for (const { url } of [one, two]) {
      const tab = await context.newPage();
      await tab.goto(`${url}/entries/vision`);
      await tab.locator("article").waitFor();
    }
  });

  test("S2: a link of another person asks before it replaces the session, and one from another site always asks", async () => {
    const { root } = await newWorkspace();
    const { url: plainUrl, token, link } = await serve(root);
    const body = { name: "Grace", rank: "reader" };
    const added = (await ask(plainUrl, "/api/people", { method: "POST", token, body })).json();
    const { page, context, url, faults } = await visit(link);
    const ada = (await nameIn(page)) ?? "";
    await page.goto(added.link);
    await page.getByText("Sign in as Grace instead?").waitFor();
    expect(ada).toContain((await page.getByRole("button", { name: /^Stay signed in as/ }).textContent())?.slice(18));
    await expectAccessible(page, "a link of another person");
    await page.getByRole("button", { name: /^Stay signed in as/ }).click();
    await page.getByRole("heading", { name: "Wiki" }).waitFor();
    expect(await nameIn(page)).toBe(ada);
    await page.goto(added.link);
    await page.getByRole("button", { name: "Sign in as Grace" }).click();
    await page.waitForURL(`${url}/`);
    await expect.poll(() => nameIn(page)).toContain("Grace");
    await page.goto(added.link);
    await page.getByText("has expired or was already used").waitFor();
    expect(faults.filter((fault) => !fault.includes("409 (Conflict)"))).toEqual([]);

    // A page of another site may not sign anyone in without a click either.
    const again = (await ask(plainUrl, "/api/sign-in-links", { method: "POST", token, body: {} })).json();
    const outside = createServer((_, response) => {
      response.setHeader("content-type", "text/html").end(`<a href="${again.link}">free lamps</a>`);
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void outside.close());
    await new Promise((ready) => outside.once("listening", ready));
    const stranger = await context.browser()?.newContext();
    const tab = await stranger?.newPage();
    if (!tab) throw new Error("no browser");
    await tab.goto(`http://127.0.0.1:${(outside.address() as AddressInfo).port}/`);
    await tab.getByRole("link", { name: "free lamps" }).click();
    await tab.getByRole("button", { name: /^Sign in as/ }).waitFor();
    expect((await stranger?.cookies()) ?? []).toEqual([]);
    await tab.getByRole("button", { name: /^Sign in as/ }).click();
    await tab.getByRole("heading", { name: "Wiki" }).waitFor();
    await stranger?.close();
  });

  test("S2: a person signs out from the menu, sees other sessions end, and everything asks to sign in again", async () => {
    const { root } = await newWorkspace();
    const { link } = await serve(root);
    const here = await visit(link);
    const there = await visit(link);
    await there.page.getByRole("heading", { name: "Wiki" }).waitFor();
    await here.page.locator(".side-foot .person").click();
    await here.page.getByRole("link", { name: "Sessions" }).click();
    await here.page.getByRole("heading", { name: "Sessions" }).waitFor();
    await here.page.getByText("(this one)").waitFor();
    expect(await here.page.locator("table.list tbody tr").count()).toBe(2);
    await here.page.getByRole("button", { name: /^Revoke the session of/ }).click();
    await there.page.getByText("Your session has ended.").waitFor();
    await there.page.reload();
    await there.page.getByRole("heading", { name: "Sign in" }).waitFor();

    await here.page.locator(".side-foot .person").click();
    await here.page.getByRole("button", { name: "Sign out", exact: true }).last().click();
    await here.page.waitForURL(`${here.url}/sign-in`);
    expect(await here.page.evaluate("localStorage.getItem('scriptorium-page-secret')")).toBe(null);
    expect(await here.context.cookies()).toEqual([]);
    await here.page.goto(`${here.url}/entries/vision`);
    await here.page.getByRole("heading", { name: "Sign in" }).waitFor();
  });

  test("R20: the pages of sessions and of signing in fit a phone and break no rule of axe, light and dark", async () => {
    const { root } = await newWorkspace();
    const { link } = await serve(root);
    const { page, url, faults } = await visit(link);
    const wrong: string[] = [];
    for (const path of ["/sessions", "/sign-in"]) {
      await page.goto(url + path);
      await page.locator("main h1").first().waitFor();
      await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
      wrong.push(...(await violationsOn(page, `${path}, light`)));
      await page.emulateMedia({ colorScheme: "dark" });
      wrong.push(...(await violationsOn(page, `${path}, dark`, ["color-contrast"])));
      await page.setViewportSize({ width: 390, height: 800 });
      expect([path, await sideways(page)]).toEqual([path, 0]);
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.emulateMedia({ colorScheme: "light" });
    }
    expect(wrong).toEqual([]);
    expect(faults).toEqual([]);
  });

  test("R21: a person adds a passkey and signs in with it; it works once per challenge, and not when it is removed", async () => {
    const { app, root } = await newWorkspace();
    const { onceLink } = await serve(root);
    const { page, context, url } = await visit(onceLink);
    const name = await nameIn(page);
    const devtools = await context.newCDPSession(page);
    await devtools.send("WebAuthn.enable");
    await devtools.send("WebAuthn.addVirtualAuthenticator", {
      options: {
        protocol: "ctap2",
        transport: "internal",
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    await page.goto(`${url}/sessions`);
    await page.getByRole("button", { name: "Add passkey" }).click();
    await page.getByText("Passkey added").waitFor();
    await page.getByRole("button", { name: /^Remove the passkey Chrome on Linux/ }).waitFor();
    const signedOut = page.waitForURL(`${url}/sign-in`);
    await page.getByRole("button", { name: "Sign out everywhere" }).last().click();
    await signedOut;

    let answer = "";
    page.on("request", (request) => {
      if (request.url().endsWith("/sign-in/passkey")) answer = request.postData() ?? "";
    });
    await page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await page.getByRole("heading", { name: "Wiki" }).waitFor();
    expect(await nameIn(page)).toBe(name);
    const [row] = await app.db.read.selectFrom("passkeys").selectAll().execute();
    expect(row).toMatchObject({ is_owner: 1, used_at: expect.any(String) });

    // The same answer again: its challenge is used up.
    const replay = { method: "POST", headers: { origin: url }, body: JSON.parse(answer) };
    expect((await ask(url, "/sign-in/passkey", replay)).status).toBe(401);
    await page.goto(`${url}/sessions`);
    await page.getByRole("button", { name: /^Remove the passkey/ }).click();
    await page.getByText("Passkey removed").waitFor();
    await page.getByRole("button", { name: "Sign out", exact: true }).last().click();
    await page.waitForURL(`${url}/sign-in`);
    expect(await page.getByRole("button", { name: "Sign in with a passkey" }).count()).toBe(0);
  });
});
