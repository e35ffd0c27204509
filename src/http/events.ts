import type { Context } from "hono";
import type { App } from "../app.ts";
import type { Rank } from "../kernel/caller.ts";
import { isAboutAccess, isPrivate } from "../kernel/noun.ts";
import { type Event, eventsAfter, lastEventId } from "../store/events.ts";
import { watchChanges } from "../store/wait-for-change.ts";

const page = 100;
/** Also how often a reader's token or session is checked when no event about access is in the log. */
const heartbeatMs = 5000;
const recheckMs = 1000;

/** `rank` is the reader's at present; undefined once the token or session has ended. */
type Reader = { name: string; after: string | undefined; stopping: AbortSignal; rank: () => Promise<Rank | undefined> };

/**
 * The event log as server-sent events. A reader is a cursor and nothing else: the next page is
 * read from the database when the reader has taken the one before, so a slow one holds no memory.
 * Only admins get events about access: tokens, users, sessions, passkeys. Only the person gets what they have read.
 */
export async function eventStream(c: Context, app: App, { name, after, stopping, rank }: Reader): Promise<Response> {
  const gone = new AbortController();
  const done = AbortSignal.any([stopping, c.req.raw.signal, gone.signal]);
  const changes = watchChanges(app.db);
  done.addEventListener("abort", changes.close, { once: true });
  const encoder = new TextEncoder();
  let cursor = after ?? (await lastEventId(app.db));
  let beat = Number.NEGATIVE_INFINITY;
  let readerRank: Rank | undefined;

  async function next(): Promise<string | undefined> {
    while (!done.aborted) {
      const seen = changes.count();
      const isDue = performance.now() - beat > heartbeatMs;
      const found = await eventsAfter(app.db, cursor, page);
      // An event about access may be the end of this reader's own: it is checked before anything else is sent.
      const isAccess = found.some(({ kind }) => isAboutAccess(kind));
      if (isDue || isAccess) readerRank = await rank();
      if (readerRank === undefined) return undefined;
      const isAdmin = readerRank === "admin";
      const allowed = isAccess && !isAdmin ? found.filter(({ kind }) => !isAboutAccess(kind)) : found;
      const events = allowed.filter(({ kind, actor }) => !isPrivate(kind) || actor === name);
      if (isDue) beat = performance.now();
      if (found.length > 0) cursor = found.at(-1)?.id;
      // The first heartbeat is sent immediately, so that the reader knows the stream is open.
      if (events.length > 0 || isDue) return events.map(spell).join("") || ": still here\n\n";
      // Read on without waiting if all events of this page were hidden.
      if (found.length === 0) await changes.after(seen, recheckMs);
    }
    changes.close();
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
