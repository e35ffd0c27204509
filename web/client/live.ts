import type { QueryClient } from "@tanstack/react-query";
import { createParser } from "eventsource-parser";
import { type Noun, nounsOfEvent } from "../../src/kernel/noun.ts";
import type { OperationName } from "../../src/operation-loaders.ts";
import { boot } from "../boot.ts";
import { fromPage } from "./page-secret.ts";

export type LiveState = "connecting" | "live" | "offline" | "signed-out";

/** Views that are not operations, and the nouns whose change makes them stale. */
const viewReads: Record<string, readonly Noun[]> = {
  rendered: ["entry", "section", "page", "proposal"],
  "rendered texts": ["entry", "section", "page", "proposal"],
};

const readsOf = (query: string): readonly Noun[] => boot.operations[query]?.reads ?? viewReads[query] ?? [];

// Lists of every page. In a large base they are megabytes, and a busy crew writes every second.
const catalogues: ReadonlySet<string> = new Set<OperationName>(["list_entries", "list_pages"]);
const catalogueEveryMs = 3000;
/** The server says something every five seconds: a line that is silent for so long is dead, whatever the system says. */
const silentMs = 20_000;
/** An answer that takes longer than this no longer keeps others waiting. */
const longestReadMs = 5000;

/** Invalidates the queries that read one of these nouns; only those in `which`, if given. */
export async function invalidate(
  queries: QueryClient,
  nouns: readonly Noun[],
  which: (query: string) => boolean = () => true,
): Promise<void> {
  const predicate = ({ queryKey: [name] }: { queryKey: readonly unknown[] }) =>
    which(String(name)) && readsOf(String(name)).some((noun) => nouns.includes(noun));
  // A first answer that is still on its way may have been made before the change: it is asked for again.
  await queries.cancelQueries({ predicate: (query) => predicate(query) && query.state.data === undefined });
  await queries.invalidateQueries({ predicate });
}

type Feed = { queries: QueryClient; from: string; onState(state: LiveState): void };

/**
 * The event log, read for as long as the page is open, beginning where it ended when the server made
 * the page. A reader that lost its connection comes back with the last id it has seen: nothing is missed.
 */
export function follow({ queries, from, onState }: Feed): () => void {
  const stopped = new AbortController();
  let cursor: string | undefined = from;
  let waitMs = 500;
  let isSignedOut = false;
  // Events come in bursts; what they make old is read again once.
  const soon = gathered(150, (nouns) => invalidate(queries, nouns, (query) => !catalogues.has(query)));
  const later = gathered(catalogueEveryMs, (nouns) => invalidate(queries, nouns, (query) => catalogues.has(query)));
  function mark(kind: string): void {
    for (const noun of nounsOfEvent(kind)) {
      soon.add(noun);
      later.add(noun);
    }
  }

  async function read(): Promise<void> {
    const lost = new AbortController();
    const giveUp = () => lost.abort();
    window.addEventListener("offline", giveUp, { once: true, signal: stopped.signal });
    let silence = setTimeout(giveUp, silentMs);
    const isHeard = () => {
      clearTimeout(silence);
      silence = setTimeout(giveUp, silentMs);
    };
    try {
      await readUntilLost(AbortSignal.any([stopped.signal, lost.signal]), isHeard);
    } finally {
      clearTimeout(silence);
      window.removeEventListener("offline", giveUp);
    }
  }

  async function readUntilLost(signal: AbortSignal, isHeard: () => void): Promise<void> {
    const answer = await fetch("/api/events", {
      signal,
      headers: { ...fromPage(), accept: "text/event-stream", ...(cursor ? { "last-event-id": cursor } : {}) },
    });
    if (answer.status === 400) {
      // The log was restored or replaced, or the server was upgraded: begin with its newest event and read all again.
      cursor = undefined;
      throw new Error("the server does not know the last event of this page");
    }
    if (answer.status === 401) {
      isSignedOut = true;
      return;
    }
    if (!answer.ok || !answer.body) throw new Error(`the event stream responded with status ${answer.status}`);
    onState("live");
    if (!cursor) void queries.invalidateQueries();
    waitMs = 500;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    const parser = createParser({ onEvent: ({ data }) => take(data) });
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      isHeard();
      parser.feed(value);
    }
  }

  function take(data: string): void {
    const event = JSON.parse(data) as { id: string; kind: string };
    cursor = event.id;
    mark(event.kind);
  }

  async function keepReading(): Promise<void> {
    while (!stopped.signal.aborted) {
      const isLost = await read().then(
        () => false,
        () => true,
      );
      if (stopped.signal.aborted) return;
      if (isSignedOut) return onState("signed-out");
      // The server itself ended the stream: the next answer says whether the session has ended.
      if (isLost) onState("offline");
      await new Promise((resolve) => {
        setTimeout(resolve, waitMs);
        window.addEventListener("online", resolve, { once: true });
      });
      waitMs = Math.min(waitMs * 2, 10_000);
    }
  }
  void keepReading();
  return () => {
    stopped.abort();
    soon.stop();
    later.stop();
  };
}

/**
 * Works on everything that was added, shortly after the first, and then at most once in `everyMs`. What is
 * being read is read to its end first: a busy crew would otherwise cut off every answer before it came.
 */
function gathered(everyMs: number, work: (nouns: Noun[]) => Promise<void>) {
  const pending = new Set<Noun>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isWorking = false;
  let last = 0;
  const plan = () => {
    if (!isWorking && pending.size > 0) timer ??= setTimeout(flush, Math.max(150, last + everyMs - Date.now()));
  };
  const flush = async () => {
    timer = undefined;
    last = Date.now();
    isWorking = true;
    const nouns = [...pending];
    pending.clear();
    const patience = new Promise((done) => setTimeout(done, longestReadMs));
    await Promise.race([patience, work(nouns).catch(() => undefined)]);
    isWorking = false;
    plan();
  };
  return {
    add(noun: Noun) {
      pending.add(noun);
      plan();
    },
    stop: () => clearTimeout(timer),
  };
}
