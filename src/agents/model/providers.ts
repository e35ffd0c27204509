import type { LanguageModel } from "ai";
import { ok, type Result, refuse } from "../../kernel/result.ts";

/** A server with one of three APIs. The key is passed by value and used only in the request. */
export type Provider = {
  kind: "anthropic" | "openai" | "openai-compatible";
  baseUrl?: string;
  key?: string;
};
export type Providers = Readonly<Record<string, Provider>>;

/** `provider/model`, as it stands in configuration: anthropic/claude-haiku-4-5, ollama/qwen3:8b. */
export async function languageModel(name: string | undefined, providers: Providers): Promise<Result<LanguageModel>> {
  const [, provider = "", model = ""] = /^([\w-]+)\/(.+)$/.exec(name ?? "") ?? [];
  const known = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  if (!known) {
    const names = Object.keys(providers).join(", ") || "none";
    return refuse("invalid", `no provider for the model "${name ?? ""}"; write provider/model, with one of: ${names}`);
  }
  if (known.kind !== "openai-compatible" && !known.key) {
    return refuse("invalid", `the provider ${provider} has no key; set the variable that crew.providers names for it`);
  }
  return ok(await open[known.kind](provider, model, known));
}

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
      baseURL: baseUrl ?? "http://127.0.0.1:11434/v1",
      includeUsage: true,
      ...(key ? { apiKey: key } : {}),
    })(model);
  },
};
