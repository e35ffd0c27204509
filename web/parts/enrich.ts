import { fromPage } from "../client/page-secret.ts";

/** Adds syntax colours, diagrams and images of the workspace to a page after it is shown. */
export function enrich(root: HTMLElement, signal: AbortSignal): void {
  makeWideFocusable(root, signal);
  const blocks = [
    ...root.querySelectorAll<HTMLElement>(
      "pre > code[class*='language-']:not([data-done]), img[data-image]:not([src])",
    ),
  ];
  if (blocks.length === 0) return;
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        seen.unobserve(target);
        if (target instanceof HTMLImageElement) void loadImage(target, signal);
        else void dressUp(target as HTMLElement, signal);
      }
    },
    { rootMargin: "400px" },
  );
  for (const block of blocks) seen.observe(block);
  signal.addEventListener("abort", () => seen.disconnect());
}

/**
 * A block that scrolls sideways must be focusable, or keyboard users cannot scroll it. In a long page its width is
 * asked for once it is near the window: asking for all would lay out the whole page at once.
 */
function makeWideFocusable(root: HTMLElement, signal: AbortSignal): void {
  const blocks = root.querySelectorAll<HTMLElement>("pre, .table-scroll, math[display=block]");
  const check = (block: HTMLElement) => {
    if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
  };
  if (!root.hasAttribute("data-long")) {
    for (const block of blocks) check(block);
    return;
  }
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        seen.unobserve(target);
        check(target as HTMLElement);
      }
    },
    { rootMargin: "400px" },
  );
  for (const block of blocks) seen.observe(block);
  signal.addEventListener("abort", () => seen.disconnect());
}

async function dressUp(block: HTMLElement, signal: AbortSignal): Promise<void> {
  const language = /language-([\w+#.-]+)/.exec(block.className)?.[1] ?? "";
  block.dataset.done = "";
  const isDark = document.documentElement.dataset.mantineColorScheme === "dark";
  if (language === "mermaid") {
    const { drawDiagram } = await import("./diagram.ts");
    const picture = await drawDiagram(block.textContent ?? "", isDark).catch(() => undefined);
    if (!picture || signal.aborted) return;
    picture.alt = `Diagram: ${(block.textContent ?? "").trim().split("\n", 1)[0]}`;
    const figure = document.createElement("figure");
    figure.className = "diagram";
    const source = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = "Source of the diagram";
    block.parentElement?.replaceWith(figure);
    source.append(summary, pre(block));
    figure.append(picture, source);
    return;
  }
  const { colour } = await import("./highlight.ts");
  if (!signal.aborted) await colour(block, language);
}

function pre(block: HTMLElement): HTMLElement {
  const element = document.createElement("pre");
  element.append(block);
  return element;
}

/** Sent with the page secret, which the browser's own request for an image would lack. */
async function loadImage(image: HTMLImageElement, signal: AbortSignal): Promise<void> {
  const path = image.dataset.image ?? "";
  const failed = (why: string) => {
    const note = document.createElement("span");
    note.className = "image-note";
    note.textContent = `${image.alt || path} (${why})`;
    image.replaceWith(note);
  };
  try {
    const answer = await fetch(`/api/rendered/image?${new URLSearchParams({ path })}`, { headers: fromPage(), signal });
    if (!answer.ok) return failed(answer.status === 404 ? "image not found" : "image not shown");
    const bytes = await answer.blob();
    const reader = new FileReader();
    reader.onload = () => {
      image.src = String(reader.result);
    };
    reader.readAsDataURL(bytes);
  } catch {
    if (!signal.aborted) failed("image not loaded");
  }
}
