import { useNavigate } from "@tanstack/react-router";
import { type RefObject, useEffect, useLayoutEffect, useRef } from "react";
import { enrich } from "./enrich.ts";

type Props = {
  html: string;
  /** The page's title: a first heading that repeats it is left out. */
  title?: string;
  body?: RefObject<HTMLDivElement | null>;
  onReady?: () => void;
};

/**
 * The server's HTML, which it has made safe. It is parsed apart from the document, so that nothing
 * in it loads or runs on the way.
 */
export function Rendered({ html, title, body, onReady }: Props) {
  const own = useRef<HTMLDivElement>(null);
  const place = body ?? own;
  const navigate = useNavigate();
  const ready = useRef(onReady);
  ready.current = onReady;

  useLayoutEffect(() => {
    if (!place.current) return;
    const parsed = new DOMParser().parseFromString(html, "text/html").body;
    const first = parsed.firstElementChild;
    if (title !== undefined && first?.tagName === "H1" && first.textContent?.trim() === title.trim()) first.remove();
    place.current.replaceChildren(...parsed.childNodes);
    // What scrolls sideways must be reachable by keys as well.
    for (const wide of place.current.querySelectorAll<HTMLElement>("pre, .table-scroll, math[display=block]")) {
      if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
    }
    ready.current?.();
  }, [html, title, place]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another text brings other blocks
  useEffect(() => {
    const leave = new AbortController();
    if (place.current) enrich(place.current, leave.signal);
    return () => leave.abort();
  }, [html, title, place]);

  // Links within the workspace are followed without loading the application again.
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
  }, [navigate, place]);

  return html.trim() === "" ? <p className="empty-text">This page is empty.</p> : <div className="prose" ref={place} />;
}
