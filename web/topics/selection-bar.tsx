import { Button } from "@mantine/core";
import { type RefObject, useEffect, useState } from "react";
import { mayCall } from "../client/call.ts";
import { MapPin, MessageSquarePlus } from "../parts/icons.tsx";
import { useActions } from "../shell/actions.ts";
import { type Span, selectedSpan } from "./place.ts";

type Chosen = Span & { quote: string };
type Props = {
  body: RefObject<HTMLElement | null>;
  onDiscuss(span: Chosen): void;
  /** The topic that could be pointed at the selection instead. */
  reanchors?: string | undefined;
  onReanchor?: (span: Span) => void;
};

/** The actions on a selection, shown beside it. */
export function SelectionBar({ body, onDiscuss, reanchors, onReanchor }: Props) {
  const [found, setFound] = useState<Chosen & { left: number; top: number }>();
  useEffect(() => {
    const look = () => {
      const root = body.current;
      const span = root ? selectedSpan(root) : undefined;
      if (!span) return setFound(undefined);
      const { box, start, end } = span;
      const left = Math.max(8, Math.min(box.left + box.width / 2 - 110, innerWidth - 240));
      setFound({ start, end, quote: String(getSelection()), left, top: box.top > 60 ? box.top - 44 : box.bottom + 8 });
    };
    document.addEventListener("selectionchange", look);
    window.addEventListener("scroll", look, { passive: true });
    return () => {
      document.removeEventListener("selectionchange", look);
      window.removeEventListener("scroll", look);
    };
  }, [body]);

  const done = (act: (span: Chosen) => void) => () => {
    if (!found) return;
    const { left: _left, top: _top, ...span } = found;
    getSelection()?.removeAllRanges();
    setFound(undefined);
    act(span);
  };
  const discuss = done(onDiscuss);
  const anchor = done((span) => onReanchor?.(span));
  useActions([
    {
      id: "topic-open",
      label: "Discuss selection",
      group: "Discussion",
      keys: "c",
      operation: "open_topic",
      when: found !== undefined,
      run: discuss,
    },
    {
      id: "topic-reanchor",
      label: "Re-anchor topic to selection",
      group: "Discussion",
      keys: "p",
      operation: "reanchor_topic",
      when: found !== undefined && reanchors !== undefined,
      run: anchor,
    },
  ]);
  if (!found || !mayCall("open_topic")) return null;
  // The selection would be gone by the time of a click that took the focus.
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only keeps the selection
    <div
      className="selection-bar"
      style={{ left: found.left, top: found.top }}
      onMouseDown={(event) => event.preventDefault()}
    >
      <Button size="xs" leftSection={<MessageSquarePlus size={14} />} onClick={discuss}>
        Discuss
      </Button>
      {reanchors && (
        <Button size="xs" variant="default" leftSection={<MapPin size={14} />} onClick={anchor}>
          Re-anchor here
        </Button>
      )}
    </div>
  );
}
