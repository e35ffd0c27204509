/**
 * Markdown that nobody vouches for, made into HTML that cannot harm the reader.
 *
 *   text ──cut──▶ ──scan──▶ parse ──measure──▶ dress ──▶ sanitise ──▶ html
 *                   │                 │          │
 *                   └── too tangled ──┴── too big┴── too slow ──▶ the text itself, in a <pre>
 *
 * The scan turns away what is known to be costly before it costs anything. The parser has other
 * quadratic corners, and new ones will be found, so the work also runs under a time limit that
 * holds whatever the input. The sanitiser comes last: it alone decides which tags and attributes
 * leave this file.
 */
import { runInNewContext } from "node:vm";
import rehypeSanitize, { defaultSchema } from "rehype-sanitize";
import rehypeSlug from "rehype-slug";
import rehypeStringify from "rehype-stringify";
import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import remarkRehype from "remark-rehype";
import { unified } from "unified";

type MarkdownOptions = {
  /** The address of the entry a wiki link names, or undefined when there is no such entry. */
  linkTo(id: string): string | undefined;
};

type Root = ReturnType<ReturnType<typeof rehypeSanitize>>;
type Node = Root["children"][number];
type Element = Extract<Node, { type: "element" }>;
type Properties = Element["properties"];
type MarkdownRoot = ReturnType<typeof reader.parse>;
type MarkdownNode = MarkdownRoot | MarkdownRoot["children"][number];

const limits = {
  bytes: 1024 * 1024,
  lines: 50_000,
  containers: 50,
  openBrackets: 200,
  emphasisMarks: 4_000,
  tableCells: 100_000,
  footnoteCalls: 5_000,
  referencedBytes: 1024 * 1024,
  htmlLength: 16 * 1024 * 1024,
  milliseconds: 2_000,
};

const idPrefix = "user-content-";

const reader = unified().use(remarkParse).use(remarkGfm).freeze();
const toHtmlTree = unified()
  .use(remarkRehype, { clobberPrefix: "", handlers: { html: showRawHtml } })
  .freeze();
const cleaner = unified()
  .use(rehypeSlug)
  .use(rehypeSanitize, {
    strip: ["script"],
    clobber: defaultSchema.clobber,
    clobberPrefix: idPrefix,
    ancestors: defaultSchema.ancestors,
    protocols: { href: ["http", "https", "mailto"] },
    required: { input: { disabled: true, type: "checkbox" } },
    tagNames: [
      ...["h1", "h2", "h3", "h4", "h5", "h6", "p", "blockquote", "pre", "hr", "ul", "ol", "li", "div", "section"],
      ...["table", "thead", "tbody", "tr", "th", "td"],
      ...["a", "br", "code", "del", "em", "input", "span", "strong", "sup"],
    ],
    attributes: {
      a: [
        "href",
        "ariaLabel",
        "ariaDescribedBy",
        "dataFootnoteRef",
        "dataFootnoteBackref",
        ["className", "data-footnote-backref", "wiki-link", "image-link"],
        ["rel", "noopener", "noreferrer", "nofollow"],
      ],
      code: [["className", "raw-html", /^language-[\w+#.-]{1,40}$/]],
      div: [["className", "table-scroll"]],
      h2: [["className", "sr-only"]],
      input: ["checked", "ariaLabel", ["disabled", true], ["type", "checkbox"]],
      li: [["className", "task-list-item"]],
      ol: ["start", ["className", "contains-task-list"]],
      p: [["className", "note"]],
      pre: [["className", "raw-html", "plain-text"]],
      section: ["dataFootnotes", ["className", "footnotes"]],
      span: [["className", "hidden-char", "image-note", "missing-link", "refused-link"]],
      td: ["align"],
      th: ["align"],
      ul: [["className", "contains-task-list"]],
      "*": ["id", "title"],
    },
  })
  .freeze();
const writer = unified().use(rehypeStringify).freeze();

/** Safe HTML for any text: never a script, never a remote load, never unbounded work. */
export function renderMarkdown(text: string, options: MarkdownOptions): string {
  const { kept, note } = cut(text.replaceAll("\r\n", "\n").replaceAll("\r", "\n"));
  const trouble = tangled(kept);
  const rendered = trouble ? { trouble } : withinTime(() => render(kept, options));
  return note + ("html" in rendered ? rendered.html : plainText(kept, rendered.trouble));
}

/** The text in pieces, hidden characters apart and spelled out by code point: `U+202E U+200B`. */
export function splitHidden(text: string): { text: string; hidden: boolean }[] {
  const pieces: { text: string; hidden: boolean }[] = [];
  let start = 0;
  let codes: string[] = [];
  const endHidden = () => {
    if (codes.length > 0) pieces.push({ text: codes.join(" "), hidden: true });
    codes = [];
  };

  for (let at = 0; at < text.length; ) {
    const code = text.codePointAt(at) ?? 0;
    const width = code > 0xffff ? 2 : 1;
    if (isHidden(code)) {
      if (start < at) {
        endHidden();
        pieces.push({ text: text.slice(start, at), hidden: false });
      }
      codes.push(codeName(code));
      start = at + width;
    }
    at += width;
  }
  endHidden();
  if (start < text.length) pieces.push({ text: text.slice(start), hidden: false });
  return pieces;
}

type Rendered = { html: string } | { trouble: string };

function render(text: string, options: MarkdownOptions): Rendered {
  const markdown = reader.parse(text);
  const trouble = oversized(markdown);
  if (trouble) return { trouble };

  const tree = toHtmlTree.runSync(markdown);
  dress(tree, { linkTo: options.linkTo, inLink: false, inCode: false });
  const html = writer.stringify(cleaner.runSync(tree));
  return html.length > limits.htmlLength ? { trouble: "it would make a page too large to show" } : { html };
}

function cut(text: string): { kept: string; note: string } {
  // A UTF-16 unit takes at least one byte, so the first slice keeps a huge text from being copied whole.
  const bytes = Buffer.from(text.slice(0, limits.bytes + 1));
  if (bytes.length <= limits.bytes) return { kept: text, note: "" };

  // In stream mode the decoder holds back a character that the cut has split.
  const kept = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(0, limits.bytes), {
    stream: true,
  });
  return { kept, note: noteHtml("Only the first 1 MiB of this text is shown.") };
}

// V8 itself ends the work when the time is over, also in the middle of a regular expression. Without
// this one page of a few kilobytes, such as `[a](` repeated, would hold the whole server for minutes.
function withinTime(work: () => Rendered): Rendered {
  try {
    return runInNewContext("work()", { work }, { timeout: limits.milliseconds }) as Rendered;
  } catch (error) {
    // The time limit's error comes from the other context, where `Error` is another class.
    if ((error as { code?: unknown }).code === "ERR_SCRIPT_EXECUTION_TIMEOUT") {
      return { trouble: "it takes too long to lay out" };
    }
    if (error instanceof RangeError) return { trouble: "it is nested too deeply" };
    throw error;
  }
}

/** One pass over the characters: what the parser would choke on, or undefined. */
function tangled(text: string): string | undefined {
  let lines = 0;
  let fence = "";
  let brackets = 0;
  let marks = 0;

  for (let start = 0; start <= text.length; ) {
    const newline = text.indexOf("\n", start);
    const end = newline < 0 ? text.length : newline;
    if (++lines > limits.lines) return "it has too many lines";

    const prefix = containersAt(text, start, end);
    const opener = text.startsWith("```", prefix.end) ? "```" : text.startsWith("~~~", prefix.end) ? "~~~" : "";
    if (opener && (fence === "" || fence === opener)) fence = fence === "" ? opener : "";
    else if (fence === "") {
      if (prefix.depth > limits.containers) return "it is nested too deeply";

      const newBlock = prefix.end === end || prefix.depth > 0 || text[prefix.end] === "|";
      if (newBlock) brackets = marks = 0;
      for (let at = prefix.end; at < end; at++) {
        const char = text[at];
        if (char === "[") brackets++;
        else if (char === "]") brackets = Math.max(0, brackets - 1);
        else if ((char === "*" || char === "_" || char === "~") && char !== text[at - 1]) marks++;
        if (brackets > limits.openBrackets) return "it has too many brackets inside each other";
        if (marks > limits.emphasisMarks) return "it has too many emphasis marks in one paragraph";
      }
    }
    start = end + 1;
  }
  return undefined;
}

/** How many quotes and lists a line opens or continues, and where its own content begins. */
function containersAt(text: string, start: number, end: number): { depth: number; end: number } {
  let at = start;
  let depth = 0;
  let indent = 0;
  for (; at < end; at++) {
    const char = text[at];
    if (char === " ") indent++;
    else if (char === "\t") indent += 4;
    else if (char === ">") depth++;
    else {
      const marker = listMarkerLength(text, at, end);
      if (marker === 0) break;
      depth += 1 + Math.floor(indent / 2);
      indent = 0;
      at += marker - 1;
    }
    if (depth > limits.containers) break;
  }
  return { depth, end: at };
}

function listMarkerLength(text: string, at: number, end: number): number {
  let mark = at;
  while (mark < end && mark - at < 9 && isDigit(text.charCodeAt(mark))) mark++;
  const char = text[mark];
  const isMarker = mark > at ? char === "." || char === ")" : char === "-" || char === "+" || char === "*";
  if (!isMarker || mark >= end) return 0;
  const next = text[mark + 1];
  return mark + 1 >= end || next === " " || next === "\t" || next === "\r" ? mark + 1 - at : 0;
}

/** Small texts can ask for large pages: wide tables are padded, and a definition is copied to each use. */
function oversized(root: MarkdownRoot): string | undefined {
  const definitions = new Map<string, number>();
  const uses: string[] = [];
  let cells = 0;
  let calls = 0;

  const pending: MarkdownNode[] = [root];
  for (let node = pending.pop(); node; node = pending.pop()) {
    if (node.type === "table") cells += node.children.length * (node.align?.length ?? 1);
    else if (node.type === "footnoteReference") calls++;
    else if (node.type === "linkReference" || node.type === "imageReference") uses.push(node.identifier);
    else if (node.type === "definition" && !definitions.has(node.identifier)) {
      definitions.set(node.identifier, node.url.length + (node.title?.length ?? 0));
    }
    if ("children" in node) for (const child of node.children) pending.push(child);
  }

  const referenced = uses.reduce((sum, identifier) => sum + (definitions.get(identifier) ?? 0), 0);
  if (cells > limits.tableCells) return "its tables have too many cells";
  if (calls > limits.footnoteCalls) return "it has too many footnotes";
  if (referenced > limits.referencedBytes) return "its link definitions are used too often";
  return undefined;
}

type Setting = { linkTo: MarkdownOptions["linkTo"]; inLink: boolean; inCode: boolean };

function dress(parent: Root | Element, setting: Setting): void {
  parent.children = parent.children.flatMap((child) => dressed(child, parent, setting)) as Element["children"];
}

function dressed(node: Node, parent: Root | Element, setting: Setting): Node[] {
  if (node.type === "text") {
    return setting.inLink || setting.inCode ? revealed(node.value) : withWikiLinks(node.value, setting.linkTo);
  }
  if (node.type !== "element") return [];

  const { tagName, properties } = node;
  if (typeof properties.title === "string") properties.title = revealedInline(properties.title);
  if (tagName === "img") return imageLink(properties, setting.inLink);
  if (tagName === "input") return [element("input", { ...properties, ariaLabel: taskLabel(parent) })];

  dress(node, {
    linkTo: setting.linkTo,
    inLink: setting.inLink || tagName === "a",
    inCode: setting.inCode || tagName === "code" || tagName === "pre",
  });
  if (tagName === "a") return [link(node)];
  if (tagName === "table") return [element("div", { className: ["table-scroll"] }, [node])];
  return [node];
}

function link(node: Element): Element {
  const target = destination(String(node.properties.href ?? ""));
  if (!target) return element("span", { className: ["refused-link"], title: "link not allowed" }, node.children);
  return { ...node, properties: { ...node.properties, ...target } };
}

// No image is ever loaded: its address alone can carry a page's secrets to whoever serves it.
function imageLink(properties: Properties, inLink: boolean): Node[] {
  const label = revealed(String(properties.alt || "image"));
  const target = inLink ? undefined : destination(String(properties.src ?? ""));
  const note = element("span", { className: ["image-note"] }, [{ type: "text", value: "(image not loaded)" }]);
  const shown = target ? [element("a", { className: ["image-link"], ...target }, label)] : label;
  return [...shown, { type: "text", value: " " }, note];
}

const here = "http://scriptorium.invalid";
const allowedSchemes = new Set(["http:", "https:", "mailto:"]);

function destination(href: string): { href: string; rel?: string[] } | undefined {
  if (href.startsWith("#")) return { href: `#${idPrefix}${href.slice(1)}` };
  if (!URL.canParse(href, `${here}/entries/`)) return undefined;

  // Read as a browser reads it: `//host` and `/\host` lead outside too.
  const url = new URL(href, `${here}/entries/`);
  if (!allowedSchemes.has(url.protocol)) return undefined;
  return url.origin === here ? { href } : { href, rel: ["noopener", "noreferrer", "nofollow"] };
}

function withWikiLinks(text: string, linkTo: MarkdownOptions["linkTo"]): Node[] {
  const nodes: Node[] = [];
  let from = 0;
  let plainFrom = 0;
  for (let close = text.indexOf("]]"); close >= 0; close = text.indexOf("]]", from)) {
    const open = text.slice(from, close).lastIndexOf("[[");
    const found = open < 0 ? undefined : wikiLink(text.slice(from + open + 2, close), linkTo);
    if (found) {
      nodes.push(...revealed(text.slice(plainFrom, from + open)), found);
      plainFrom = close + 2;
    }
    from = close + 2;
  }
  return [...nodes, ...revealed(text.slice(plainFrom))];
}

function wikiLink(inner: string, linkTo: MarkdownOptions["linkTo"]): Element | undefined {
  if (inner.length > 400 || inner.includes("\n")) return undefined;
  const bar = inner.indexOf("|");
  const id = trimSpaces(bar < 0 ? inner : inner.slice(0, bar));
  const label = (bar >= 0 && trimSpaces(inner.slice(bar + 1))) || id;
  if (id === "") return undefined;

  const href = linkTo(id);
  const target = href === undefined ? undefined : destination(href);
  return target
    ? element("a", { className: ["wiki-link"], ...target }, revealed(label))
    : element("span", { className: ["missing-link"], title: "no such entry" }, revealed(label));
}

// `trim()` would also take a byte order mark away, which is to be shown.
function trimSpaces(text: string): string {
  return text.replace(/^[ \t]+/, "").replace(/[ \t]+$/, "");
}

function showRawHtml(_state: unknown, node: { value: string }, parent: { type: string } | undefined): Element {
  const code = element("code", { className: ["raw-html"] }, [{ type: "text", value: node.value }]);
  const standsAlone = ["root", "blockquote", "listItem", "footnoteDefinition"].includes(parent?.type ?? "root");
  return standsAlone ? element("pre", { className: ["raw-html"] }, [code]) : code;
}

function taskLabel(item: Root | Element): string {
  const label = revealedInline(textOf(item, 80)).trim();
  return label === "" ? "task" : `task: ${label}`;
}

function textOf(node: Root | Node, most: number): string {
  if (node.type === "text") return node.value.slice(0, most);
  let text = "";
  if ("children" in node) {
    for (const child of node.children) {
      if (text.length >= most) break;
      text += textOf(child, most - text.length);
    }
  }
  return text;
}

function revealed(text: string): Node[] {
  return splitHidden(text).map((piece) => {
    const value = { type: "text" as const, value: piece.text };
    return piece.hidden ? element("span", { className: ["hidden-char"], title: "hidden character" }, [value]) : value;
  });
}

function revealedInline(text: string): string {
  return splitHidden(text)
    .map((piece) => (piece.hidden ? `[${piece.text}]` : piece.text))
    .join("");
}

const hiddenRanges: [number, number][] = [
  [0x00, 0x08], // controls but tab and newlines
  [0x0b, 0x0c],
  [0x0e, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad], // soft hyphen
  [0x061c, 0x061c], // Arabic letter mark
  [0x180e, 0x180e],
  [0x200b, 0x200f], // zero-width characters and direction marks
  [0x2028, 0x202e], // line separators, bidi embeddings and overrides
  [0x2060, 0x206f], // word joiner, invisible operators, bidi isolates
  [0xfeff, 0xfeff],
  [0xfff9, 0xfffb],
  [0xe0000, 0xe0fff], // tags and the further variation selectors, which can spell out whole texts
];

function isHidden(code: number): boolean {
  if (code >= 0x20 && code < 0x7f) return false;
  return hiddenRanges.some(([first, last]) => code >= first && code <= last);
}

function codeName(code: number): string {
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function plainText(text: string, trouble: string): string {
  const tree: Root = {
    type: "root",
    children: [element("pre", { className: ["plain-text"] }, revealed(text))],
  };
  return noteHtml(`This text is shown without layout, because ${trouble}.`) + writer.stringify(tree);
}

function noteHtml(text: string): string {
  return `<p class="note">${text}</p>\n`;
}

function element(tagName: string, properties: Properties, children: Node[] = []): Element {
  return { type: "element", tagName, properties, children: children as Element["children"] };
}
