import type { EventKind } from "../../kernel/event-kinds.ts";
import { parseJsonOr } from "../../store/json.ts";
import type { TopicRow } from "../../store/tables.ts";
import type { Page } from "../../wiki/pages/pages.ts";
import type { Span } from "./anchor/views.ts";
import { type Anchor, type AnchorState, anchorAt, type Refound } from "./anchor.ts";

export type TopicAnchor = {
  state: AnchorState;
  /** The last certain place: the quote and its position in `blob`. */
  at: Anchor;
  /** The certain or probable place in the page of `seenBlob`; undefined when lost. */
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
  /** The page's blob at the last update; empty when the page was missing. */
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
  const at = parseJsonOr<Anchor | null>(row.anchor, null);
  if (at === null) return null;
  const sure = row.anchor_state === "anchored" || row.anchor_state === "moved";
  const place: Span | undefined = row.place
    ? parseJsonOr(row.place, undefined)
    : sure
      ? { start: at.start, end: at.end }
      : undefined;
  return { state: row.anchor_state, at, place, firstQuote: row.first_quote ?? at.quote };
}

/** The columns of an anchor. */
export const anchorColumns = (anchor: Anchor, state: AnchorState = "anchored", place?: Span) => ({
  anchor: JSON.stringify(anchor),
  anchor_blob: anchor.blob,
  anchor_state: state,
  place: place ? JSON.stringify({ start: place.start, end: place.end }) : null,
});

/** Where the passage of a topic is in one text of its page; the blob of a missing page is empty. */
type SeenPlace = { blob: string; state: AnchorState | null } & Partial<Span>;

/** Several checkouts, on different branches, may use one database. */
const mostPlaces = 8;

/** The row after its anchor was searched for in the page of `blob`. */
export function afterLooking(row: TopicRow, found: Refound | undefined, blob: string): TopicRow {
  if (!found) return withPlace(row, { blob, state: null });
  const span = found.state === "needs-review" ? found.place : found.state === "orphaned" ? undefined : found.anchor;
  const place = found.state === "needs-review" ? found.place : undefined;
  const looked = { ...row, ...anchorColumns(found.anchor, found.state, place) };
  return withPlace(looked, { blob, state: found.state, ...(span && { start: span.start, end: span.end }) });
}

/** The row of a topic whose page is gone. */
export const withoutPage = (row: TopicRow): TopicRow =>
  row.anchor === null
    ? withPlace(row, { blob: "", state: null })
    : withPlace({ ...row, anchor_state: "orphaned", place: null }, { blob: "", state: "orphaned" });

/** The row for this text of the page, if its anchor was searched for in it before. */
export function rowAt(row: TopicRow, page: Pick<Page, "text" | "blob"> | undefined): TopicRow | undefined {
  const blob = page?.blob ?? "";
  if (row.seen_blob === blob) return row;
  const found = placesOf(row).find((place) => place.blob === blob);
  if (!found) return undefined;
  const { state, start = 0, end = 0 } = found;
  if (state === null) return withPlace(row, found);
  const isSure = state === "anchored" || state === "moved";
  const columns = isSure && page ? anchorColumns(anchorAt(page.text, start, end, blob), state) : undefined;
  const place = state === "needs-review" ? JSON.stringify({ start, end }) : null;
  return withPlace({ ...row, ...(columns ?? { anchor_state: state, place }) }, found);
}

const placesOf = ({ places }: TopicRow) => parseJsonOr<SeenPlace[]>(places, []);

function withPlace(row: TopicRow, place: SeenPlace): TopicRow {
  const others = placesOf(row).filter(({ blob }) => blob !== place.blob);
  return { ...row, seen_blob: place.blob, places: JSON.stringify([place, ...others].slice(0, mostPlaces)) };
}

/** The columns of a topic that was just pointed at a passage, or at the whole page. */
export const freshPlaces = (anchor: Anchor | undefined, blob: string): Pick<TopicRow, "seen_blob" | "places"> => ({
  seen_blob: blob,
  places: JSON.stringify([
    anchor ? { blob, state: "anchored", start: anchor.start, end: anchor.end } : { blob, state: null },
  ]),
});

/** The kind of event for a change of anchor state; none for an anchor that stays in place. */
export function newsOf(was: TopicRow, now: TopicRow): EventKind | undefined {
  const [before, after] = [was.anchor_state, now.anchor_state];
  if (after === null) return undefined;
  if (after === "anchored") return before === "needs-review" || before === "orphaned" ? "anchor-found" : undefined;
  if (after === "moved") return "anchor-moved";
  return before === after ? undefined : `anchor-${after}`;
}
