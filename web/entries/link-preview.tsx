import { useQuery } from "@tanstack/react-query";
import { type RefObject, useEffect, useState } from "react";
import { boot } from "../boot.ts";
import { renderedQuery } from "../client/query.ts";
import { pathOf } from "../parts/paths.ts";

type Target = { path: string; left: number; top: number };

/** The beginning of the page that a link leads to, while one points at it. */
export function LinkPreview({ body }: { body: RefObject<HTMLElement | null> }) {
  const [target, setTarget] = useState<Target>();
  useEffect(() => {
    const element = body.current;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const enter = (event: Event) => {
      const link = (event.target as Element).closest?.("a.wiki-link");
      clearTimeout(timer);
      if (!link) return setTarget(undefined);
      timer = setTimeout(() => {
        const box = link.getBoundingClientRect();
        const left = Math.max(8, Math.min(box.left, innerWidth - 376));
        setTarget({
          path: pathOf(new URL((link as HTMLAnchorElement).href).pathname, boot.workspace.wiki),
          left,
          top: box.bottom + 6,
        });
      }, 250);
    };
    const leave = () => {
      clearTimeout(timer);
      setTarget(undefined);
    };
    element?.addEventListener("mouseover", enter);
    element?.addEventListener("focusin", enter);
    element?.addEventListener("mouseleave", leave);
    element?.addEventListener("focusout", leave);
    window.addEventListener("scroll", leave, { passive: true });
    return () => {
      leave();
      element?.removeEventListener("mouseover", enter);
      element?.removeEventListener("focusin", enter);
      element?.removeEventListener("mouseleave", leave);
      element?.removeEventListener("focusout", leave);
      window.removeEventListener("scroll", leave);
    };
  }, [body]);
  return target ? <Card {...target} /> : null;
}

function Card({ path, left, top }: Target) {
  const page = useQuery(renderedQuery(path));
  if (!page.data) return null;
  const text = new DOMParser().parseFromString(page.data.html, "text/html").body.textContent ?? "";
  const beginning = text.trim().startsWith(page.data.title) ? text.trim().slice(page.data.title.length) : text;
  return (
    <div className="preview-card" role="tooltip" style={{ left, top }}>
      <strong>{page.data.title}</strong>
      <p>{beginning.trim().slice(0, 280)}</p>
    </div>
  );
}
