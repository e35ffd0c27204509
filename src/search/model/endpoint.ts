import { type Result, unwrap } from "../../kernel/result.ts";
import type { Embedder } from "./embedder.ts";

export type Endpoint = {
  url: string;
  model: string;
  key: string | undefined;
  maxWeight: number;
  /** Whether texts and the key may be sent there. */
  check(): Result<true>;
};

const defaultWaitMs = 60_000;

/** A server with OpenAI's embeddings API: OpenAI, Ollama, vLLM, llama.cpp and others. */
export const endpointEmbedder = ({ url, model, key, maxWeight, check }: Endpoint): Embedder => ({
  model: `${model}${hostOf(url)}`,
  maxWeight,
  check,
  async embed(texts, waitMs = defaultWaitMs) {
    if (texts.length === 0) return [];
    unwrap(check());
    const response = await fetch(`${url.replace(/(?<!\/)\/+$/, "")}/embeddings`, {
      method: "POST",
      headers: { "content-type": "application/json", ...(key ? { authorization: `Bearer ${key}` } : {}) },
      body: JSON.stringify({ model, input: texts, encoding_format: "float" }),
      signal: AbortSignal.timeout(waitMs),
    });
    if (!response.ok)
      throw new Error(
        `the embeddings server responded with ${response.status}: ${(await response.text()).slice(0, 200)}`,
      );
    const { data } = (await response.json()) as { data?: { index?: number; embedding?: number[] }[] };
    const ordered = [...(data ?? [])].sort((a, b) => (a.index ?? 0) - (b.index ?? 0));
    if (ordered.length !== texts.length)
      throw new Error(`the embeddings server returned ${ordered.length} vectors for ${texts.length} texts`);
    return ordered.map(({ embedding }) => {
      if (!Array.isArray(embedding) || embedding.length === 0 || !embedding.every(Number.isFinite))
        throw new Error("the embeddings server returned something that is not a vector");
      return unit(embedding);
    });
  },
  close: async () => undefined,
});

const hostOf = (url: string) => ` @ ${new URL(url).host}`;

/** The model's name at this server; undefined if the vectors are of another server. */
export const modelAt = (name: string, url: string): string | undefined =>
  name.endsWith(hostOf(url)) ? name.slice(0, -hostOf(url).length) : undefined;

function unit(values: number[]): Float32Array {
  const vector = Float32Array.from(values);
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}
