import { expect, test } from "vitest";
import { moveLinks } from "./move-links.ts";

const move = { from: "docs/deploy.md", to: "guides/ops/deploy.md" };
const inPage = (text: string, path = "docs/plan.md") => moveLinks(text, path, move)?.text;

test.each([
  ["[d](deploy.md)", "[d](../guides/ops/deploy.md)"],
  ["[d](./deploy.md#now 'Title')", "[d](../guides/ops/deploy.md#now 'Title')"],
  ["[d](<deploy.md>)", "[d](<../guides/ops/deploy.md>)"],
  [
    '[d]: deploy.md "T"\n\n[d] and [[page:docs/deploy.md|here]]',
    '[d]: ../guides/ops/deploy.md "T"\n\n[d] and [[page:guides/ops/deploy.md|here]]',
  ],
  ["[d](/docs/deploy.md?a=b)", "[d](/guides/ops/deploy.md?a=b)"],
  ["[d](%64eploy.md)", "[d](../guides/ops/deploy.md)"],
  ['<a href="deploy.md#x">d</a>', '<a href="../guides/ops/deploy.md#x">d</a>'],
  ["| a | [d](deploy.md) |\r\n\r\n[o](other.md)\r\n", "| a | [d](../guides/ops/deploy.md) |\r\n\r\n[o](other.md)\r\n"],
  ["```md\n[d](deploy.md)\n```\n", "```md\n[d](deploy.md)\n```\n"],
  [
    "[d](https://example.org/docs/deploy.md) [e](deploy.md.bak)",
    "[d](https://example.org/docs/deploy.md) [e](deploy.md.bak)",
  ],
])("U11: links to a moved page are rewritten and nothing else: %j", (before, after) => {
  expect(inPage(before)).toBe(after);
});

test("U11: relative links and images of the moved page lead to the same files from its new folder", () => {
  const text =
    "[p](plan.md#x) ![i](img/a.png) [self](deploy.md#top) [up](../README.md) [f](img/) [w](https://a.b) [#](#x)\n";
  expect(moveLinks(text, move.from, move)).toEqual({
    text: "[p](../../docs/plan.md#x) ![i](../../docs/img/a.png) [self](deploy.md#top) [up](../../README.md) [f](../../docs/img/) [w](https://a.b) [#](#x)\n",
    links: 4,
  });
});

test("U11: names that markdown would misread are percent-encoded", () => {
  const to = "a b/über (1).md";
  expect(moveLinks("[d](deploy.md)", "docs/plan.md", { from: move.from, to })?.text).toBe(
    "[d](../a%20b/%C3%BCber%20%281%29.md)",
  );
  expect(moveLinks("[d](deploy.md)", "docs/plan.md", { from: move.from, to: "ü.md" })?.text).toBe("[d](../ü.md)");
});

test("U11: a link in an unusual form is reported instead of left behind unseen", () => {
  expect(moveLinks("[d](deploy.md\\#x)", "docs/plan.md", move)).toBeUndefined();
  expect(inPage("[d](de(p)loy.md)")).toBe("[d](de(p)loy.md)");
  expect(moveLinks("[d](a(b).md)", "docs/plan.md", { from: "docs/a(b).md", to: "docs/c.md" })).toBeUndefined();
});
