import { useEffect, useState } from "react";

export type Heading = { id: string; text: string; level: number };

export const headingsIn = (root: HTMLElement): Heading[] =>
  [...root.querySelectorAll<HTMLElement>("h2[id], h3[id]")]
    .filter((heading) => !heading.classList.contains("sr-only"))
    .map((heading) => ({ id: heading.id, text: heading.textContent ?? "", level: Number(heading.tagName[1]) }));

/** The page's headings; the one being read is marked. */
export function Contents({ headings }: { headings: Heading[] }) {
  const [current, setCurrent] = useState<string>();
  useEffect(() => {
    const seen = new IntersectionObserver(
      (entries) => {
        const top = entries.find(({ isIntersecting }) => isIntersecting);
        if (top) setCurrent(top.target.id);
      },
      { rootMargin: "0px 0px -75% 0px" },
    );
    for (const { id } of headings) {
      const element = document.getElementById(id);
      if (element) seen.observe(element);
    }
    return () => seen.disconnect();
  }, [headings]);
  return (
    <nav aria-label="Contents" className="contents">
      <h2>Contents</h2>
      <ol>
        {headings.map(({ id, text, level }) => (
          <li key={id} data-level={level}>
            <a href={`#${id}`} aria-current={current === id ? "location" : undefined}>
              {text}
            </a>
          </li>
        ))}
      </ol>
    </nav>
  );
}
