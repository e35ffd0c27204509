import type { Context } from "hono";
import type { App } from "../app.ts";
import { type Event, eventsAfter, lastEventId } from "../store/events.ts";
import { watchChanges } from "../store/wait-for-change.ts";

const page = 100;
/** Also how long a reader whose token was revoked may still hear something. */
const heartbeatMs = 5000;
const recheckMs = 1000;

type Reader = { stopping: AbortSignal; isWelcome: () => Promise<boolean> };

/**
 * The event log as server-sent events. A reader is a cursor and nothing else: the next page is
 * read from the database when the reader has taken the one before, so a slow one holds no memory.
 */
export async function eventStream(c: Context, app: App, { stopping, isWelcome }: Reader): Promise<Response> {
  const gone = new AbortController();
  const done = AbortSignal.any([stopping, c.req.raw.signal, gone.signal]);
  const changes = watchChanges(app.db);
  done.addEventListener("abort", changes.close, { once: true });
  const encoder = new TextEncoder();
  let cursor = c.req.header("last-event-id") ?? c.req.query("after") ?? (await lastEventId(app.db));
  let beat = 0;

  async function next(): Promise<string | undefined> {
    while (!done.aborted) {
      const seen = changes.count();
      const isDue = Date.now() - beat > heartbeatMs;
      if (isDue && !(await isWelcome())) return undefined;
      const events = await eventsAfter(app.db, cursor, page);
      if (isDue) beat = Date.now();
      if (events.length > 0) cursor = events.at(-1)?.id;
      // The first heartbeat is sent immediately, so that the reader knows the stream is open.
      if (events.length > 0 || isDue) return events.map(spell).join("") || ": still here\n\n";
      await changes.after(seen, recheckMs);
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
