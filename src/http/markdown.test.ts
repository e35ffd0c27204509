import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hostileMarkdown } from "../../test/support/hostile-markdown.ts";
import { draws, thorough } from "../../test/support/thorough.ts";
import { splitHidden } from "../kernel/hidden.ts";
import { renderMarkdown } from "./markdown.ts";

const known: Record<string, string> = { vision: "/entries/vision", "api/errors": "/entries/api%2Ferrors" };
const render = (text: string) => renderMarkdown(text, { linkTo: (id) => known[id] });

describe("T15: hostile markdown", () => {
  test(`T15: none of ${hostileMarkdown.length} hostile texts yields a tag, attribute or address outside the allowlist`, () => {
    expect(hostileMarkdown.length).toBeGreaterThanOrEqual(300);
    const ways = [render, (text: string) => renderMarkdown(text, { linkTo: (id) => known[id], stampFrom: 0 })];
    const faults = hostileMarkdown.flatMap((text, n) =>
      ways
        .filter((_way, which) => thorough || n % ways.length === which)
        .flatMap((way) => faultsIn(way(text)))
        .map((fault) => `${fault} ← ${text}`),
    );
    expect(faults).toEqual([]);
  });

  test("T15: the check used here finds what it should", () => {
    const bad = `<p onclick="x">a</p><img src="x"><a href="javascript:x">b</a><a href='x'>c</a><p title="<">d`;
    expect(faultsIn(bad)).toEqual([
      "attribute p.onclick",
      "tag img",
      "attribute img.src",
      "address javascript:x",
      "malformed at <a href='x'>c</a><p ",
      "misplaced end of a",
      "attribute p.title",
      "unclosed p",
    ]);
  });

  test.each([
    ["a word <b>bold</b>", '<code class="raw-html">&#x3C;b></code>'],
    ["<div>block</div>", '<pre class="raw-html"><code class="raw-html">&#x3C;div>block&#x3C;/div></code></pre>'],
    ["<!-- hidden order -->", "&#x3C;!-- hidden order -->"],
  ])("T15: raw HTML is shown as text: %s", (text, shown) => {
    expect(render(text)).toContain(shown);
  });

  test.each([
    ["[a](javascript:alert(1))", '<span class="refused-link" title="link not allowed">a</span>'],
    ["[a](data:text/html,x)", '<span class="refused-link" title="link not allowed">a</span>'],
    ["[a](https://example.test)", '<a href="https://example.test" rel="noopener noreferrer nofollow">a</a>'],
    ["[a](//example.test)", '<a href="//example.test" rel="noopener noreferrer nofollow">a</a>'],
    ["[a](mailto:ada@example.test)", 'href="mailto:ada@example.test"'],
    ["[a](../vision)", '<a href="../vision">a</a>'],
  ])("T15: a link keeps its address only when the scheme is allowed: %s", (text, shown) => {
    expect(render(text)).toContain(shown);
  });

  test("T15: ids made from headings are prefixed, and links to them still arrive", () => {
    const html = render("# Main\n\n[up](#main) and a note[^1]\n\n[^1]: here");
    expect(html).toContain('<h1 id="user-content-main">');
    expect(html).toContain('<a href="#user-content-main">up</a>');
    const ids = new Set([...html.matchAll(/ id="([^"]*)"/g)].map((match) => `#${match[1]}`));
    const fragments = [...html.matchAll(/ href="(#[^"]*)"/g)].map((match) => match[1] ?? "");
    expect(fragments.length).toBe(3);
    expect(fragments.filter((fragment) => !ids.has(fragment))).toEqual([]);
  });

  test("T15: no string makes the renderer throw or leave the allowlist", () => {
    const pieces = fc.constantFrom(
      ...[
        "<",
        ">",
        "[",
        "]",
        "(",
        ")",
        "!",
        "`",
        "*",
        "_",
        "|",
        "\n",
        "\n\n",
        "- ",
        "> ",
        "# ",
        "&",
        ";",
        ":",
        '"',
        "'",
      ],
      ...["[[", "]]", "[^1]", "[^1]: ", "[a]: ", "<script", "javascript:", "http://", "www.", "@a.b", "\u202e", "\0"],
      ...["---|---\n", "\t", "```", "~~", "\\", "&#x202e;", "- [x] ", "<!--", "-->", "\u{e0041}", "\ud800", "a"],
    );
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(pieces, { maxLength: 40 }).map((all) => all.join("")),
    );
    fc.assert(
      fc.property(text, (input) => {
        const html = render(input);
        expect(faultsIn(html)).toEqual([]);
        expect(splitHidden(html).filter((piece) => piece.hidden)).toEqual([]);
      }),
      draws(150, 500),
    );
  });
});

describe("T16: images and links", () => {
  test.each([
    ["![chart](https://example.test/a.png)", "https://example.test/a.png", "chart"],
    ["![chart](img/a.png)", "img/a.png", "chart"],
    ["![](https://example.test/a.png)", "https://example.test/a.png", "image"],
  ])("T16: an image becomes a link with a note that it was not loaded: %s", (text, href, label) => {
    const html = render(text);
    expect(html).not.toContain("<img");
    expect(html).toContain(`href="${href}"`);
    expect(html).toContain(`>${label}</a> <span class="image-note">(image not loaded)</span>`);
  });

  test("U11, T16: an image of the workspace has no address that the browser would load", () => {
    const html = renderMarkdown("![a \u202e](img/a.png) [![b](img/b.png)](https://c.test)", {
      linkTo: () => undefined,
      imageTo: (src) => `docs/${src}`,
    });
    expect(html).toContain('data-image="docs/img/a.png"');
    expect(html).toContain('data-image="docs/img/b.png"');
    expect(html).not.toContain("src=");
    expect(html).not.toContain("\u202e");
  });

  test("U11: one line of $$ is a formula of its own, and one inside a sentence is not", () => {
    expect(render("$$a^2$$")).toContain('display="block"');
    expect(render("> $$a^2$$")).toContain('display="block"');
    for (const inline of ["so $$a^2$$ it is", "$a^2$"]) expect(render(inline)).not.toContain('display="block"');
  });

  test("T16: an image inside a link leaves one link", () => {
    const html = render("[![badge](https://a.test/b.svg)](https://c.test)");
    expect(html.match(/<a /g)).toHaveLength(1);
    expect(html).toContain("badge");
  });
});

describe("T23: markdown bombs", () => {
  const bombs: [string, string][] = [
    ["10 MB of quotes", ">".repeat(10_000_000)],
    ["100,000 opening brackets", "[".repeat(100_000)],
    ["100,000 nested brackets", "[".repeat(50_000) + "]".repeat(50_000)],
    ["50,000 stars", "*".repeat(50_000)],
    ["50,000 open emphases", "*a **a ".repeat(25_000)],
    ["lists inside lists on one line", "- ".repeat(100_000)],
    ["numbered lists inside lists", "1. ".repeat(100_000)],
    [
      "lists inside lists by indentation",
      Array.from({ length: 1_000 }, (_, depth) => `${"  ".repeat(depth)}- a`).join("\n"),
    ],
    ["a million empty lines", "\n".repeat(1_000_000)],
    ["a million lines that end as on an old Mac", "a\r".repeat(500_000)],
    ["wide table with many rows", `${"|a".repeat(1_000)}\n${"|-".repeat(1_000)}\n${"|\n".repeat(2_000)}`],
    ["long definition used often", `[a]: /${"x".repeat(100_000)}\n\n${"[a] ".repeat(1_000)}`],
    ["footnote called often", `[^a]: x\n\n${"[^a] ".repeat(6_000)}`],
  ];
  test.each(bombs)("T23: %s is shown in bounded time", (_name, text) => {
    const html = render(text);
    expect(html.length).toBeLessThan(16 * 1024 * 1024);
    expect(faultsIn(html.slice(0, 300), { whole: false })).toEqual([]);
  });

  test("T23: a text over 1 MiB is cut between characters, and says so", () => {
    const html = render(`${"é".repeat(600_000)}`);
    expect(html).toContain("Only the first 1 MiB is shown.");
    expect(html.match(/é/g)).toHaveLength(512 * 1024);
    expect(html).not.toContain("\ufffd");
    expect(render("é".repeat(500_000))).not.toContain("1 MiB");
  });

  test("T23: an ordinary long page keeps its layout", () => {
    const log = "- 2026-03-01 engineer: chose `sqlite` over [others](https://example.test), see [[vision]]\n".repeat(
      200,
    );
    const code = `\n\`\`\`\n${"\u001b[31m[ [ [\n".replace("\u001b", "").repeat(300)}\`\`\`\n`;
    expect(render(log + code)).not.toContain('class="note"');
  });
});

describe("T35: hidden characters", () => {
  const hidden = [
    0x202a, 0x202e, 0x2066, 0x2069, 0x200b, 0x200f, 0xfeff, 0xe0000, 0xe0041, 0xe007f, 0x061c, 0x1b, 0x3164, 0x115f,
  ];
  test.each(hidden)("T35: code point %i is made visible, written plainly or as an entity", (code) => {
    const char = String.fromCodePoint(code);
    const name = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
    const hex = code.toString(16);
    for (const text of [
      `pay${char}ee`,
      `\`pay${char}ee\``,
      `[pay${char}ee](/x "a${char}")`,
      `pay&#x${hex};ee`,
      `[[a|b${char}]]`,
    ]) {
      if (code === 0x1b && text.includes("&#x")) continue; // a control character cannot be written as an entity
      const html = render(text);
      expect(html).not.toContain(char);
      expect(html).toContain(`<span class="hidden-char" title="hidden character">${name}</span>`);
    }
  });

  test("T35: hidden characters in a row are named together", () => {
    expect(splitHidden("a\u202e\u200bb\u{e0041}")).toEqual([
      { text: "a", hidden: false },
      { text: "U+202E U+200B", hidden: true },
      { text: "b", hidden: false },
      { text: "U+E0041", hidden: true },
    ]);
  });

  test("T35: a text shown without layout still shows its hidden characters", () => {
    expect(render(`${">".repeat(100)} a\u202eb`)).toContain("U+202E</span>");
  });
});

describe("wiki links and tasks", () => {
  test.each([
    ["see [[vision]].", 'see <a class="wiki-link" href="/entries/vision">vision</a>.'],
    ["[[api/errors|error codes]]", '<a class="wiki-link" href="/entries/api%2Ferrors">error codes</a>'],
    ["[[nowhere]]", '<span class="missing-link" title="this entry does not exist">nowhere</span>'],
    [
      "[[vision#Who it is for]]",
      '<a class="wiki-link" href="/entries/vision#user-content-who-it-is-for">vision#Who it is for</a>',
    ],
    ["[[entry:vision#a|there]]", '<a class="wiki-link" href="/entries/vision#user-content-a">there</a>'],
    ["[[#a]]", '<span class="missing-link" title="this entry does not exist">#a</span>'],
    ["[[[[vision]]]]", '[[<a class="wiki-link" href="/entries/vision">vision</a>]]'],
    ["`[[vision]]`", "<code>[[vision]]</code>"],
    ["[a [[vision]]](/x)", '<a href="/x">a [[vision]]</a>'],
    ["[[]] [[ | ]]", "[[]] [[ | ]]"],
    ["| a |\n|---|\n| [[vision\\|v]] |", '<a class="wiki-link" href="/entries/vision">v</a>'],
  ])("a wiki link leads to its entry where there is one: %s", (text, shown) => {
    expect(render(text)).toContain(shown);
  });

  test("a task's checkbox is labelled with the task", () => {
    const html = render("- [x] write the *index*\n- [ ]\tcheck it");
    expect(html).toContain('aria-label="task: write the index"');
    expect(html).toContain('aria-label="task: check it"');
  });

  test("a table can scroll by itself", () => {
    expect(render("|a|b|\n|:-|-:|\n|c|d|")).toMatch(
      /^<div class="table-scroll"><table>(.|\n)*align="right"(.|\n)*<\/table><\/div>$/,
    );
  });
});

const allowed: Record<string, string[]> = {
  a: [
    "href",
    "rel",
    "class",
    "title",
    "id",
    "aria-label",
    "aria-describedby",
    "data-footnote-ref",
    "data-footnote-backref",
  ],
  ...Object.fromEntries(["h1", "h2", "h3", "h4", "h5", "h6"].map((tag) => [tag, ["id", "class"]])),
  ...Object.fromEntries(["p", "pre", "code", "div", "ul"].map((tag) => [tag, ["class"]])),
  ...Object.fromEntries(["blockquote", "hr", "table", "thead", "tbody", "tr"].map((tag) => [tag, []])),
  ...Object.fromEntries(["br", "del", "em", "strong", "sup"].map((tag) => [tag, []])),
  ol: ["class", "start"],
  li: ["class", "id"],
  section: ["class", "data-footnotes"],
  span: ["class", "title", "data-s", "data-e"],
  ...Object.fromEntries(
    ["semantics", "mrow", "mn", "mtext", "msqrt", "mroot", "mstyle", "msub", "msup", "msubsup"].map((tag) => [tag, []]),
  ),
  ...Object.fromEntries(["munder", "mover", "munderover", "mtable", "mtr", "mpadded"].map((tag) => [tag, []])),
  math: ["display"],
  mi: ["mathvariant"],
  mo: ["stretchy", "fence", "separator"],
  mspace: ["width", "linebreak"],
  mtd: ["columnspan"],
  mfrac: ["linethickness"],
  input: ["type", "checked", "disabled", "aria-label"],
  th: ["align"],
  td: ["align"],
};

/**
 * A strict reading of HTML: double-quoted attributes without angle brackets left open, every tag
 * closed in order. Whatever a browser could read in another way is itself a fault.
 */
function faultsIn(html: string, { whole = true } = {}): string[] {
  const faults: string[] = [];
  const open: string[] = [];
  const tag = /<(\/?)([a-z][a-z0-9]*)((?: [a-z-]+(?:="[^"]*")?)*)>/y;
  for (let at = html.indexOf("<"); at >= 0; at = html.indexOf("<", at)) {
    tag.lastIndex = at;
    const match = tag.exec(html);
    if (!match) {
      if (whole) faults.push(`malformed at ${html.slice(at, at + 20)}`);
      at += 1;
      continue;
    }
    const [text, slash, name = "", attributes = ""] = match;
    at += text.length;
    if (slash) {
      if (open.pop() !== name) faults.push(`misplaced end of ${name}`);
      continue;
    }
    if (!allowed[name]) faults.push(`tag ${name}`);
    if (!["br", "hr", "input", "img"].includes(name)) open.push(name);
    for (const [, attribute = "", value = ""] of attributes.matchAll(/ ([a-z-]+)(?:="([^"]*)")?/g)) {
      if (!allowed[name]?.includes(attribute)) faults.push(`attribute ${name}.${attribute}`);
      else if (attribute === "href" && !isAllowedAddress(value)) faults.push(`address ${value}`);
      else if (attribute === "id" && !value.startsWith("user-content-")) faults.push(`id ${value}`);
    }
  }
  if (whole) faults.push(...open.map((name) => `unclosed ${name}`));
  return faults;
}

function isAllowedAddress(value: string): boolean {
  if (/&(?!#x2[267];)/.test(value)) return false;
  const spelt: Record<string, string> = { 22: '"', 26: "&", 27: "'" };
  const href = value.replace(/&#x(2[267]);/g, (_, hex: string) => spelt[hex] ?? "");
  // What a browser cannot read as an address leads nowhere; it still must not look like another scheme.
  if (!URL.canParse(href, "http://a.test")) return /^https?:\/\//.test(href);
  return /^(https?|mailto):$/.test(new URL(href, "http://a.test").protocol);
}
