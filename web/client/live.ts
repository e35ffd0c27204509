import type { QueryClient } from "@tanstack/react-query";
import { createParser } from "eventsource-parser";

export type LiveState = "connecting" | "live" | "offline";

// Which queries an event makes old: the first word of its kind, and the names of operations that show it.
const shows: Record<string, RegExp> = {
  entry:
    /^(rendered|list_entries|list_pages|read_page|fetch_entry|entry_|search|status|show_schema|memory_|list_topics|get_topic|show_proposal|.*perspective)/,
  index: /./,
  section: /^(list_entries|show_schema|rendered)/,
  page: /^(rendered|list_pages|read_page|list_topics|get_topic|.*perspective)/,
  proposal: /(proposal|^status|^rendered|topic|inbox)/,
  topic: /(topic|inbox)/,
  message: /topic/,
  job: /(job|topic|proposal|perspective|inbox)/,
  perspective: /(perspective|persona)/,
  persona: /(perspective|persona)/,
  task: /(todo|task|run|plan|metric|inbox)/,
  todo: /(todo|task|run|plan|metric|inbox)/,
  run: /(run|todo|task|plan|metric|report|inbox)/,
  ask: /(question|ask|run|inbox|task)/,
  question: /(question|ask|run|inbox|task)/,
  attempt: /(run|task|metric)/,
  verdict: /(run|task|metric)/,
  agent: /(run|task|metric)/,
  worker: /(run|task|metric)/,
  qc: /(run|task|metric)/,
  check: /(run|task|metric)/,
  node: /^memory_/,
  edge: /^memory_/,
  source: /source|^status/,
  token: /token/,
  user: /user|token/,
};

// Lists of every page. In a large base they are megabytes, and a busy crew writes every second.
const catalogues = /^list_(entries|pages)$/;
const catalogueEveryMs = 3000;
/** The server says something every five seconds: a line that is silent for so long is dead, whatever the system says. */
const silentMs = 20_000;
/** An answer that takes longer than this no longer keeps others waiting. */
const longestReadMs = 5000;

/** Makes old whatever shows the nouns of these operations or events; of `which`, if given. */
export async function touchedBy(
  queries: QueryClient,
  names: string[],
  which: (operation: string) => boolean = () => true,
): Promise<void> {
  const words = names.flatMap((name) => name.split(/[-_.]/));
  const patterns = words.flatMap((word) => shows[word] ?? shows[word.replace(/ies$/, "y").replace(/s$/, "")] ?? []);
  const predicate = ({ queryKey: [operation] }: { queryKey: readonly unknown[] }) =>
    which(String(operation)) && patterns.some((pattern) => pattern.test(String(operation)));
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
  let cursor = from;
  let waitMs = 500;
  // Events come in bursts; what they make old is read again once.
  const soon = gathered(150, (nouns) => touchedBy(queries, nouns, (operation) => !catalogues.test(operation)));
  const later = gathered(catalogueEveryMs, (nouns) =>
    touchedBy(queries, nouns, (operation) => catalogues.test(operation)),
  );
  function mark(kind: string): void {
    const noun = kind.split("-", 1)[0] ?? kind;
    soon.add(noun);
    later.add(noun);
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
      headers: { accept: "text/event-stream", "last-event-id": cursor },
    });
    if (!answer.ok || !answer.body) throw new Error(`the event feed answered ${answer.status}`);
    onState("live");
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
      await read().catch(() => undefined);
      if (stopped.signal.aborted) return;
      onState("offline");
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
function gathered(everyMs: number, work: (nouns: string[]) => Promise<void>) {
  const pending = new Set<string>();
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
    add(noun: string) {
      pending.add(noun);
      plan();
    },
    stop: () => clearTimeout(timer),
  };
}
