import { kept } from "../../store/kept.ts";
import type { TopicRow } from "../../store/tables.ts";
import type { Span } from "./anchor/views.ts";
import type { Anchor, AnchorState, Refound } from "./anchor.ts";

export type TopicAnchor = {
  state: AnchorState;
  /** The last sure place: the words, and where they stood in `blob`. */
  at: Anchor;
  /** Where in the page of `seenBlob` it is, or perhaps is; undefined when it is lost. */
  place: Span | undefined;
  firstQuote: string;
};

export type Topic = {
  id: string;
  path: string;
  kind: TopicRow["kind"];
  status: TopicRow["status"];
  messages: number;
  createdBy: string;
  createdAt: string;
  resolvedBy: string | null;
  resolvedAt: string | null;
  anchor: TopicAnchor | null;
  /** The page's blob when it was last looked at; empty when the page was not there. */
  seenBlob: string;
};

export function topicOf(row: TopicRow): Topic {
  return {
    id: row.id,
    path: row.path,
    kind: row.kind,
    status: row.status,
    messages: row.messages,
    createdBy: row.created_by,
    createdAt: row.created_at,
    resolvedBy: row.resolved_by,
    resolvedAt: row.resolved_at,
    anchor: anchorIn(row),
    seenBlob: row.seen_blob,
  };
}

function anchorIn(row: TopicRow): TopicAnchor | null {
  if (row.anchor === null || row.anchor_state === null) return null;
  const at = kept<Anchor | null>(row.anchor, null);
  if (at === null) return null;
  const sure = row.anchor_state === "anchored" || row.anchor_state === "moved";
  const place: Span | undefined = row.place
    ? kept(row.place, undefined)
    : sure
      ? { start: at.start, end: at.end }
      : undefined;
  return { state: row.anchor_state, at, place, firstQuote: row.first_quote ?? at.quote };
}

/** What an anchor is kept as. */
export const anchorColumns = (anchor: Anchor, state: AnchorState = "anchored", place?: Span) => ({
  anchor: JSON.stringify(anchor),
  anchor_blob: anchor.blob,
  anchor_state: state,
  place: place ? JSON.stringify({ start: place.start, end: place.end }) : null,
});

/** The row after its anchor was looked for in the page of `blob`. */
export function afterLooking(row: TopicRow, found: Refound | undefined, blob: string): TopicRow {
  if (!found) return { ...row, seen_blob: blob };
  const place = found.state === "needs-review" ? found.place : undefined;
  return { ...row, ...anchorColumns(found.anchor, found.state, place), seen_blob: blob };
}

/** The row of a topic whose page is gone. */
export const withoutPage = (row: TopicRow): TopicRow =>
  row.anchor === null ? { ...row, seen_blob: "" } : { ...row, anchor_state: "orphaned", place: null, seen_blob: "" };

/** An anchor that stays where it was is no news; one that went, or came back from being lost, is. */
export function newsOf(was: TopicRow, now: TopicRow): `anchor-${string}` | undefined {
  const [before, after] = [was.anchor_state, now.anchor_state];
  if (after === null) return undefined;
  if (after === "anchored") return before === "needs-review" || before === "orphaned" ? "anchor-found" : undefined;
  if (after === "moved") return "anchor-moved";
  return before === after ? undefined : `anchor-${after}`;
}
