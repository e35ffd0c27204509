import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { expectAccessible, sideways, visit } from "./support/browsing.ts";
import { serve } from "./support/commands.ts";
import { needs } from "./support/programs.ts";
import { newWorkspace, person } from "./support/workspace.ts";

/** A proposal whose rendered comparison exceeds the time limit. */
async function slowProposal() {
  const { app, root } = await newWorkspace();
  const text = `# Links\n\n${"[a](".repeat(30_000)}\n`;
  mkdirSync(join(root, "docs"));
  writeFileSync(join(root, "docs/links.md"), text);
  const topic = unwrap(
    await operations.open_topic.perform(app, { source_path: "docs/links.md", content: "Say more" }, person()),
  );
  const content = `${text}\nOne more line.\n`;
  const input = { topic_id: topic.id, base_sha: topic.source_sha ?? "", content };
  return { root, id: unwrap(await operations.insert_proposal.perform(app, input, person())).id };
}

describe("S7: a proposal that takes too long to render", needs("chromium"), () => {
  test.each([
    ["light", 1280],
    ["dark", 390],
  ] as const)("S7: shows the source diff and says why (%s, %i px)", async (colorScheme, width) => {
    const { root, id } = await slowProposal();
    const { link } = await serve(root);
    const { page, faults, url } = await visit(link, { colorScheme, viewport: { width, height: 900 } });
    await page.goto(`${url}/proposals/${id}`);
    const note = page.getByText("The source diff is shown because rendering takes too long.");
    await note.waitFor();
    await page.locator(".source-diff .added", { hasText: "One more line." }).waitFor();
    await expectAccessible(page, "the proposal");
    expect(await sideways(page)).toBe(0);
    expect(faults.filter((fault) => !fault.includes("422"))).toEqual([]);
  });
});
