import { createHash } from "node:crypto";
import type { Log } from "../kernel/log.ts";
import { builtFile } from "../kernel/package-files.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Lane } from "../kernel/threads/fair-queue.ts";
import { defaultLimits, type Outcome, threadPool } from "../kernel/threads/thread-pool.ts";
import { plainText } from "./markdown.ts";
import type { RenderAnswer, RenderMessage, RenderRequest } from "./renderer/worker.ts";

const maxCachedCharacters = 32 * 1024 * 1024;
const requestMs = 10_000;
/** Less than a request waits: a text that is too slow is then known as such, and not begun again by each request. */
const wallMs = 8_000;
/** Texts that could not be rendered are prepared on the server's own thread, so less of them is shown. */
const maxPlainBytes = 256 * 1024;

/** A request that waits for rendered texts: all of them share its time limit, and none is rendered after it ended. */
export type Turn = Lane & { ended: Promise<{ kind: "late" | "cancelled" }> };

type Rendering = { outcome: Promise<Outcome<RenderAnswer>>; waiting: number; length: number; cancel: AbortController };

/**
 * Renders markdown in worker threads, so that a text that takes its whole time or memory limit does not delay other
 * requests. Results are cached. The text of a page is always rendered: unformatted, if it exceeds a limit.
 */
export function openRenderer(log: Log) {
  const cache = new Map<string, Rendering>();
  const stamps = new WeakMap<string[], string>();
  let size = 0;

  function stampOf(ids: string[]): string {
    const known = stamps.get(ids);
    if (known) return known;
    const stamp = hashOf(ids);
    stamps.set(ids, stamp);
    return stamp;
  }

  const pool = threadPool<RenderRequest, RenderAnswer>({
    file: builtFile("renderer-worker.js"),
    log,
    limits: { ...defaultLimits, wallMs },
    // The list of ids may be long and rarely changes, so it is sent to a thread only when its hash differs.
    messageFor({ ids, ...request }, memory): RenderMessage {
      const stamp = stampOf(ids);
      if (memory.get("ids") === stamp) return request;
      memory.set("ids", stamp);
      return { ...request, ids };
    },
  });

  function forgetOldest(): void {
    for (const [key, { length, waiting }] of cache) {
      if (size <= maxCachedCharacters) return;
      if (waiting > 0) continue;
      cache.delete(key);
      size -= length;
    }
  }

  function begin(key: string, request: RenderRequest, lane: Lane): Rendering {
    const cancel = new AbortController();
    const outcome = pool.run(request, lane, cancel.signal);
    const rendering: Rendering = { outcome, waiting: 0, length: 0, cancel };
    cache.set(key, rendering);
    void outcome.then(({ kind, ...rest }) => {
      if (cache.get(key) !== rendering) return;
      // A text that exceeds its limits does so again; any other failure is retried by the next request.
      if (kind === "cancelled" || kind === "failed") cache.delete(key);
      else size += rendering.length = "answer" in rest && "text" in rest.answer ? rest.answer.text.length : 0;
      forgetOldest();
    });
    return rendering;
  }

  /** The outcome, or the end of the request if that comes first. */
  async function run(request: RenderRequest, turn: Turn) {
    const key = hashOf({ ...request, ids: stampOf(request.ids) });
    const rendering = cache.get(key) ?? begin(key, request, turn);
    rendering.waiting++;
    const outcome = await Promise.race([rendering.outcome, turn.ended]);
    rendering.waiting--;
    // Several requests may wait for one text: it is cancelled when the last of them has ended.
    if (rendering.waiting === 0 && (outcome.kind === "late" || outcome.kind === "cancelled")) rendering.cancel.abort();
    return outcome;
  }

  return {
    async render(request: Omit<RenderRequest, "before">, turn: Turn): Promise<string> {
      const answer = answerOf(await run(request, turn));
      return "text" in answer ? answer.text : plainText(request.text, answer.trouble, maxPlainBytes);
    },
    /** The stretches as JSON. */
    async compare(request: RenderRequest & { before: string }, turn: Turn): Promise<Result<string>> {
      const answer = answerOf(await run(request, turn));
      if ("text" in answer) return ok(answer.text);
      const message = `this comparison is not rendered because ${answer.trouble}; compare the source texts`;
      return refuse("refused", message, { reason: answer.trouble });
    },
    /** Starts a thread and renders a sample, so that the first page does not wait for module loading and JIT. */
    warm() {
      if (pool.isWarm()) return;
      void pool.run({ text: sample, ids: none }, { client: "", request: {} }, new AbortController().signal);
    },
    counts: pool.counts,
    close: pool.close,
  };
}

/** The turn of a request, which ends at its time limit or when its client leaves. */
export async function withTurn<T>(client: string, left: AbortSignal, work: (turn: Turn) => Promise<T>): Promise<T> {
  let end: (why: Awaited<Turn["ended"]>) => void = () => undefined;
  const ended: Turn["ended"] = new Promise((resolve) => {
    end = resolve;
  });
  const leave = () => end({ kind: "cancelled" });
  const clock = setTimeout(() => end({ kind: "late" }), requestMs);
  left.addEventListener("abort", leave, { once: true });
  if (left.aborted) leave();
  try {
    return await work({ client, request: {}, ended });
  } finally {
    clearTimeout(clock);
    left.removeEventListener("abort", leave);
  }
}

/** When the client has left, nobody reads the answer. */
function answerOf(outcome: Outcome<RenderAnswer> | Awaited<Turn["ended"]>): RenderAnswer {
  if (outcome.kind === "done") return outcome.answer;
  return outcome.kind === "cancelled" ? { text: "" } : { trouble: troubles[outcome.kind] };
}

const troubles = {
  slow: "rendering takes too long",
  late: "rendering takes too long",
  memory: "rendering takes too much memory",
  failed: "rendering failed",
};

const none: string[] = [];
const sample = "# One\n\n| a | b |\n|---|---|\n| $x^2$ | [[two]] |\n\n```ts\nconst a = 1;\n```\n";

const hashOf = (value: object) => createHash("sha256").update(JSON.stringify(value)).digest("base64");

export type Renderer = ReturnType<typeof openRenderer>;
