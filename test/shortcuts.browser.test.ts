import { describe, expect, test } from "vitest";
import { visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { everyState } from "./support/every-state.ts";
import { needs } from "./support/programs.ts";
import { collisionsOf, shortcutsOf } from "./support/shortcuts.ts";
import { areas } from "./support/views.ts";

describe("shortcuts in a browser", needs("chromium"), () => {
  test("U3: no two actions of a view have the same keys, and none begins with the keys of another", async () => {
    const { root, made } = await everyState();
    const { link } = await serve(root);
    const { page, url } = await visit(link);
    const wrong: string[] = [];
    // A dialog has no shortcuts of its own: views with steps show the same as without.
    for (const [name, path, steps] of Object.values(areas).flat()) {
      if (steps) continue;
      await page.goto(url + (typeof path === "string" ? path : path(made)));
      await page.locator("main h1, main [role=alert]").first().waitFor();
      await expect.poll(() => page.locator("[aria-busy=true]").count()).toBe(0);
      wrong.push(...collisionsOf(await shortcutsOf(page)).map((pair) => `${name}: ${pair}`));
    }
    expect(wrong).toEqual([]);
  });
});
