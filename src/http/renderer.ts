import { createHash } from "node:crypto";
import { Worker } from "node:worker_threads";
import type { Log } from "../kernel/log.ts";
import { builtFile } from "../kernel/package-files.ts";
import { plainText } from "./markdown.ts";
import type { Asked, Question } from "./renderer/worker.ts";

const heap = { maxOldGenerationSizeMb: 512 };
const keptCharacters = 32 * 1024 * 1024;

/**
 * Renders in a thread of its own, one text after the other: a hostile one takes its two seconds,
 * or its half gigabyte, there, while everyone else is served. What was rendered is kept.
 */
export function openRenderer(log: Log) {
  const kept = new Map<string, { html: Promise<string>; length: number }>();
  // There may be tens of thousands of ids, and they rarely change: the thread is told when they do.
  const stamps = new WeakMap<string[], string>();
  let told: string | undefined;
  let size = 0;
  let worker: Worker | undefined;
  let last: Promise<unknown> = Promise.resolve();

  function start(): Worker {
    told = undefined;
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

  function ask({ ids, ...question }: Question): Promise<string> {
    worker ??= start();
    const asked = worker;
    const stamp = stampOf(ids);
    const message: Asked = told === stamp ? question : { ...question, ids };
    told = stamp;
    return new Promise((answer) => {
      const settle = (html: string) => {
        asked.off("message", settle).off("exit", giveUp);
        answer(html);
      };
      const giveUp = () => settle(plainText(question.text, "it takes too much memory to lay out"));
      asked.on("message", settle).on("exit", giveUp);
      asked.postMessage(message);
    });
  }

  function forgetOldest(): void {
    for (const [key, { length }] of kept) {
      if (size <= keptCharacters) return;
      kept.delete(key);
      size -= length;
    }
  }

  function render(question: Question): Promise<string> {
    const key = hashOf({ ...question, ids: stampOf(question.ids) });
    const known = kept.get(key);
    if (known) return known.html;

    const html = last.then(() => ask(question));
    // A thread that could not be started is tried again with the next text.
    last = html.catch(() => kept.delete(key));
    const page = { html, length: 0 };
    kept.set(key, page);
    return html.then((text) => {
      if (kept.get(key) === page) size += page.length = text.length;
      forgetOldest();
      return text;
    });
  }

  return {
    render,
    /** Starts the thread and lets it render once, so that the first page need not wait for either. */
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
