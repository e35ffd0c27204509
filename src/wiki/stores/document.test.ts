import fc from "fast-check";
import { expect, test } from "vitest";
import { draws } from "../../../test/support/thorough.ts";
import { countWords, emptyDocument, parseDocument, readFront, withBody } from "./document.ts";

const parse = (text: string) => {
  const document = parseDocument(Buffer.from(text));
  return { ...document, title: undefined, complaint: undefined, ...readFront(document, "vision.md") };
};

test("T21: any body written into any frontmatter is read back as it was", () => {
  const fronts = ["", "title: A\n", "title: 'a # b'\ntags: [x]\n", "# just a comment\n", "broken: [\n"];
  fc.assert(
    fc.property(
      fc.string({ unit: "binary" }),
      fc.constantFrom(...fronts),
      fc.boolean(),
      fc.boolean(),
      (text, front, bom, crlf) => {
        const body = text.replaceAll("\r", "");
        const file = withBody({ ...emptyDocument, front, bom, crlf }, body, "Title");
        const back = parseDocument(file);
        expect(back.body).toBe(body);
        expect(back.front).toBe(front);
      },
    ),
    draws(500, 2000),
  );
});

test("T21: any title survives, whatever is in it", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 1 }), (title) => {
      expect(readFront(parseDocument(withBody(emptyDocument, "text", title)), "x.md").title).toBe(title);
    }),
    draws(500, 2000),
  );
});

test("K13: a file with \\r\\n and a byte order mark reads like any other, and keeps both", () => {
  const document = parse("\ufeff---\r\ntitle: A\r\n---\r\n\r\none\r\ntwo\r\n");
  expect(document).toMatchObject({ bom: true, crlf: true, title: "A", body: "one\ntwo\n" });
  expect(withBody(document, "three\nfour\n", "A").toString()).toBe(
    "\ufeff---\r\ntitle: A\r\n---\r\n\r\nthree\r\nfour\r\n",
  );
});

test("K13: broken frontmatter is kept, reported, and costs no text", () => {
  const broken = parse("---\ntitle: [oops\n---\n\nbody\n");
  expect(broken).toMatchObject({ front: "title: [oops\n", body: "body\n", title: undefined });
  expect(broken.complaint).toMatch(/^vision\.md:\d+:\d+: /);
  const open = parse("---\ntitle: never closed\n\nbody\n");
  expect(open).toMatchObject({ front: undefined, body: "---\ntitle: never closed\n\nbody\n" });
  expect(open.complaint).toContain("no closing ---");
});

test("K13: a file without frontmatter is all body; an empty one is empty", () => {
  expect(parse("# Hello\n")).toMatchObject({ front: undefined, body: "# Hello\n" });
  expect(parse("")).toMatchObject({ front: undefined, body: "" });
  expect(parse("---\ntitle: A\n---\n")).toMatchObject({ title: "A", body: "" });
});

test("T20: frontmatter that is too large is not parsed", () => {
  expect(parse(`---\ntitle: ${"x".repeat(70_000)}\n---\nbody`)).toMatchObject({ title: undefined, body: "body" });
});

test("words are what stands between spaces", () => {
  expect([countWords(""), countWords("  "), countWords("one"), countWords(" a  b\n\nc ")]).toEqual([0, 0, 1, 3]);
});
