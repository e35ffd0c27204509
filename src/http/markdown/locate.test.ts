import { expect, test } from "vitest";
import { renderMarkdown } from "../markdown.ts";

const stamps = (text: string, stampFrom = 0) => {
  const html = renderMarkdown(text, { linkTo: (id) => `/entries/${id}`, stampFrom });
  return [...html.matchAll(/<span data-s="(\d+)"(?: data-e="(\d+)")?>([^<]*)</g)].map(([, from, to, shown = ""]) => {
    const start = Number(from) - stampFrom;
    return [shown, text.slice(start, to ? Number(to) - stampFrom : start + shown.length)];
  });
};

test.each([
  ["# A *bold* move", ["A ", "bold", " move"]],
  ["a [link](https://example.test) here", ["a ", "link", " here"]],
  ["see [[vision|the goal]] now", ["see ", "the goal", " now"]],
  ["> quoted once\n> and twice", ["quoted once\n", "and twice"]],
  ["use `code` well", ["use ", "code", " well"]],
  ["an \\*escape", ["an ", "*escape"]],
  ["- one\n  - two", ["one", "two"]],
  ["| a | b |\n|---|---|\n| c | d |", ["a", "b", "c", "d"]],
  ["```js\nlet a;\nlet b;\n```", ["let a;\nlet b;\n"]],
  ["> ```\n> in a quote\n> twice\n> ```", ["in a quote\n", "twice\n"]],
])("rendered text is stamped with where it stands in the source: %s", (text, shown) => {
  const found = stamps(text);
  expect(found.map(([text]) => text)).toEqual(shown);
  for (const [rendered, written] of found) expect(written).toBe(rendered);
});

test("what reads otherwise in the source is located as a whole", () => {
  expect(stamps("a &copy; b").map(([, written]) => written)).toEqual(["a ", "&copy;", " b"]);
  const html = renderMarkdown("pay\u202eee", { linkTo: () => undefined, stampFrom: 0 });
  expect(html).toContain('<span data-s="3" data-e="4"><span class="hidden-char"');
  expect(html).toContain('<span data-s="4">ee</span>');
});

test("stamps count from where the body begins in its file", () => {
  expect(renderMarkdown("word", { linkTo: () => undefined, stampFrom: 40 })).toBe(
    '<p><span data-s="40">word</span></p>',
  );
});

test("stamps count the carriage returns that a person's editor wrote", () => {
  const text = "one\r\n\r\ntwo\r\nthree *four*\r\n";
  const html = renderMarkdown(text, { linkTo: () => undefined, stampFrom: 0 });
  const four = /<em><span data-s="(\d+)">/.exec(html)?.[1];
  expect(text.slice(Number(four), Number(four) + 4)).toBe("four");
});
