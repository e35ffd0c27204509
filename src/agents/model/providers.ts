import type { LanguageModel } from "ai";
import type { CrewConfig } from "../../config/crew.ts";
import type { Environment } from "../../config/environment.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { fetchWithArgumentText } from "./argument-text.ts";

/** A server with one of three APIs. The key is passed by value and used only in the request. */
export type Provider = {
  kind: "anthropic" | "openai" | "openai-compatible";
  baseUrl?: string;
  /** The environment variable of its key, for messages. */
  keyVariable?: string;
  key?: string;
};
export type Providers = Readonly<Record<string, Provider>>;

const usual: CrewConfig["providers"] = {
  anthropic: { kind: "anthropic", key_env: "ANTHROPIC_API_KEY" },
  openai: { kind: "openai", key_env: "OPENAI_API_KEY" },
  ollama: { kind: "openai-compatible" },
};

/** Keys are read from the variables that the configuration names, never from the configuration itself. */
export function configuredProviders(providers: CrewConfig["providers"], environment: Environment): Providers {
  const known = Object.entries({ ...usual, ...providers }).map(([name, { kind, base_url, key_env }]) => {
    const key = key_env ? environment[key_env] : undefined;
    const optional = { ...(base_url ? { baseUrl: base_url } : {}), ...(key ? { key } : {}) };
    return [name, { kind, ...(key_env ? { keyVariable: key_env } : {}), ...optional }] as const;
  });
  return Object.fromEntries(known);
}

/** The provider and the model of a name such as anthropic/claude-haiku-4-5 or ollama/qwen3:8b. */
export function splitModelName(name: string | undefined): { provider: string; model: string } {
  const [, provider = "", model = ""] = /^([\w-]+)\/(.+)$/.exec(name ?? "") ?? [];
  return { provider, model };
}

/** Where a provider listens; without `base_url` at its public address, or a local Ollama. */
export const addressOf = ({ kind, baseUrl }: Provider) => baseUrl ?? publicAddresses[kind];

const publicAddresses: Record<Provider["kind"], string> = {
  anthropic: "https://api.anthropic.com/v1",
  openai: "https://api.openai.com/v1",
  "openai-compatible": "http://127.0.0.1:11434/v1",
};

/** The provider of a model, if it is configured and has the key it needs. */
export function providerFor(name: string | undefined, providers: Providers): Result<Provider> {
  const { provider } = splitModelName(name);
  const known = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  if (!known) {
    const names = Object.keys(providers).join(", ") || "none";
    return refuse("invalid", `the model "${name ?? ""}" names no provider; write provider/model with one of: ${names}`);
  }
  return needsKey(known) ? refuse("invalid", missingKey(provider, known)) : ok(known);
}

export async function languageModel(name: string | undefined, providers: Providers): Promise<Result<LanguageModel>> {
  const known = providerFor(name, providers);
  if (!known.ok) return known;
  const { provider, model } = splitModelName(name);
  return ok(await open[known.value.kind](provider, model, known.value));
}

/** Local servers work without a key; the public ones do not. */
export const needsKey = ({ kind, key }: Provider) => kind !== "openai-compatible" && !key;

export const missingKey = (name: string, { keyVariable }: Provider) =>
  keyVariable
    ? `the model provider ${name} needs an API key, and ${keyVariable} is not set; run: export ${keyVariable}=…`
    : `the model provider ${name} needs an API key; add key_env: VARIABLE to crew.providers.${name} and set that variable`;

const open: Record<Provider["kind"], (name: string, model: string, provider: Provider) => Promise<LanguageModel>> = {
  async anthropic(_name, model, { baseUrl, key }) {
    const { createAnthropic } = await import("@ai-sdk/anthropic");
    return createAnthropic({ ...(baseUrl ? { baseURL: baseUrl } : {}), apiKey: key ?? "" })(model);
  },
  async openai(_name, model, { baseUrl, key }) {
    const { createOpenAI } = await import("@ai-sdk/openai");
    return createOpenAI({ ...(baseUrl ? { baseURL: baseUrl } : {}), apiKey: key ?? "" }).chat(model);
  },
  async "openai-compatible"(name, model, { baseUrl, key }) {
    const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
    return createOpenAICompatible({
      name,
      baseURL: baseUrl ?? publicAddresses["openai-compatible"],
      includeUsage: true,
      fetch: fetchWithArgumentText,
      ...(key ? { apiKey: key } : {}),
    })(model);
  },
};
