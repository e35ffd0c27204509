import { type RefObject, useLayoutEffect, useRef } from "react";
import { align } from "./align.ts";
import { rangesOf, type Span } from "./place.ts";

type Options = {
  /** The list of cards: each child has the id of its topic in data-topic. */
  column: RefObject<HTMLDivElement | null>;
  body: RefObject<HTMLDivElement | null>;
  /** The words of each card in the text that is shown; a card without them stays where it is. */
  spans: Map<string, Span>;
  /** The card that is open: a topic or a draft. */
  open: string | undefined;
  /** Topics that were opened by a click, or by sending the named draft. The page does not move for them. */
  pointed: RefObject<Map<string, string | undefined>>;
  html: string;
};

/** Where the window was when a card was opened: from then on, growth of the card does not move it away. */
type Opening = { id: string; top: number; isInSight: boolean };

const margin = 8;
/** The bar at the top of a phone. */
const barHeight = 56;

const isBeside = () => matchMedia("(min-width: 72rem)").matches;

/**
 * Moves each card beside its words, and again whenever a card or the text changes its size. The open card is within
 * the window when it opens, so that the page does not have to move: beside its words, and on a narrow screen below or
 * above them. If its words are out of sight it opens where it was.
 */
export function useAligned({ column, body, spans, open, pointed, html }: Options): void {
  const opening = useRef<Opening>(undefined);
  const places = useRef(new Map<string, number>());
  const arrived = useRef<string>(undefined);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another text of the page has other places
  useLayoutEffect(() => {
    const boxOf = (id: string) => {
      const span = spans.get(id);
      const ranges = span && body.current ? rangesOf(body.current, span) : [];
      const boxes = ranges.map((range) => range.getBoundingClientRect()).filter(({ height }) => height > 0);
      if (boxes.length === 0) return undefined;
      return { top: Math.min(...boxes.map(({ top }) => top)), bottom: Math.max(...boxes.map(({ bottom }) => bottom)) };
    };
    const place = () => {
      const list = column.current;
      if (!list || !body.current) return;
      const elements = [...list.querySelectorAll<HTMLElement>("[data-topic]")];
      const listTop = list.getBoundingClientRect().top;
      opening.current = openingOf(opening.current, open, boxOf(open ?? ""), pointed.current.get(open ?? ""));
      const cards = elements.map((element) => {
        const id = element.dataset.topic ?? "";
        const box = boxOf(id);
        const last = places.current.get(id);
        const height = element.offsetHeight;
        const natural = box ? box.top - listTop : (last ?? 0);
        if (id !== open || !opening.current) return { id, wanted: natural, height };
        const wanted = opening.current.isInSight
          ? inWindow(natural + listTop, height, opening.current) - listTop
          : (last ?? natural);
        return { id, wanted, height };
      });
      if (isBeside()) {
        places.current = align(cards, open);
        let end = 0;
        for (const [at, element] of elements.entries()) {
          const y = places.current.get(element.dataset.topic ?? "") ?? 0;
          element.style.position = "absolute";
          element.style.transform = `translateY(${Math.round(y)}px)`;
          end = Math.max(end, y + (cards[at]?.height ?? 0));
        }
        list.style.minHeight = `${Math.round(end)}px`;
        return;
      }
      list.style.minHeight = "0";
      for (const element of elements) {
        const id = element.dataset.topic ?? "";
        const box = id === open && opening.current?.isInSight ? boxOf(id) : undefined;
        element.dataset.over = box ? "text" : "";
        element.style.position = box ? "absolute" : "static";
        element.style.transform = "none";
        if (!box || !opening.current) continue;
        const y = atWords(box, element.offsetHeight, opening.current);
        element.style.transform = `translateY(${Math.round(y - list.getBoundingClientRect().top)}px)`;
      }
    };

    /** An address or a key may lead to words out of sight: these are scrolled to, once. */
    const arrive = () => {
      if (open === undefined || arrived.current === open) return;
      const box = boxOf(open);
      if (!box) return;
      arrived.current = open;
      if (pointed.current.has(open) || isInWindow(box)) return;
      scrollTo({ top: scrollY + box.top - innerHeight / 3, behavior: "instant" });
      opening.current = undefined;
      place();
    };
    if (open === undefined) arrived.current = undefined;
    place();
    // After the router has restored its own scroll position.
    const frame = requestAnimationFrame(arrive);
    const watch = new ResizeObserver(place);
    for (const element of column.current?.querySelectorAll("[data-topic]") ?? []) watch.observe(element);
    if (body.current) watch.observe(body.current);
    return () => {
      cancelAnimationFrame(frame);
      watch.disconnect();
    };
  }, [column, body, spans, open, html]);
}

type Box = { top: number; bottom: number };

const isInWindow = ({ top, bottom }: Box) => bottom > 0 && top < innerHeight;

function openingOf(
  was: Opening | undefined,
  id: string | undefined,
  box: Box | undefined,
  sent: string | undefined,
): Opening | undefined {
  if (id === undefined) return undefined;
  if (was?.id === id) return was;
  // A sent draft becomes a topic at the same place. Until its words are known, the draft's opening is kept.
  if (was && was.id === sent) return box ? { ...was, id } : was;
  return box && { id, top: scrollY, isInSight: isInWindow(box) };
}

/** A top, in the coordinates of the window, at which the card was all in the window when it was opened. */
function inWindow(top: number, height: number, opening: Opening): number {
  const windowTop = opening.top - scrollY;
  return Math.max(windowTop + margin, Math.min(top, windowTop + innerHeight - height - margin));
}

function atWords(box: Box, height: number, opening: Opening): number {
  const windowTop = opening.top - scrollY;
  const below = box.bottom + margin;
  if (below + height <= windowTop + innerHeight - margin) return below;
  const above = box.top - margin - height;
  if (above >= windowTop + barHeight + margin) return above;
  return Math.max(windowTop + barHeight + margin, windowTop + innerHeight - height - margin);
}
