import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";

/** Worker thread that embeds texts, so that inference does not block the event loop. */

export type EmbedRequest = { id: number; texts: string[] };
export type EmbedResponse = { id: number; vectors: Float32Array[] } | { id: number; error: string };

const mostTokens = 256;

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
  const [runtime, { Tokenizer }] = await Promise.all([import("onnxruntime-web"), import("@huggingface/tokenizers")]);
  const read = async (name: string) => JSON.parse(await readFile(join(folder, name), "utf8"));
  const tokenizer = new Tokenizer(await read("tokenizer.json"), await read("tokenizer_config.json"));
  // More threads would take CPU time from other requests.
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
    if (!states) throw new Error("the model gives no last_hidden_state");
    const size = states.dims[2] ?? 0;
    return rows.map((row, at) => meanOf(states.data as Float32Array, at * width * size, row.length, size));
  };
}

/** Truncates, but keeps the last token, which marks the end of the text. */
function cut(ids: number[]): number[] {
  if (ids.length <= mostTokens) return ids;
  return [...ids.slice(0, mostTokens - 1), ids.at(-1) ?? 0];
}

/** The mean over the tokens of a text, normalized to length one. */
function meanOf(states: Float32Array, from: number, tokens: number, size: number): Float32Array {
  const mean = new Float32Array(size);
  for (let token = 0; token < tokens; token++)
    for (let d = 0; d < size; d++) mean[d] = (mean[d] ?? 0) + (states[from + token * size + d] ?? 0);
  const length = Math.hypot(...mean) || 1;
  return mean.map((value) => value / length);
}
