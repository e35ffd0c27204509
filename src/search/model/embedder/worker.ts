import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parentPort, workerData } from "node:worker_threads";
import { Tokenizer } from "@huggingface/tokenizers";

/** A thread that embeds texts without blocking the event loop of the process. */

export type EmbedRequest = { id: number; texts: string[] };
export type EmbedResponse = { id: number; vectors: Float32Array[] } | { id: number; error: string };

/** The part of onnxruntime-web that is called here. `model install` puts the package's build beside the weights. */
type Runtime = {
  env: { logLevel: string; wasm: { numThreads: number } };
  Tensor: new (type: "int64", data: BigInt64Array, dims: number[]) => Tensor;
  InferenceSession: {
    create(model: Uint8Array): Promise<{ run(input: Record<string, Tensor>): Promise<Record<string, Tensor>> }>;
  };
};
type Tensor = { data: unknown; dims: readonly number[] };

const maxTokens = 256;

const { folder } = workerData as { folder: string };
const ready = load();

parentPort?.on("message", (question: EmbedRequest) => void answer(question));

async function answer({ id, texts }: EmbedRequest): Promise<void> {
  try {
    const embed = await ready;
    const vectors = await embed(texts);
    parentPort?.postMessage(
      { id, vectors } satisfies EmbedResponse,
      vectors.map((vector) => vector.buffer as ArrayBuffer),
    );
  } catch (error) {
    parentPort?.postMessage({
      id,
      error: error instanceof Error ? error.message : String(error),
    } satisfies EmbedResponse);
  }
}

async function load() {
  const runtime = (await import(pathToFileURL(join(folder, "ort.wasm.min.mjs")).href)) as Runtime;
  const read = async (name: string) => JSON.parse(await readFile(join(folder, name), "utf8"));
  const tokenizer = new Tokenizer(await read("tokenizer.json"), await read("tokenizer_config.json"));
  // One thread: more would compete for cores with the process that serves requests.
  runtime.env.wasm.numThreads = 1;
  runtime.env.logLevel = "error";
  const session = await runtime.InferenceSession.create(await readFile(join(folder, "model.onnx")));

  return async (texts: string[]): Promise<Float32Array[]> => {
    const rows = texts.map((text) => cut(tokenizer.encode(text).ids));
    const width = Math.max(...rows.map((row) => row.length));
    const shape = [rows.length, width];
    const ids = new BigInt64Array(rows.length * width);
    const mask = new BigInt64Array(rows.length * width);
    for (const [at, row] of rows.entries()) {
      for (const [column, token] of row.entries()) {
        ids[at * width + column] = BigInt(token);
        mask[at * width + column] = 1n;
      }
    }
    const tensor = (data: BigInt64Array) => new runtime.Tensor("int64", data, shape);
    const input = {
      input_ids: tensor(ids),
      attention_mask: tensor(mask),
      token_type_ids: tensor(new BigInt64Array(ids.length)),
    };
    const { last_hidden_state: states } = await session.run(input);
    if (!states) throw new Error("the model has no output last_hidden_state");
    const size = states.dims[2] ?? 0;
    return rows.map((row, at) => meanOf(states.data as Float32Array, at * width * size, row.length, size));
  };
}

/** Truncates to `maxTokens` and keeps the end-of-text token, which is the last. */
function cut(ids: number[]): number[] {
  if (ids.length <= maxTokens) return ids;
  return [...ids.slice(0, maxTokens - 1), ids.at(-1) ?? 0];
}

/** Mean pooling over the tokens of one text, normalised to length one. */
function meanOf(states: Float32Array, from: number, tokens: number, size: number): Float32Array {
  const mean = new Float32Array(size);
  for (let token = 0; token < tokens; token++)
    for (let d = 0; d < size; d++) mean[d] = (mean[d] ?? 0) + (states[from + token * size + d] ?? 0);
  const length = Math.hypot(...mean) || 1;
  return mean.map((value) => value / length);
}
