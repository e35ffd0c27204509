import type { Context } from "hono";
import type { App } from "../app.ts";
import { type Event, eventsAfter, lastEventId } from "../store/events.ts";

const page = 100;
const heartbeatMs = 15_000;
const recheckMs = 1000;

/**
 * The event log as server-sent events. A reader is a cursor and nothing else: the next page is
 * read from the database when the reader has taken the one before, so a slow one holds no memory.
 */
export async function eventStream(c: Context, app: App, stopping: AbortSignal): Promise<Response> {
  let cursor = c.req.header("last-event-id") ?? c.req.query("after") ?? (await lastEventId(app.db));
  let wake: () => void = () => undefined;
  let changed = false;
  let beat = Date.now();
  const done = AbortSignal.any([stopping, c.req.raw.signal]);
  const unsubscribe = app.db.onChange(() => {
    changed = true;
    wake();
  });
  done.addEventListener("abort", () => wake());

  const wait = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, recheckMs);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (changed || done.aborted) wake();
    });

  const encode = new TextEncoder();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        for (;;) {
          if (done.aborted) {
            unsubscribe();
            controller.close();
            return;
          }
          changed = false;
          const events = await eventsAfter(app.db, cursor, page);
          if (events.length > 0) {
            cursor = events.at(-1)?.id;
            controller.enqueue(encode.encode(events.map(spell).join("")));
            return;
          }
          if (Date.now() - beat > heartbeatMs) {
            beat = Date.now();
            controller.enqueue(encode.encode(": still here\n\n"));
            return;
          }
          await wait();
        }
      },
      cancel: () => void unsubscribe(),
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: { "content-type": "text/event-stream", "cache-control": "no-store" } });
}

const spell = ({ id, ...event }: Event) =>
  `id: ${id}\nevent: ${event.kind}\ndata: ${JSON.stringify({ id, ...event })}\n\n`;
