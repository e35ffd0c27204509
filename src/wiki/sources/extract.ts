import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { builtFile } from "../../kernel/package-files.ts";
import type { Answer, Parsed, Question } from "./extract/worker.ts";

export type Extracted = { format: "text" | Parsed; text: string };

/** Limits per file. A file that exceeds them is stored without text and found by its name. */
const limits = { ms: 30_000, heapMb: 1024, bytes: 1024 * 1024 * 1024, characters: 16 * 1024 * 1024 };
const pollMs = 50;

/**
 * The text of a source, or undefined if its format has none. HTML, PDF and DOCX are parsed in a worker
 * thread, one file at a time, so that the event loop stays free.
 */
export function extractor(allowed = limits) {
  let worker: Worker | undefined;
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();

  function ask(question: Question): Promise<Answer> {
    worker ??= new Worker(builtFile("extract-worker.js"), {
      resourceLimits: { maxOldGenerationSizeMb: allowed.heapMb },
      // Captured: the parsers print warnings about broken files.
      stdout: true,
      stderr: true,
    });
    const asked = worker;
    // The heap limit does not cover buffers, which decompressed data goes into.
    const before = process.memoryUsage.rss();
    const until = Date.now() + allowed.ms;
    return new Promise((resolve) => {
      const settle = (answer: Answer) => {
        clearInterval(watch);
        asked.off("message", settle).off("error", giveUp).off("exit", giveUp);
        resolve(answer);
      };
      const giveUp = () => {
        if (worker === asked) worker = undefined;
        void asked.terminate();
        settle(undefined);
      };
      const watch = setInterval(() => {
        if (Date.now() > until || process.memoryUsage.rss() - before > allowed.bytes) giveUp();
      }, pollMs);
      asked.on("message", settle).on("error", giveUp).on("exit", giveUp);
      asked.postMessage(question);
    });
  }

  async function parse(question: Question): Promise<Answer> {
    const turn = last;
    waiting++;
    const answer = turn.then(() => ask(question));
    last = answer;
    try {
      return await answer;
    } finally {
      waiting--;
      if (waiting === 0) {
        void worker?.terminate();
        worker = undefined;
      }
    }
  }

  return async (name: string, bytes: Buffer): Promise<Extracted | undefined> => {
    const format = formatOf(name, bytes);
    if (format === undefined) return undefined;
    const text = format === "text" ? bytes.toString("utf8").replace(/^\ufeff/, "") : await parse({ format, bytes });
    return { format, text: (text ?? "").slice(0, allowed.characters).replaceAll("\0", "").trim() };
  };
}

export type Extractor = ReturnType<typeof extractor>;

function formatOf(name: string, bytes: Buffer): Extracted["format"] | undefined {
  if (bytes.subarray(0, 5).toString("latin1") === "%PDF-") return "pdf";
  const ending = extname(name).toLowerCase();
  if (ending === ".docx" && bytes.subarray(0, 2).toString("latin1") === "PK") return "docx";
  if (bytes.subarray(0, 8000).includes(0)) return undefined;
  return [".html", ".htm", ".xhtml"].includes(ending) ? "html" : "text";
}
