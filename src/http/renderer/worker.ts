import { parentPort } from "node:worker_threads";
import { renderMarkdown } from "../markdown.ts";

/** What the thread is asked: a text, and the ids that a wiki link may name. */
export type Question = { text: string; ids: string[] };

parentPort?.on("message", ({ text, ids }: Question) => {
  const known = new Set(ids);
  const linkTo = (id: string) => (known.has(id) ? `/entries/${encodeURIComponent(id)}` : undefined);
  parentPort?.postMessage(renderMarkdown(text, { linkTo }));
});
