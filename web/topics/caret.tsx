import { type RefObject, useCallback, useEffect, useState } from "react";
import { useActions } from "../shell/actions.ts";

type Props = { body: RefObject<HTMLElement | null> };

/** Space kept between the caret and the edges of the window. */
const margin = 64;

/**
 * A caret in the page, moved by the arrow keys: it lets people select words without a pointer. Browsers have such a
 * mode, but off by default and each under another key.
 */
export function Caret({ body }: Props) {
  const [isOn, setOn] = useState(false);
  const [at, setAt] = useState<{ left: number; top: number; height: number }>();

  const start = useCallback(() => {
    const root = body.current;
    if (!root) return;
    const selection = getSelection();
    const isInside = selection?.focusNode && root.contains(selection.focusNode);
    const first = isInside ? undefined : firstVisibleText(root);
    if (!isInside && !first) return;
    if (first) selection?.collapse(first, first.data.search(/\S/));
    root.tabIndex = -1;
    // Focus elsewhere would take Enter and the arrow keys.
    root.focus({ preventScroll: true });
    setOn(true);
  }, [body]);

  useEffect(() => {
    if (!isOn) return;
    const draw = () => {
      const root = body.current;
      const box = root && caretBox(root);
      // The words are gone when the page was rendered again, or when a topic was opened on them.
      if (!box) return setOn(false);
      setAt({ left: box.left, top: box.top, height: box.height });
    };
    const onKey = (event: KeyboardEvent) => {
      const root = body.current;
      if (!root || event.altKey || isTyping(event.target)) return;
      if (event.key === "Escape") {
        getSelection()?.removeAllRanges();
        setOn(false);
      } else if (event.key === "Enter" && !getSelection()?.isCollapsed) {
        document.querySelector<HTMLElement>(".selection-bar button")?.click();
      } else if (!move(root, event)) return;
      event.preventDefault();
      event.stopPropagation();
    };
    const onPointer = () => setOn(false);
    draw();
    document.addEventListener("selectionchange", draw);
    window.addEventListener("scroll", draw, { passive: true });
    window.addEventListener("keydown", onKey, { capture: true });
    window.addEventListener("pointerdown", onPointer);
    return () => {
      document.removeEventListener("selectionchange", draw);
      window.removeEventListener("scroll", draw);
      window.removeEventListener("keydown", onKey, { capture: true });
      window.removeEventListener("pointerdown", onPointer);
    };
  }, [isOn, body]);

  useActions([
    {
      id: "page-caret",
      label: "Select text with the keyboard",
      group: "Discussion",
      keys: "s",
      operation: "open_topic",
      when: !isOn,
      run: start,
    },
  ]);
  return (
    <>
      <p className={isOn ? "caret-hint" : "sr-only"} role="status">
        {isOn && "Arrow keys move the caret, Shift selects, Enter discusses the selection, Escape ends."}
      </p>
      {isOn && at && <div className="text-caret" style={at} aria-hidden />}
    </>
  );
}

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT|BUTTON)$/.test(target.tagName);

/** Left and right are directions on the screen: in Hebrew, left is forward. */
const steps: Record<string, ["forward" | "backward" | "left" | "right", string, string]> = {
  ArrowRight: ["right", "character", "word"],
  ArrowLeft: ["left", "character", "word"],
  ArrowDown: ["forward", "line", "paragraph"],
  ArrowUp: ["backward", "line", "paragraph"],
  End: ["forward", "lineboundary", "documentboundary"],
  Home: ["backward", "lineboundary", "documentboundary"],
};

/** Moves or extends the selection, but not out of the page; false for other keys. */
function move(root: HTMLElement, event: KeyboardEvent): boolean {
  const step = steps[event.key];
  const selection = getSelection();
  if (!step || !selection?.anchorNode || !selection.focusNode) return false;
  const [direction, near, far] = step;
  const { anchorNode, anchorOffset, focusNode, focusOffset } = selection;
  selection.modify(event.shiftKey ? "extend" : "move", direction, event.ctrlKey || event.metaKey ? far : near);
  if (!selection.focusNode || !root.contains(selection.focusNode))
    selection.setBaseAndExtent(anchorNode, anchorOffset, focusNode, focusOffset);
  const box = caretBox(root);
  const over = box ? Math.min(0, box.top - margin) || Math.max(0, box.bottom - innerHeight + margin) : 0;
  if (over !== 0) scrollBy({ top: over, behavior: "instant" });
  return true;
}

/** Where the selection ends; an empty range at a line break has no box, its neighbour does. */
function caretBox(root: HTMLElement): DOMRect | undefined {
  const selection = getSelection();
  const node = selection?.focusNode;
  if (!selection || !node || !root.contains(node)) return undefined;
  const range = document.createRange();
  range.setStart(node, selection.focusOffset);
  const [box] = range.getClientRects();
  if (box) return box;
  const element = node instanceof Element ? (node.childNodes[selection.focusOffset] ?? node) : node.parentElement;
  return element instanceof Element ? element.getBoundingClientRect() : node.parentElement?.getBoundingClientRect();
}

function firstVisibleText(root: HTMLElement): Text | undefined {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  let last: Text | undefined;
  while (walker.nextNode()) {
    const text = walker.currentNode as Text;
    if (text.data.trim() === "") continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    const box = range.getBoundingClientRect();
    if (box.height > 0 && box.top >= margin) return text;
    last = text;
  }
  return last;
}
