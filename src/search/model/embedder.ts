import { Worker } from "node:worker_threads";
import { builtFile } from "../../kernel/package-files.ts";
import { ok, type Result } from "../../kernel/result.ts";
import type { EmbedRequest, EmbedResponse } from "./embedder/worker.ts";

/** Similarities up to `beside` count nothing; a passage without any word of the query needs more than `alone`. */
export type SimilarityFloor = { beside: number; alone: number };

/** Turns texts into vectors of length one. */
export interface Embedder {
  /** Vectors are stored under this name; those of different models cannot be compared. */
  readonly model: string;
  /** The most that vectors may weigh against words, from 0 to 1. */
  readonly maxWeight: number;
  /** Undefined for a model that was not measured. */
  readonly floor?: SimilarityFloor;
  /** Requests to a remote model time out after `waitMs`. */
  embed(texts: string[], waitMs?: number): Promise<Float32Array[]>;
  /** A refusal while the model may not be used; `embed` throws then. */
  check(): Result<true>;
  close(): Promise<void>;
}

type Waiting = { resolve(vectors: Float32Array[]): void; reject(error: Error): void };

/** Runs a model from a local folder in a worker thread, started at first use. */
export function localEmbedder(model: string, folder: string, floor: SimilarityFloor): Embedder {
  const waiting = new Map<number, Waiting>();
  let worker: Worker | undefined;
  let asked = 0;

  function start(): Worker {
    const fresh = new Worker(builtFile("embedder-worker.js"), { workerData: { folder } });
    const fail = (error: Error) => {
      if (worker === fresh) worker = undefined;
      for (const one of waiting.values()) one.reject(error);
      waiting.clear();
    };
    fresh.on("message", (answer: EmbedResponse) => {
      const one = waiting.get(answer.id);
      waiting.delete(answer.id);
      if (waiting.size === 0) fresh.unref();
      if ("error" in answer) one?.reject(new Error(answer.error));
      else one?.resolve(answer.vectors);
    });
    fresh.on("error", fail);
    fresh.on("exit", () => fail(new Error("the embedding worker thread exited")));
    return fresh;
  }

  return {
    model,
    maxWeight: 1,
    floor,
    embed(texts) {
      if (texts.length === 0) return Promise.resolve([]);
      worker ??= start();
      const thread = worker;
      thread.ref();
      return new Promise((resolve, reject) => {
        const id = ++asked;
        waiting.set(id, { resolve, reject });
        thread.postMessage({ id, texts } satisfies EmbedRequest);
      });
    },
    check: () => ok(true),
    async close() {
      await worker?.terminate();
    },
  };
}
