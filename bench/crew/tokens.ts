import type { Heard } from "../../test/support/model-wire.ts";

/** One request to the model in tokens: without the schemas of tools, and those; and what a cache would have of it. */
export type Sent = {
  part: string;
  conversation: string;
  isFirst: boolean;
  text: number;
  tools: number;
  /** The beginning that an earlier request had too: of this conversation, or tools and system text of its part. */
  cached: number;
};

/** Prices of input in units of an uncached token, as Anthropic has them. */
const readPrice = 0.1;
const writePrice = 1.25;

export const inputOf = ({ text, tools }: Sent) => text + tools;
export const totalOf = (sent: Sent[]) => sent.reduce((sum, one) => sum + inputOf(one), 0);
/** What all input costs with a cache, in uncached tokens. */
export const cachedCostOf = (sent: Sent[]) =>
  sent.reduce((sum, one) => sum + one.cached * readPrice + (inputOf(one) - one.cached) * writePrice, 0);

/** Measures the requests of a model, each message once. */
export function meter(countTokens: (text: string) => number) {
  const counted = new Map<string, number>();
  const tokens = (text: string) => {
    const known = counted.get(text);
    if (known !== undefined) return known;
    const count = countTokens(text);
    counted.set(text, count);
    return count;
  };
  /** The blocks of the last request, by conversation and by part. */
  const before = new Map<string, string[]>();
  const sent: Sent[] = [];
  return {
    sent,
    hear({ body, tools: names, messages }: Heard): void {
      const part = partOf(names);
      const conversation = `${part} ${messages[0]?.text}`;
      const tools = withoutOptions(body.tools);
      const system = withoutOptions(body.system);
      const blocks = [tools, system, ...(body.messages as unknown[]).map(withoutOptions)];
      const isFirst = !before.has(conversation);
      const earlier = before.get(conversation) ?? before.get(part)?.slice(0, 2) ?? [];
      const same = blocks.findIndex((block, i) => block !== earlier[i]);
      const shared = blocks.slice(0, same === -1 ? blocks.length : same);
      const sum = (some: string[]) => some.reduce((total, block) => total + tokens(block), 0);
      sent.push({ part, conversation, isFirst, text: sum(blocks.slice(1)), tools: tokens(tools), cached: sum(shared) });
      before.set(conversation, blocks);
      before.set(part, blocks);
    },
  };
}

/** Options of the request, which no model reads: cache marks, and how the arguments of a tool are streamed. */
const options = new Set(["cache_control", "eager_input_streaming"]);
const withoutOptions = (value: unknown) =>
  JSON.stringify(value ?? "", (key, inner) => (options.has(key) ? undefined : inner));

/** Which agent a request came from. */
function partOf(tools: string[]): string {
  const known = { finish_plan: "pm", submit_output: "worker", submit_verdict: "qc", submit_preamble: "preamble" };
  const found = Object.entries(known).find(([tool]) => tools.includes(tool));
  return found?.[1] ?? (tools.includes("submit_report") ? "reporter" : "solo");
}
