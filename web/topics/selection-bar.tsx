import { Button } from "@mantine/core";
import { type RefObject, useEffect, useState } from "react";
import { mayCall } from "../client/call.ts";
import { MapPin, MessageSquarePlus } from "../parts/icons.tsx";
import { useActions } from "../shell/actions.ts";
import { selectedSpan } from "./place.ts";
import type { Passage } from "./topic-drafts.ts";

type Props = {
  body: RefObject<HTMLElement | null>;
  onDiscuss(span: Passage): void;
  /** The topic that could be pointed at the selection instead. */
  reanchors?: string | undefined;
  onReanchor?: (passage: Passage) => void;
  /** Label for a draft that needs other words. */
  label?: string;
};

/** The actions on a selection, shown beside it. */
export function SelectionBar({ body, onDiscuss, reanchors, onReanchor, label = "Discuss" }: Props) {
  const [found, setFound] = useState<Passage & { left: number; top: number }>();
  useEffect(() => {
    const look = () => setFound(body.current ? readSelection(body.current) : undefined);
    document.addEventListener("selectionchange", look);
    window.addEventListener("scroll", look, { passive: true });
    return () => {
      document.removeEventListener("selectionchange", look);
      window.removeEventListener("scroll", look);
    };
  }, [body]);

  const done = (act: (passage: Passage) => void) => () => {
    // Read again: the event for the last key may not have come yet.
    const now = body.current ? readSelection(body.current) : undefined;
    if (!now) return;
    const { left: _left, top: _top, ...passage } = now;
    getSelection()?.removeAllRanges();
    setFound(undefined);
    act(passage);
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
        {label}
      </Button>
      {reanchors && (
        <Button size="xs" variant="default" leftSection={<MapPin size={14} />} onClick={anchor}>
          Re-anchor here
        </Button>
      )}
    </div>
  );
}

function readSelection(root: HTMLElement): (Passage & { left: number; top: number }) | undefined {
  const selected = selectedSpan(root);
  if (!selected) return undefined;
  const { box, ...span } = selected;
  const left = Math.max(8, Math.min(box.left + box.width / 2 - 110, innerWidth - 240));
  const top = box.top > 60 ? box.top - 44 : box.bottom + 8;
  return { ...span, quote: String(getSelection()), left, top };
}
