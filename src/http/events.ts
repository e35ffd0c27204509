import type { Context } from "hono";
import type { App } from "../app.ts";
import type { Rank } from "../kernel/caller.ts";
import { isAboutAccess, isPrivate } from "../kernel/noun.ts";
import { type Event, lastEventId } from "../store/events.ts";
import type { EventFeed } from "./event-feed.ts";

const heartbeatMs = 5000;
/** How often a reader's token or session is checked, which may expire; an event about access is a reason to check it at once. */
const checkMs = 60_000;

/** `rank` is the reader's at present; undefined once the token or session has ended. */
type Reader = {
  feed: EventFeed;
  name: string;
  after: string | undefined;
  stopping: AbortSignal;
  rank: () => Promise<Rank | undefined>;
};

/**
 * The event log as server-sent events. A reader is a cursor and nothing else: it gets the next page when it has taken
 * the one before, so a slow one holds no memory.
 * Only admins get events about access: tokens, users, sessions, passkeys. Only the person gets what they have read.
 */
export async function eventStream(
  c: Context,
  app: App,
  { feed, name, after, stopping, rank }: Reader,
): Promise<Response> {
  const gone = new AbortController();
  const done = AbortSignal.any([stopping, c.req.raw.signal, gone.signal]);
  const encoder = new TextEncoder();
  let cursor = after ?? (await lastEventId(app.db)) ?? "0";
  let beat = Number.NEGATIVE_INFINITY;
  let checked = Number.NEGATIVE_INFINITY;
  let readerRank: Rank | undefined;

  async function next(): Promise<string | undefined> {
    while (!done.aborted) {
      const seen = feed.count();
      const found = await feed.after(cursor);
      const time = performance.now();
      // An event about access may be the end of this reader's own: it is checked before anything else is sent.
      const isAccess = found.some(({ kind }) => isAboutAccess(kind));
      if (isAccess || time - checked > checkMs) {
        readerRank = await rank();
        checked = time;
      }
      if (readerRank === undefined) return undefined;
      const isAdmin = readerRank === "admin";
      const allowed = isAccess && !isAdmin ? found.filter(({ kind }) => !isAboutAccess(kind)) : found;
      const events = allowed.filter(({ kind, actor }) => !isPrivate(kind) || actor === name);
      const isDue = time - beat >= heartbeatMs;
      if (isDue) beat = time;
      cursor = found.at(-1)?.id ?? cursor;
      // The first heartbeat is sent immediately, so that the reader knows the stream is open.
      if (events.length > 0 || isDue) return events.map(spell).join("") || ": still here\n\n";
      // Read on without waiting if all events of this page were hidden.
      if (found.length === 0) await feed.change(seen, beat + heartbeatMs - time, done);
    }
    return undefined;
  }

  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const text = await next();
        if (text !== undefined) return controller.enqueue(encoder.encode(text));
        gone.abort();
        controller.close();
      },
      cancel: () => gone.abort(),
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: { "content-type": "text/event-stream", "cache-control": "no-store" } });
}

const spell = ({ id, ...event }: Event) =>
  `id: ${id}\nevent: ${event.kind}\ndata: ${JSON.stringify({ id, ...event })}\n\n`;
