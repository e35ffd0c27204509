import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { expectAccessible, savePicture, sideways, visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { startProvider } from "./support/identity-provider.ts";
import { needs } from "./support/programs.ts";
import { newWorkspace } from "./support/workspace.ts";

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

describe("sign-in with an identity provider in a browser", needs("chromium"), () => {
  test("M15: one click signs in at the provider and comes back to the page; a refusal is explained", async () => {
    const provider = await startProvider();
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const config = `base_url: ${url}\noidc: { issuer: ${provider.issuer}, client_id: scriptorium, label: Example Login, ranks: { team: collaborator } }\n`;
    const { root } = await newWorkspace({ config });
    await serve(root, { SCRIPTORIUM_OIDC_CLIENT_SECRET: provider.secret }, port);
    const { page, context } = await visit(`${url}/sources`);
    const button = page.getByRole("button", { name: "Sign in with Example Login" });
    await button.waitFor();
    await expectAccessible(page, "the sign-in page with a provider");
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        await savePicture(page, `sign-in-${width}-${colorScheme}`);
      }
      expect(await sideways(page)).toBe(0);
    }
    await page.setViewportSize({ width: 1280, height: 900 });

    provider.person = { sub: "u-1", name: "Ada L.", groups: ["others"] };
    await button.click();
    await page.getByText("no group of yours has access here").waitFor();
    await savePicture(page, "sign-in-refused");
    expect(new URL(page.url()).search).toBe("");

    provider.person = { sub: "u-1", name: "Ada L.", groups: ["team"] };
    await page.goto(`${url}/sources`);
    await button.click();
    await page.waitForURL(`${url}/sources`);
    await page.locator(".side-foot .person").waitFor();
    expect(await page.locator(".side-foot .person").textContent()).toContain("Ada L.");
    expect((await context.cookies()).filter(({ httpOnly, sameSite }) => httpOnly && sameSite === "Strict").length).toBe(
      2,
    );

    // Somebody else's answer in a link signs nobody in.
    const other = await context.newPage();
    await other.goto(`${url}/sign-in/oidc?code=stolen&state=stolen`);
    await other.getByText("in another browser").waitFor();
  });
});
