import { spellHidden } from "../../kernel/hidden.ts";
import type { LocatedText } from "./locate.ts";
import { type Element, element, type HtmlNode, type HtmlProperties, idPrefix, type Root, revealed } from "./tree.ts";

/** The URL of the entry that a wiki link names; undefined if it does not exist. */
export type LinkTo = (id: string) => string | undefined;

/** The URL in the web app of a page that a relative link names. */
export type PageTo = (href: string) => string | undefined;

/** The path in the workspace of an image that a relative address names. */
export type ImageTo = (src: string) => string | undefined;

type Setting = {
  linkTo: LinkTo;
  pageTo?: PageTo | undefined;
  imageTo?: ImageTo | undefined;
  inLink: boolean;
  inCode: boolean;
};

/** Turns `[[…]]` into links, replaces images and unsafe links, makes hidden characters visible. */
export function dress(parent: Root | Element, setting: Setting): void {
  parent.children = parent.children.flatMap((child) => dressed(child, parent, setting)) as Element["children"];
}

function dressed(node: HtmlNode, parent: Root | Element, setting: Setting): HtmlNode[] {
  if (node.type === "text") {
    const { place } = (node as LocatedText).data ?? {};
    const isWhole = place !== undefined && place.to - place.from !== node.value.length;
    if (setting.inLink || setting.inCode || isWhole) return revealed(node.value, place);
    return withWikiLinks(node.value, setting.linkTo, place?.from);
  }
  if (node.type !== "element") return [];

  const { tagName, properties } = node;
  if (typeof properties.title === "string") properties.title = spellHidden(properties.title);
  if (tagName === "img") return image(properties, setting);
  if (tagName === "input") return [element("input", { ...properties, ariaLabel: taskLabel(parent) })];

  dress(node, {
    linkTo: setting.linkTo,
    pageTo: setting.pageTo,
    imageTo: setting.imageTo,
    inLink: setting.inLink || tagName === "a",
    inCode: setting.inCode || tagName === "code" || tagName === "pre",
  });
  if (tagName === "a") return [link(node, setting.pageTo)];
  if (tagName === "table") return [element("div", { className: ["table-scroll"] }, [node])];
  return [node];
}

function link(node: Element, pageTo: PageTo | undefined): Element {
  const href = String(node.properties.href ?? "");
  const page = pageTo?.(href);
  // A relative address within the web application leads nowhere: it is a file of the repository.
  if (pageTo && page === undefined && isFile(href))
    return element("span", { className: ["file-link"], title: "file of the repository" }, node.children);
  const target = destination(page ?? href);
  if (!target) return element("span", { className: ["refused-link"], title: "link not allowed" }, node.children);
  return { ...node, properties: { ...node.properties, ...target } };
}

const isFile = (href: string) => !/^([#/\\]|[a-z][a-z\d+.-]*:)/i.test(href) && href !== "" && URL.canParse(href, here);

/** An image of the workspace has no address here; the web application asks for it when it comes into sight. */
function image(properties: HtmlProperties, { imageTo, inLink }: Setting): HtmlNode[] {
  const path = imageTo?.(String(properties.src ?? ""));
  if (path === undefined || spellHidden(path) !== path) return imageLink(properties, inLink);
  return [element("img", { alt: spellHidden(String(properties.alt ?? "")), dataImage: path })];
}

// Images are not loaded: a URL can leak the page's content to the server it names.
function imageLink(properties: HtmlProperties, inLink: boolean): HtmlNode[] {
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

  // Resolve as a browser does: `//host` and `/\host` are external too.
  const url = new URL(href, `${here}/entries/`);
  if (!allowedSchemes.has(url.protocol)) return undefined;
  return url.origin === here ? { href } : { href, rel: ["noopener", "noreferrer", "nofollow"] };
}

function withWikiLinks(text: string, linkTo: LinkTo, start?: number): HtmlNode[] {
  const piece = (from: number, to: number) =>
    revealed(text.slice(from, to), start === undefined ? undefined : { from: start + from, to: start + to });
  const nodes: HtmlNode[] = [];
  let from = 0;
  let plainFrom = 0;
  for (let close = text.indexOf("]]"); close >= 0; close = text.indexOf("]]", from)) {
    const open = text.slice(from, close).lastIndexOf("[[");
    const inside = from + open + 2;
    const found =
      open < 0
        ? undefined
        : wikiLink(text.slice(inside, close), linkTo, start === undefined ? undefined : start + inside);
    if (found) {
      nodes.push(...piece(plainFrom, from + open), found);
      plainFrom = close + 2;
    }
    from = close + 2;
  }
  return [...nodes, ...piece(plainFrom, text.length)];
}

function wikiLink(inner: string, linkTo: LinkTo, start?: number): Element | undefined {
  if (inner.length > 400 || inner.includes("\n")) return undefined;
  const bar = inner.indexOf("|");
  const id = trimSpaces(bar < 0 ? inner : inner.slice(0, bar));
  const label = (bar >= 0 && trimSpaces(inner.slice(bar + 1))) || id;
  if (id === "") return undefined;

  const target = entryTarget(id, linkTo);
  const at = start === undefined ? undefined : start + inner.indexOf(label, bar < 0 ? 0 : bar + 1);
  const shown = revealed(label, at === undefined ? undefined : { from: at, to: at + label.length });
  return target
    ? element("a", { className: ["wiki-link"], ...target }, shown)
    : element("span", { className: ["missing-link"], title: "this entry does not exist" }, shown);
}

/** Also resolves `vision#Some heading` and `entry:vision`. */
function entryTarget(name: string, linkTo: LinkTo) {
  const hash = name.indexOf("#");
  const id = trimSpaces(hash < 0 ? name : name.slice(0, hash)).replace(/^entry:/, "");
  const href = linkTo(id);
  if (href === undefined) return undefined;
  const heading = hash < 0 ? "" : headingId(name.slice(hash + 1));
  return destination(heading === "" ? href : `${href}#${idPrefix}${heading}`);
}

/** The id that rehype-slug gives a heading. */
const headingId = (heading: string) =>
  encodeURIComponent(
    trimSpaces(heading)
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );

// Not `trim()`, which would also remove a byte order mark; hidden characters are shown.
function trimSpaces(text: string): string {
  return text.replace(/^[ \t]+/, "").replace(/(?<![ \t])[ \t]+$/, "");
}

function taskLabel(item: Root | Element): string {
  const label = spellHidden(textOf(item, 80)).trim();
  return label === "" ? "task" : `task: ${label}`;
}

function textOf(node: Root | HtmlNode, most: number): string {
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
