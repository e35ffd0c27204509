import { createHash } from "node:crypto";
import { Worker } from "node:worker_threads";
import type { Log } from "../app.ts";
import { plainText } from "./markdown.ts";
import type { Question } from "./renderer/worker.ts";

// The build puts the thread's code beside every other file that is started.
const thread = new URL("./renderer-worker.js", import.meta.url);
const heap = { maxOldGenerationSizeMb: 512 };
const keptCharacters = 32 * 1024 * 1024;

/**
 * Renders in a thread of its own, one text after the other: a hostile one takes its two seconds,
 * or its half gigabyte, there, while everyone else is served. What was rendered is kept.
 */
export function openRenderer(log: Log) {
  const kept = new Map<string, { html: Promise<string>; length: number }>();
  let size = 0;
  let worker: Worker | undefined;
  let last: Promise<unknown> = Promise.resolve();

  function start(): Worker {
    const fresh = new Worker(thread, { resourceLimits: heap });
    fresh.on("error", (error) => log.warn({ error: String(error) }, "renderer-failed"));
    fresh.on("exit", () => {
      if (worker === fresh) worker = undefined;
    });
    fresh.unref();
    return fresh;
  }

  function ask(question: Question): Promise<string> {
    worker ??= start();
    const asked = worker;
    return new Promise((answer) => {
      const settle = (html: string) => {
        asked.off("message", settle).off("exit", giveUp);
        answer(html);
      };
      const giveUp = () => settle(plainText(question.text, "it takes too much memory to lay out"));
      asked.on("message", settle).on("exit", giveUp);
      asked.postMessage(question);
    });
  }

  function forgetOldest(): void {
    for (const [key, { length }] of kept) {
      if (size <= keptCharacters) return;
      kept.delete(key);
      size -= length;
    }
  }

  return {
    render(question: Question): Promise<string> {
      const key = createHash("sha256").update(JSON.stringify(question)).digest("base64");
      const known = kept.get(key);
      if (known) return known.html;

      const html = last.then(() => ask(question));
      last = html;
      const page = { html, length: 0 };
      kept.set(key, page);
      return html.then((text) => {
        if (kept.get(key) === page) size += page.length = text.length;
        forgetOldest();
        return text;
      });
    },
    async close() {
      await worker?.terminate();
    },
  };
}

export type Renderer = ReturnType<typeof openRenderer>;
