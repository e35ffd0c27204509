import { createHash } from "node:crypto";
import { Worker } from "node:worker_threads";
import type { Log } from "../kernel/log.ts";
import { builtFile } from "../kernel/package-files.ts";
import { plainText } from "./markdown.ts";
import type { RenderMessage, RenderRequest } from "./renderer/worker.ts";

const heap = { maxOldGenerationSizeMb: 512 };
const maxCachedCharacters = 32 * 1024 * 1024;

/**
 * Renders markdown in a worker thread, one text at a time, so that a text that takes its whole time or memory limit
 * does not block other requests. Results are cached.
 */
export function openRenderer(log: Log) {
  const cache = new Map<string, { html: Promise<string>; length: number }>();
  // The list of ids may be long and rarely changes, so it is sent to the worker only when its hash differs.
  const stamps = new WeakMap<string[], string>();
  let sentIds: string | undefined;
  let size = 0;
  let worker: Worker | undefined;
  let last: Promise<unknown> = Promise.resolve();

  function start(): Worker {
    sentIds = undefined;
    const fresh = new Worker(builtFile("renderer-worker.js"), { resourceLimits: heap });
    fresh.on("error", (error) => log.warn({ error: String(error) }, "renderer-failed"));
    fresh.on("exit", () => {
      if (worker === fresh) worker = undefined;
    });
    fresh.unref();
    return fresh;
  }

  function stampOf(ids: string[]): string {
    const known = stamps.get(ids);
    if (known) return known;
    const stamp = hashOf(ids);
    stamps.set(ids, stamp);
    return stamp;
  }

  function ask({ ids, ...request }: RenderRequest): Promise<string> {
    worker ??= start();
    const target = worker;
    const stamp = stampOf(ids);
    const message: RenderMessage = sentIds === stamp ? request : { ...request, ids };
    sentIds = stamp;
    return new Promise((answer) => {
      const settle = (html: string) => {
        target.off("message", settle).off("exit", giveUp);
        answer(html);
      };
      const giveUp = () => settle(plainText(request.text, "rendering takes too much memory"));
      target.on("message", settle).on("exit", giveUp);
      target.postMessage(message);
    });
  }

  function forgetOldest(): void {
    for (const [key, { length }] of cache) {
      if (size <= maxCachedCharacters) return;
      cache.delete(key);
      size -= length;
    }
  }

  function render(request: RenderRequest): Promise<string> {
    const key = hashOf({ ...request, ids: stampOf(request.ids) });
    const known = cache.get(key);
    if (known) return known.html;

    const html = last.then(() => ask(request));
    // If the worker failed to start, the next text tries again.
    last = html.catch(() => cache.delete(key));
    const page = { html, length: 0 };
    cache.set(key, page);
    return html.then((text) => {
      if (cache.get(key) === page) size += page.length = text.length;
      forgetOldest();
      return text;
    });
  }

  return {
    render,
    /** Starts the worker and renders a sample, so that the first page does not wait for module loading and JIT. */
    warm() {
      worker ??= start();
      void render({ text: sample, ids: none });
    },
    async close() {
      await worker?.terminate();
    },
  };
}

const none: string[] = [];
const sample = "# One\n\n| a | b |\n|---|---|\n| $x^2$ | [[two]] |\n\n```ts\nconst a = 1;\n```\n";

const hashOf = (value: object) => createHash("sha256").update(JSON.stringify(value)).digest("base64");

export type Renderer = ReturnType<typeof openRenderer>;
