import type { Database } from "../store/database.ts";
import { type Event, eventsAfter } from "../store/events.ts";
import { watchChanges } from "../store/wait-for-change.ts";

const page = 100;
const pagesKept = 20;
/** Finds events whose notification was lost, e.g. because their process was killed after the commit. */
const pollMs = 5000;

/**
 * The event log for all readers of this process. A page is read once, however many readers have its cursor, and nothing
 * is read while nothing changes: a thousand idle readers cost as much as one.
 */
export function openEventFeed(db: Database, stopping: AbortSignal) {
  const changes = watchChanges({
    onChange(listener) {
      const unsubscribe = db.onChange(listener);
      const timer = setInterval(listener, pollMs).unref();
      return () => {
        clearInterval(timer);
        unsubscribe();
      };
    },
  });
  stopping.addEventListener("abort", changes.close, { once: true });
  /** Pages by cursor. Events keep their positions, so that a page stays valid; an empty one does until the next change. */
  const pages = new Map<string, { events: Promise<Event[]>; emptyAt: number | undefined }>();

  async function read(cursor: string, known: { emptyAt: number | undefined }): Promise<Event[]> {
    try {
      const events = await eventsAfter(db, cursor, page);
      if (events.length > 0) known.emptyAt = undefined;
      return events;
    } catch (error) {
      pages.delete(cursor);
      throw error;
    }
  }

  return {
    /** The number of changes so far; also counts each time that the log is looked at without one. */
    count: changes.count,
    /** Resolves at a change after `seen`, after `ms`, or when the signal aborts. */
    change: changes.after,

    /** The first events after the cursor, a page at most. */
    after(cursor: string): Promise<Event[]> {
      const now = changes.count();
      const known = pages.get(cursor);
      if (known && (known.emptyAt ?? now) === now) return known.events;
      const fresh = { emptyAt: now, events: Promise.resolve<Event[]>([]) };
      fresh.events = read(cursor, fresh);
      pages.delete(cursor);
      pages.set(cursor, fresh);
      if (pages.size > pagesKept) pages.delete(pages.keys().next().value as string);
      return fresh.events;
    },
  };
}

export type EventFeed = ReturnType<typeof openEventFeed>;
