import { type RefObject, useLayoutEffect, useRef, useState } from "react";
import type { RenderedPage } from "../../src/http/web-types.ts";
import type { Output } from "../client/call.ts";
import { useOperation } from "../client/query.ts";
import { later } from "../parts/later.tsx";
import { firstWords } from "../parts/plain.ts";
import { useActions } from "../shell/actions.ts";
import { firstLineOf, spansOf } from "./places.ts";
import { sentenceCase, trustStates } from "./states.tsx";

const TrustCard = later(() => import("./card.tsx").then(({ TrustCard }) => TrustCard));

export type TrustedPassage = Output<"get_trust">["passages"][number];

type Props = {
  page: RenderedPage;
  body: RefObject<HTMLDivElement | null>;
  passages: TrustedPassage[];
  /** The id of a passage to scroll to. */
  wanted: string | undefined;
};

type Mark = { passage: TrustedPassage; top: number; height: number };

const cardId = "trust-card";
const gap = 8;
const leastHeight = 320;

/** In the margin, beside the first line of each passage: its state, and what is known about it. */
export function TrustMarks({ page, body, passages, wanted }: Props) {
  const file = useOperation("read_page", { path: page.path }, { enabled: passages.length > 0 });
  const text = file.data?.source_sha === page.source_sha ? file.data.content : undefined;
  const layer = useRef<HTMLUListElement>(null);
  const card = useRef<HTMLDivElement>(null);
  const [marks, setMarks] = useState<Mark[]>([]);
  const [open, setOpen] = useState<TrustedPassage>();

  // biome-ignore lint/correctness/useExhaustiveDependencies: another text of the page has other places
  useLayoutEffect(() => {
    const spans = text === undefined ? [] : spansOf(passages, text, page.entry ? page.body_from : 0);
    const place = () => {
      const [prose, frame] = [body.current, layer.current?.getBoundingClientRect()];
      if (!prose || !frame) return;
      setMarks(
        spans.flatMap(({ passage, ...span }) => {
          const line = firstLineOf(prose, span, frame);
          return line ? [{ passage, ...line }] : [];
        }),
      );
    };
    place();
    const watch = new ResizeObserver(place);
    if (body.current) watch.observe(body.current);
    return () => watch.disconnect();
  }, [passages, text, body, page.html]);

  useLayoutEffect(() => {
    const mark = open && buttonOf(layer.current, open);
    const element = card.current;
    if (!mark || !element) return;
    const place = () => moveBeside(element, mark.getBoundingClientRect());
    place();
    // Its content may be loaded after it opens.
    const watch = new ResizeObserver(place);
    watch.observe(element);
    return () => watch.disconnect();
  }, [open]);

  const arrived = useRef<string>(undefined);
  useLayoutEffect(() => {
    const mark = marks.find(({ passage }) => passage.passage === wanted);
    if (!mark || arrived.current === wanted) return;
    arrived.current = wanted;
    // After the router has restored its own scroll position.
    requestAnimationFrame(() => {
      const button = buttonOf(layer.current, mark.passage);
      button?.scrollIntoView({ block: "center", behavior: "instant" });
      button?.focus({ preventScroll: true });
    });
  }, [marks, wanted]);

  const show = (passage: TrustedPassage) => {
    setOpen(passage);
    card.current?.showPopover();
  };
  const close = () => card.current?.hidePopover();
  useActions([
    {
      ...{ id: "trust-next", label: "Next trust mark", group: "Page", keys: "]", when: marks.length > 0 },
      run: () => nextOf(layer.current)?.focus(),
    },
  ]);
  return (
    <>
      <ul className="trust-marks" ref={layer} aria-label="Trust of passages" hidden={marks.length === 0}>
        {marks.map(({ passage, top, height }) => {
          const { word, tone, Shape } = trustStates[passage.state];
          return (
            <li key={keyOf(passage)} className={`trust-mark tone-${tone}`} style={{ top, height }}>
              <button
                type="button"
                data-passage={keyOf(passage)}
                title={sentenceCase(word)}
                aria-label={`${sentenceCase(word)}: ${firstWords(passage.text, 80)}`}
                aria-haspopup="dialog"
                onClick={() => show(passage)}
              >
                <Shape size={14} aria-hidden />
              </button>
            </li>
          );
        })}
      </ul>
      <div
        id={cardId}
        className="trust-card"
        popover="auto"
        ref={card}
        // Keys lead to actions only while there is no dialog.
        {...(open ? { role: "dialog", "aria-label": "Trust of the passage" } : {})}
        tabIndex={-1}
        onToggle={(event) => {
          if (event.newState === "open") card.current?.focus({ preventScroll: true });
          else setOpen(undefined);
        }}
      >
        {open && <TrustCard key={keyOf(open)} path={page.path} passage={latestOf(open, passages)} onClose={close} />}
      </div>
    </>
  );
}

/** Equal passages of a page are on different lines. */
const keyOf = ({ passage, line }: TrustedPassage) => `${passage} ${line}`;

const buttonOf = (layer: HTMLElement | null, passage: TrustedPassage) =>
  layer?.querySelector<HTMLElement>(`[data-passage="${CSS.escape(keyOf(passage))}"]`);

const latestOf = (open: TrustedPassage, passages: TrustedPassage[]) =>
  passages.find((one) => keyOf(one) === keyOf(open)) ?? open;

/** Below the line of the mark, which stays in sight; above the end of the window, if there is little room below. */
function moveBeside(card: HTMLElement, mark: DOMRect): void {
  const below = mark.bottom + gap;
  const room = Math.max(leastHeight, innerHeight - gap - below);
  card.style.maxHeight = `${room}px`;
  const { width, height } = card.getBoundingClientRect();
  const left = Math.max(gap, Math.min(mark.right + gap, innerWidth - width - gap));
  const top = Math.max(gap, Math.min(below, innerHeight - gap - height));
  card.style.left = `${left + scrollX}px`;
  card.style.top = `${top + scrollY}px`;
}

/** The mark after the one with the focus; the first that is in the window or below, if none has it. */
function nextOf(layer: HTMLElement | null): HTMLElement | undefined {
  const marks = [...(layer?.querySelectorAll<HTMLElement>("button") ?? [])];
  const at = marks.indexOf(document.activeElement as HTMLElement);
  return (at < 0 ? marks.find((mark) => mark.getBoundingClientRect().top > 0) : marks[at + 1]) ?? marks[0];
}
