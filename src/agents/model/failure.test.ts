import { expect, test } from "vitest";
import { failureFrom } from "./failure.ts";

/** The refusal of a server, as the SDK reports it. */
const refusal = (statusCode: number, message: string, code?: string) =>
  failureFrom(
    Object.assign(new Error(message), {
      statusCode,
      responseBody: JSON.stringify({ error: { message, ...(code ? { code } : {}) } }),
      isRetryable: statusCode >= 500,
    }),
  );

test.each([
  [
    "OpenAI",
    400,
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130022 tokens.",
    128_000,
  ],
  [
    "OpenAI, GPT-5",
    400,
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    undefined,
  ],
  ["Anthropic", 400, "prompt is too long: 210319 tokens > 200000 maximum", 200_000],
  [
    "Anthropic",
    400,
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again",
    200_000,
  ],
  ["Anthropic", 413, "Request exceeds the maximum allowed number of bytes.", undefined],
  ["Gemini", 400, "The input token count (1200357) exceeds the maximum number of tokens allowed (1048576).", 1_048_576],
  [
    "vLLM",
    400,
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).",
    4096,
  ],
  ["vLLM", 400, "The decoder prompt (length 9023) is longer than the maximum model length of 8192.", 8192],
  [
    "vLLM",
    400,
    "'max_tokens' or 'max_completion_tokens' is too large: 16000. This model's maximum context length is 32768 tokens and your request has 20000 input tokens (16000 > 32768 - 20000).",
    32_768,
  ],
  ["llama.cpp", 400, "the request exceeds the available context size (4096 tokens), try increasing it", 4096],
  [
    "LM Studio",
    400,
    "Trying to keep the first 5312 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
    4096,
  ],
  [
    "Mistral",
    400,
    "Prompt contains 40312 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    32_768,
  ],
  ["xAI", 400, "This model's maximum prompt length is 131072 but the request contains 140022 tokens.", 131_072],
  [
    "Groq",
    413,
    "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7210, please reduce your message size",
    6000,
  ],
  [
    "OpenRouter",
    400,
    "This endpoint's maximum context length is 32768 tokens. However, you requested about 40212 tokens",
    32_768,
  ],
  ["Moonshot", 400, "Invalid request: Your request exceeded model token limit: 131072", 131_072],
  ["DashScope", 400, "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]", 30_720],
  [
    "TGI",
    422,
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs` tokens and 1000 `max_new_tokens`",
    4097,
  ],
  ["GitHub Models", 400, "prompt token count of 140321 exceeds the limit of 128000", 128_000],
  ["Bedrock", 400, "Input is too long for requested model.", undefined],
] as const)("W6: a conversation that is too long for %s (%i: %s) is compacted", (_server, status, message, limit) => {
  expect(refusal(status, message)).toMatchObject({ kind: "too-long", limit });
});

test.each([
  [
    "Anthropic",
    "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-haiku",
    8192,
  ],
  [
    "OpenAI",
    "max_tokens is too large: 64000. This model supports at most 16384 completion tokens, whereas you provided 64000.",
    16_384,
  ],
  ["DeepSeek", "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8192],
  ["DashScope", "<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]", 8192],
  [
    "Groq",
    "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model",
    8192,
  ],
] as const)(
  "W1: an answer that may be longer than %s allows is asked for again with its limit: %s",
  (_server, message, limit) => {
    expect(refusal(400, message)).toMatchObject({ kind: "answer", limit });
  },
);

test.each([
  [
    "Anthropic, no credit",
    400,
    "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
  ],
  [
    "Anthropic, spend limit",
    400,
    "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
  ],
  ["OpenAI, no quota", 429, "You exceeded your current quota, please check your plan and billing details."],
  ["OpenAI, hard limit", 400, "Billing hard limit has been reached"],
  ["DeepSeek, no balance", 402, "Insufficient Balance"],
  ["Gemini, wrong key", 400, "API key not valid. Please pass a valid API key."],
  ["xAI, wrong key", 400, "Incorrect API key provided: xa***23. You can obtain an API key from https://console.x.ai."],
  ["Anthropic, wrong key", 401, "invalid x-api-key"],
  ["OpenAI, region", 403, "Country, region, or territory not supported"],
  ["Ollama, no model", 404, 'model "qwen9" not found, try pulling it first'],
  ["OpenRouter, no model", 400, "house/llama-9 is not a valid model ID"],
  ["DeepSeek, no model", 400, "Model Not Exist"],
  ["Mistral, no model", 400, "Invalid model: mistral-9"],
] as const)("W6: %s (%i) needs a person: %s", (_server, status, message) => {
  expect(refusal(status, message)).toMatchObject({ kind: "person" });
});

test.each([
  ["Anthropic, overloaded", 529, "Overloaded"],
  [
    "OpenAI, rate",
    429,
    "Rate limit reached for gpt-5 in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 4000.",
  ],
  [
    "Gemini, rate",
    429,
    "You exceeded your current quota, please check your plan and billing details. Please retry in 23.4s.",
  ],
  ["a proxy", 502, "Bad gateway"],
  ["Cloudflare", 524, "A timeout occurred"],
  ["a lock", 409, "try again"],
] as const)("W6: %s (%i) passes by itself: %s", (_server, status, message) => {
  expect(refusal(status, message)).toMatchObject({ kind: "provider" });
});

test("W6: a request that no wait and no person can help ends the attempt", () => {
  expect(refusal(400, "messages.1.content: unexpected field")).toMatchObject({ kind: "request" });
});
