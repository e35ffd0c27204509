import { expect, test } from "vitest";
import { beginningOf } from "./beginning.ts";

const paragraph = `${"word ".repeat(60)}\n\n`;

test("R20: a long text begins with what ends before a heading, and a short one is whole", () => {
  const text = Array.from({ length: 60 }, (_, at) => `## Part ${at}\n\n${paragraph.repeat(4)}`).join("");
  const found = beginningOf(text) ?? "";
  expect(text.startsWith(found)).toBe(true);
  expect(text.slice(found.length)).toMatch(/^## Part \d+\n/);
  expect(found.length).toBeGreaterThan(8 * 1024);
  expect(found.length).toBeLessThan(24 * 1024);
  expect(beginningOf(text.slice(0, 40_000))).toBeUndefined();
});

test("R20: it is not cut inside a fence, and not at all where there is no place for it", () => {
  const fenced = `${paragraph.repeat(40)}\`\`\`\`md\n\`\`\`\n# no heading\n\n${"code\n\n".repeat(20_000)}`;
  expect(beginningOf(fenced)).toBe(paragraph.repeat(40));
  expect(beginningOf(`\`\`\`\n${"code\n\n".repeat(20_000)}`)).toBeUndefined();
  expect(beginningOf("x".repeat(100_000))).toBeUndefined();
});
