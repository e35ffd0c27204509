import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { visit } from "./support/browsing.ts";
import { serveProcess } from "./support/commands.ts";
import { newRun, planned } from "./support/crew.ts";
import { needs } from "./support/programs.ts";
import { newWorkspace } from "./support/workspace.ts";

/**
 * How much work the application makes of little: requests, bytes, elements, drawings. These do not depend on the
 * machine, so they are asserted; how long it took on this one is only told, on stderr.
 */
describe("budgets in a browser", needs("chromium"), () => {
  test("R20: among ten thousand pages the tree stays small, a page costs a few small requests, and typing redraws the editor alone", async () => {
    const { root } = await newWorkspace();
    writePages(root, 100, 100);
    const { link } = await serveProcess(root);
    const { page, url } = await visit(link, {}, countCommits);

    await page.goto(`${url}/pages/book/c07/p07.md`);
    await page.locator(".prose").getByText("Page 7 of chapter 7").waitFor();
    await page.locator(".tree .row").getByText("p07.md").waitFor();
    const rows = () => page.locator(".tree .row").count();
    expect(await rows()).toBeLessThan(80);
    await page.evaluate("document.querySelector('.tree').scrollTo(0, 1e6)");
    await page.locator(".tree .row").getByText("c99").waitFor();
    expect(await rows()).toBeLessThan(80);
    expect(await page.evaluate("document.querySelectorAll('*').length")).toBeLessThan(1500);

    await page.evaluate("document.querySelector('.tree').scrollTo(0, 0)");
    const open = async (name: string) => {
      await page.locator(".tree .row").getByText(`p${name}.md`, { exact: true }).click();
      await page
        .locator(".prose")
        .getByText(`Page ${Number(name)} of chapter 7`)
        .waitFor();
    };
    await page.locator(".tree .row").getByText("p08.md").scrollIntoViewIfNeeded();
    const switched = await during(page, () => open("08"));
    expect(switched.paths.filter((path) => /list|entries$|pages$|inbox/.test(path))).toEqual([]);
    expect(switched.paths.length).toBeLessThanOrEqual(8);
    expect(switched.bytes).toBeLessThan(50_000);
    await open("09");
    const again = await during(page, () => open("08"));
    expect(again.paths).not.toContain("/api/rendered/page");
    tell(`another page of 10,000: ${told(switched)}; one seen before: ${told(again)}`);

    await page.goto(`${url}/entries/vision?view=edit`);
    await page.locator(".cm-content").click();
    await page.locator(".preview").waitFor();
    const letters = "Twelve words are typed here, letter by letter, as fast as can be. ";
    const before = await commitsOf(page);
    const typed = await during(page, async () => {
      await page.keyboard.type(letters);
      await page.locator(".preview").getByText(letters.trim()).waitFor();
    });
    const commits = (await commitsOf(page)) - before;
    expect(typed.paths.length).toBeLessThan(letters.length);
    expect(commits).toBeLessThan(2 * letters.length);
    tell(`${letters.length} letters typed: ${told(typed)}, ${commits} commits of React`);
  });

  test("O18: a run of 2,000 tasks keeps few of them in the document, and React rests while it is dragged", async () => {
    const { root, app } = await newWorkspace();
    const { plainLink } = await serveProcess(root);
    const run = await newRun(app, [planned("0")]);
    const { page, url } = await visit(plainLink, {}, async (context) => {
      await countCommits(context);
      // A plan has at most 500 tasks, so the browser is given a larger run than the server can hold.
      await context.route(`**/api/runs/${run}`, async (route) => {
        const answer = await route.fetch();
        const shown = await answer.json();
        await route.fulfill({ response: answer, json: { ...shown, tasks: manyTasks(shown.tasks[0]) } });
      });
    });
    const began = performance.now();
    await page.goto(`${url}/runs/${run}`);
    await page.locator(".task-node").first().waitFor();
    const opened = performance.now() - began;
    await page.getByText("Live", { exact: true }).waitFor();

    const nodes: number[] = [];
    const commits = await commitsOf(page);
    await page.evaluate(watchFrames);
    for (let drag = 0; drag < 2; drag++) {
      await page.mouse.move(1100, 500);
      await page.mouse.down();
      for (let step = 1; step <= 25; step++) await page.mouse.move(1100 - step * 24, 500 + (step % 5) * 6);
      await page.mouse.up();
      nodes.push(await page.locator(".task-node").count());
    }
    const made = (await commitsOf(page)) - commits;
    const frames = await page.evaluate<number[]>("stopFrames()");
    expect(await page.locator(".task-node[data-number='0']").count()).toBe(1);
    expect(await page.locator(".task-node").first().boundingBox()).not.toBeNull();
    expect(Math.max(...nodes)).toBeLessThan(250);
    expect(await page.evaluate("document.querySelectorAll('*').length")).toBeLessThan(1500);
    expect(made).toBeLessThan(20);
    tell(
      `2,000 tasks: open in ${opened.toFixed(0)} ms; 50 moves of a drag made ${made} commits and ${frames.length} frames, ` +
        `P95 ${frames.sort((a, b) => a - b)[Math.floor(frames.length * 0.95)]?.toFixed(0)} ms; at most ${Math.max(...nodes)} tasks stood in the document`,
    );
  });
});

function writePages(root: string, chapters: number, pages: number): void {
  const name = (number: number) => String(number).padStart(2, "0");
  for (let chapter = 0; chapter < chapters; chapter++) {
    const folder = join(root, "book", `c${name(chapter)}`);
    mkdirSync(folder, { recursive: true });
    for (let page = 0; page < pages; page++)
      writeFileSync(join(folder, `p${name(page)}.md`), `# A page\n\nPage ${page} of chapter ${chapter}.\n`);
  }
}

const manyTasks = (task: object) =>
  Array.from({ length: 2000 }, (_, at) => ({
    ...task,
    ...{ id: `t${at}`, number: at === 0 ? "0" : `1.${at}`, title: `Do ${at}` },
    depends_on: at === 0 ? [] : at <= 40 ? ["0"] : [`1.${at - 40}`, `1.${at - 39}`],
  }));

const tell = (what: string) => process.stderr.write(`${what}\n`);

type Work = { paths: string[]; bytes: number; ms: number };
const told = ({ paths, bytes, ms }: Work) =>
  `${paths.length} requests, ${(bytes / 1000).toFixed(1)} kB, ${ms.toFixed(0)} ms`;

/** What the page asks the server for while something is done, as the browser's own record has it. */
async function during(page: Page, act: () => Promise<void>): Promise<Work> {
  await page.evaluate("performance.clearResourceTimings()");
  const began = performance.now();
  await act();
  const ms = performance.now() - began;
  const asked = await page.evaluate<[path: string, bytes: number][]>(
    "performance.getEntriesByType('resource').map((one) => [new URL(one.name).pathname, one.encodedBodySize])",
  );
  const calls = asked.filter(([path]) => path.startsWith("/api/"));
  return { paths: calls.map(([path]) => path), bytes: calls.reduce((sum, [, bytes]) => sum + bytes, 0), ms };
}

// React tells its developer tools of each commit, also in the build that people get.
const countCommits = async (context: BrowserContext): Promise<void> => {
  await context.addInitScript(`window.commits = 0;
    window.__REACT_DEVTOOLS_GLOBAL_HOOK__ = {
      supportsFiber: true, inject: () => 1, onCommitFiberUnmount() {}, onPostCommitFiberRoot() {},
      onCommitFiberRoot() { window.commits++; },
    };`);
};
const commitsOf = (page: Page) => page.evaluate<number>("window.commits");

const watchFrames = `(() => {
  const at = [];
  let next = requestAnimationFrame(function look(now) { at.push(now); next = requestAnimationFrame(look); });
  window.stopFrames = () => (cancelAnimationFrame(next), at.slice(1).map((now, index) => now - at[index]));
})()`;
