import { describe, expect, test } from "vitest";
import { expectAccessible, visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { needs } from "./support/programs.ts";
import { ask } from "./support/requests.ts";
import { newWorkspace } from "./support/workspace.ts";

describe("creating in a browser", needs("chromium"), () => {
  test("W5: a person restores an earlier version as a new one, after seeing what changes", async () => {
    const { root } = await newWorkspace();
    const { link, token } = await serve(root);
    const { page, faults, url } = await visit(link);
    const read = async () => (await ask(url, "/api/entries/vision", { token })).json();
    const { version } = await read();
    const put = (content: string, at: number) =>
      ask(url, "/api/entries/vision", { method: "PUT", token, body: { content, version: at } });
    await put("# Vision\n\nParcels arrive on time.\n", version);
    await put("# Vision\n\nParcels arrive late.\n", version + 1);
    await page.goto(`${url}/entries/vision?view=history&compare=${version + 1}`);
    await page.getByRole("button", { name: `Restore version ${version + 1}` }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Parcels arrive on time.").waitFor();
    await expectAccessible(page, "restore");
    await dialog.getByRole("button", { name: "Restore", exact: true }).click();
    await page.getByText(`Restored version ${version + 1} as version ${version + 3}`).waitFor();
    expect((await read()).content).toBe("# Vision\n\nParcels arrive on time.\n");
    expect(faults).toEqual([]);
  });

  test("W5: files are added as sources; duplicates and names that are not allowed are reported", async () => {
    const { root } = await newWorkspace();
    const { link, token } = await serve(root);
    const { page, url } = await visit(link);
    await page.goto(`${url}/sources`);
    await page.getByText("Drop or paste files here.").waitFor();
    const file = (name: string, text: string) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) });
    await page
      .locator("input[type=file]")
      .setInputFiles([file("minutes.txt", "We met."), file("copy.txt", "We met."), file(".env", "x=1")]);
    const done = page.getByRole("status", { name: "Added files" });
    await done.getByText("The same content is minutes.txt.").waitFor();
    await done.getByText("files and folders that start with a dot are not accepted").waitFor();
    await page.getByRole("link", { name: "minutes.txt" }).waitFor();
    await expectAccessible(page, "sources");
    const { sources } = await (await ask(url, "/api/sources", { token })).json();
    expect(sources.map(({ path }: { path: string }) => path)).toContain("minutes.txt");
    expect(sources.map(({ path }: { path: string }) => path)).not.toContain("copy.txt");
  });
});
