import { useNavigate } from "@tanstack/react-router";
import { type RefObject, useEffect, useLayoutEffect, useRef } from "react";
import { enrich } from "./enrich.ts";

type Props = {
  html: string;
  /** The page's title: a first heading that repeats it is left out. */
  title?: string;
  /** One of several texts on the page: its headings are not headings of the page, and its ids start with this. */
  within?: string;
  /** The blob of the text that the positions in the HTML belong to. */
  sourceSha?: string;
  body?: RefObject<HTMLDivElement | null>;
  onReady?: () => void;
};

const manyBlocks = 120;

/**
 * The server's HTML, which it has made safe. It is parsed apart from the document, so that nothing
 * in it loads or runs on the way.
 */
export function Rendered({ html, title, within, sourceSha, body, onReady }: Props) {
  const own = useRef<HTMLDivElement>(null);
  const place = body ?? own;
  const navigate = useNavigate();
  const ready = useRef(onReady);
  ready.current = onReady;
  const isEmpty = html.trim() === "";

  useLayoutEffect(() => {
    if (!place.current) return;
    const parsed = new DOMParser().parseFromString(html, "text/html").body;
    const first = parsed.firstElementChild;
    if (title !== undefined && first?.tagName === "H1" && first.textContent?.trim() === title.trim()) first.remove();
    if (within !== undefined) subordinate(parsed, within);
    else demote(parsed);
    // Each block in its own direction: a page may quote Hebrew in English.
    for (const block of parsed.querySelectorAll<HTMLElement>("p, li, h1, h2, h3, h4, h5, h6, blockquote, th, td"))
      block.dir = "auto";
    // Blocks of a long page are laid out when they come near the window (prose.css).
    place.current.toggleAttribute("data-long", parsed.childElementCount > manyBlocks);
    place.current.replaceChildren(...parsed.childNodes);
    ready.current?.();
  }, [html, title, within, place]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another text brings other blocks
  useEffect(() => {
    const leave = new AbortController();
    if (place.current) enrich(place.current, leave.signal);
    return () => leave.abort();
  }, [html, title, place]);

  // Links within the workspace are followed without loading the application again.
  // biome-ignore lint/correctness/useExhaustiveDependencies: an empty page has no element to listen on
  useEffect(() => {
    const element = place.current;
    const follow = (event: MouseEvent) => {
      const link = (event.target as Element).closest?.("a");
      if (!link || event.defaultPrevented || event.button !== 0) return;
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      if (link.origin !== location.origin || link.getAttribute("href")?.startsWith("#")) return;
      if (!/^\/(entries|pages)\//.test(link.pathname)) return;
      event.preventDefault();
      void navigate({ to: link.pathname + link.search, hash: link.hash.slice(1) });
    };
    element?.addEventListener("click", follow);
    return () => element?.removeEventListener("click", follow);
  }, [navigate, place, isEmpty]);

  return isEmpty ? (
    <p className="empty-text">This page is empty.</p>
  ) : (
    <div className="prose" ref={place} dir="auto" data-source-sha={sourceSha} />
  );
}

/** The page has its title as h1; a top heading of a text is one level below it. */
function demote(root: HTMLElement): void {
  for (const heading of root.querySelectorAll("h1")) {
    const line = document.createElement("h2");
    for (const { name, value } of heading.attributes) line.setAttribute(name, value);
    line.classList.add("top");
    line.append(...heading.childNodes);
    heading.replaceWith(line);
  }
}

function subordinate(root: HTMLElement, within: string): void {
  for (const heading of root.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const line = document.createElement("p");
    line.className = "heading";
    line.append(...heading.childNodes);
    heading.replaceWith(line);
  }
  for (const element of root.querySelectorAll("[id]")) element.id = `${within}-${element.id}`;
  for (const link of root.querySelectorAll("a[href^='#']")) {
    link.setAttribute("href", `#${within}-${link.getAttribute("href")?.slice(1)}`);
  }
}
