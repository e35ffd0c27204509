import { describe, expect, test } from "vitest";
import { spellHidden, splitHidden } from "../src/kernel/hidden.ts";
import { visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { poisonedWorkspace } from "./support/hidden.ts";
import { needs } from "./support/programs.ts";

/** Everything a person can read or a screen reader says: texts, names of controls, options, the title of the page. */
const readable = `(() => {
  const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
  const found = [document.title];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.nodeType === 3) {
      if (!["SCRIPT", "STYLE", "TEXTAREA"].includes(node.parentElement?.tagName)) found.push(node.data);
      continue;
    }
    for (const name of ["aria-label", "title", "placeholder", "alt", "label"])
      if (node.hasAttribute(name)) found.push(name + ": " + node.getAttribute(name));
  }
  return found;
})()`;

describe("S11: hidden characters in the browser", needs("chromium"), () => {
  test("S11, T35: no view shows a hidden character of a name or a text unspelled", async () => {
    const { root, topic, proposal, run } = await poisonedWorkspace("sqlite");
    const { link, url } = await serve(root);
    const { page } = await visit(link);
    const views = [
      ...["/", "/entries/vision", "/entries/vision?view=history", "/entries/vision?view=blame", "/entries/decisions"],
      ...["/pages/docs/page.md", `/pages/docs/page.md?topic=${topic}`, "/search?query=kingfisher", "/inbox"],
      ...[`/proposals/${proposal}`, `/proposals/${proposal}?as=source`, "/tasks", "/graph", "/graph?node=bird:k"],
      ...["/runs", `/runs/${run}`, `/runs/${run}?tab=plan`, "/topics", "/sources", "/sources/notes.txt", "/people"],
    ];
    const faults = new Map<string, string>();
    let spelled = 0;
    for (const view of views) {
      await page.goto(`${url}${view}`);
      await page.locator("h1").first().waitFor();
      await expect.poll(() => page.locator("[aria-busy=true]").count()).toBe(0);
      for (const text of (await page.evaluate(readable)) as string[]) {
        if (splitHidden(text).some(({ hidden }) => hidden)) faults.set(spellHidden(text).slice(0, 60), view);
        if (text.includes("U+202E")) spelled++;
      }
    }
    expect([...faults].map(([text, view]) => `${view}: ${text}`)).toEqual([]);
    expect(spelled).toBeGreaterThan(views.length);
  });
});
