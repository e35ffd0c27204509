import { addressOf, type Provider } from "./providers.ts";

/**
 * What the failure concerns, and so who can do something about it: `provider` passes by itself, `person` needs a key, a
 * model's name or a quota, `too-long` and `answer` are limits of the model, `request` is anything else.
 */
export type FailureKind = "provider" | "person" | "too-long" | "answer" | "request";

/** Why one model call failed. */
export type CallFailure = {
  kind: FailureKind;
  /** The limit in tokens that the server named, for `too-long` and `answer`. */
  limit: number | undefined;
  /** The HTTP status; undefined when there was no answer, or only a part of one. */
  status: number | undefined;
  /** True when no connection could be made. */
  unreachable: boolean;
  /** In the words of the server or of the connection. */
  detail: string;
  delayMs: number | undefined;
  /** True when the server certainly did not charge for it. */
  free: boolean;
};

type Where = { name: string; model: string; provider: Provider };

/** The cause and what to do about it; the variable of the key and the address are named, the key never is. */
export function explain({ status, unreachable, detail }: CallFailure, { name, model, provider }: Where): string {
  const server = `the model server ${addressOf(provider)}`;
  const said = status === undefined ? detail : detail === "" ? String(status) : `${status}: ${detail}`;
  if (unreachable) {
    return `${server} is not reachable (${detail}); start it, or change crew.providers.${name} in scriptorium.yaml`;
  }
  const needed = status === undefined ? undefined : neededFrom(status, detail);
  if (needed === "key") return `${server} rejected the API key (${said}); ${keyAdvice(name, provider)}`;
  if (needed === "model") {
    return `${server} does not have the model ${model} (${said}); check the model under crew.agents in scriptorium.yaml`;
  }
  if (needed === "quota") {
    return `${server} reports that the quota is used up (${said}); raise it with the provider, then resume the run`;
  }
  if (status === 429) {
    return `${server} limits the rate of requests (${said}); wait and resume, or lower crew.workers in scriptorium.yaml`;
  }
  return status === undefined ? `${server} failed: ${detail}` : `${server} answered ${said}`;
}

const keyAdvice = (name: string, { keyVariable, key }: Provider) => {
  if (!keyVariable) return `add key_env: VARIABLE to crew.providers.${name} in scriptorium.yaml`;
  return key ? `check the value of ${keyVariable}` : `set ${keyVariable}`;
};

type ApiError = Error & {
  statusCode?: number;
  responseHeaders?: Record<string, string>;
  responseBody?: string;
  isRetryable?: boolean;
};

export function failureFrom(error: unknown): CallFailure {
  const { statusCode = 0, responseHeaders, isRetryable, cause } = error as ApiError;
  const refused = statusCode >= 400;
  const code = codeOf(cause);
  const unreachable = !refused && code !== undefined && code in noConnection;
  const said = `${messageOf(error)} ${(error as ApiError).responseBody ?? ""}`;
  return {
    ...kindOf(statusCode, said, isRetryable === true),
    status: refused ? statusCode : undefined,
    unreachable,
    detail: unreachable ? (noConnection[code] ?? code) : messageOf(error),
    delayMs: retryAfterMs(responseHeaders ?? {}),
    free: refused || unreachable,
  };
}

function kindOf(status: number, said: string, isRetryable: boolean): Pick<CallFailure, "kind" | "limit"> {
  const kind = (one: FailureKind, limit?: number) => ({ kind: one, limit });
  if (status === 400 || status === 413 || status === 422) {
    const answer = answerTooLong.map((words) => words.exec(said)).find(Boolean);
    if (answer) return kind("answer", Number(answer[1]));
    const prompt = promptTooLong.flatMap((words) => words.exec(said) ?? []);
    const limit = prompt.find((found) => /^\d+$/.test(found));
    if (prompt.length > 0) return kind("too-long", limit === undefined ? undefined : Number(limit));
  }
  if (status >= 400 && neededFrom(status, said)) return kind("person");
  if (status === 413) return kind("too-long");
  if (status < 400 || [408, 409, 429].includes(status) || status >= 500 || isRetryable) return kind("provider");
  return kind("request");
}

/** What a person must provide before the server answers. Servers report all three as 400 too. */
function neededFrom(status: number, said: string): "key" | "model" | "quota" | undefined {
  if (status === 402) return "quota";
  if ((status === 400 || status === 429) && outOfQuota.test(said) && !retrySoon.test(said)) return "quota";
  if (status === 401 || status === 403 || (status === 400 && wrongKey.test(said))) return "key";
  if (status === 404 || (status === 400 && noModel.test(said))) return "model";
  return undefined;
}

const outOfQuota =
  /insufficient_quota|exceeded your current quota|credit balance|billing|api usage limits|insufficient balance/i;
/** Gemini reports a rate limit in the words of an exhausted quota, with a delay of seconds. */
const retrySoon = /retry in [\d.]+ ?m?s\b/i;
const wrongKey = /api key not valid|(?:incorrect|invalid) api key/i;
const noModel = /not a valid model|model not exist|invalid model\b|model_not_found/i;

/**
 * The words of Anthropic, OpenAI, Azure, xAI, Gemini, Mistral, Groq, Moonshot, DashScope, GitHub, Bedrock, TGI, vLLM,
 * llama.cpp, Ollama and LM Studio, which have no common code for this. The group is the limit in tokens, if they name it.
 */
const promptTooLong = [
  /prompt is too long(?:: \d+ tokens > (\d+))?/i,
  /exceed context limit(?:: [\d +]+> (\d+))?/i,
  /maximum (?:context|prompt|model) length(?: is| of) (\d+)/i,
  /with (\d+) maximum context length/i,
  /maximum context length|context_length_exceeded/i,
  /exceeds the maximum number of tokens allowed \((\d+)\)/i,
  /exceeds? the (?:available )?context(?: (?:size|window|length))?(?: \((\d+))?/i,
  /context (?:window|limit|length) (?:is )?exceeded/i,
  /context length of only (\d+)/i,
  /context (?:the )?overflow|greater than the context length/i,
  /tokens per minute \(TPM\): Limit (\d+), Requested \d+, please reduce/i,
  /exceeded model token limit: (\d+)/i,
  /range of input length should be \[\d+, ?(\d+)\]/i,
  /max_new_tokens\W+must be <= (\d+)/i,
  /prompt token count of \d+ exceeds the limit of (\d+)/i,
  /input is too long|too many tokens/i,
];
const answerTooLong = [
  /max_tokens: \d+ > (\d+), which is the maximum/i,
  /supports at most (\d+) completion tokens/i,
  /max_(?:completion_)?tokens.{0,40}(?:at most|less than or equal to|<=) [`'"]?(\d+)/i,
  /range of max_(?:completion_)?tokens (?:is|should be) \[\d+, ?(\d+)\]/i,
];

export const cutOff: CallFailure = {
  kind: "provider",
  limit: undefined,
  status: undefined,
  unreachable: false,
  detail: "the connection ended in the middle of an answer",
  delayMs: undefined,
  free: false,
};

/** Errors before a connection was made, in words. */
const noConnection: Record<string, string> = {
  ECONNREFUSED: "connection refused",
  ENOTFOUND: "unknown host",
  EAI_AGAIN: "the host name cannot be resolved",
  EHOSTUNREACH: "no route to the host",
  ENETUNREACH: "no network",
  UND_ERR_CONNECT_TIMEOUT: "connection timed out",
};

/** Node wraps the error of a socket, for a host with several addresses twice. */
function codeOf(cause: unknown): string | undefined {
  const { code, errors, cause: inner } = (cause ?? {}) as { code?: string; errors?: unknown[]; cause?: unknown };
  if (code !== undefined) return code;
  if (errors?.[0] !== undefined) return codeOf(errors[0]);
  return inner === undefined ? undefined : codeOf(inner);
}

const messageOf = (error: unknown) =>
  (error instanceof Error ? error.message : typeof error === "string" ? error : JSON.stringify(error)).slice(0, 1000);

/** `retry-after-ms`, or `retry-after` in seconds or as a date. */
export function retryAfterMs(headers: Record<string, string>, now = Date.now()): number | undefined {
  const exact = Number.parseFloat(headers["retry-after-ms"] ?? "");
  if (exact >= 0) return exact;
  const after = headers["retry-after"];
  if (after === undefined) return undefined;
  const seconds = Number(after);
  if (seconds >= 0) return seconds * 1000;
  const until = Date.parse(after) - now;
  return until >= 0 ? until : undefined;
}

/** A provider that recovers is noticed within this time. */
const longestDelayMs = 60_000;

/** The delay before the n-th retry: the server's, otherwise exponential backoff with jitter. */
export const delayBefore = (
  n: number,
  { delayMs }: Pick<CallFailure, "delayMs">,
  firstMs: number,
  random = Math.random(),
) => delayMs ?? Math.min(longestDelayMs, firstMs * 2 ** (n - 1)) * (0.75 + random / 2);
