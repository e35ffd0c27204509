import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  insideUrl,
  type ModelAccess,
  modelAccess,
  openAiPlaceholder,
  openAiServer,
  parseBase,
  withoutKeys,
} from "../network/model-server.ts";

type Provider = { base_url?: unknown; env_key?: unknown };
type Settings = { model_provider?: unknown; model_providers?: Record<string, Provider> };

const openAi = "https://api.openai.com/v1";
/** Codex does not let its built-in provider `openai` be changed. */
const ours = "scriptorium";

/**
 * The model server of Codex. It reads its address from config.toml only, so that it is changed by arguments: that of
 * the provider which the person chose there, or, with a key in the environment, that of OpenAI.
 */
export async function codexModelAccess(env: Record<string, string>, relay: string): Promise<ModelAccess> {
  const { model_provider: chosen, model_providers: known = {} } = await readSettings(env);
  const name = typeof chosen === "string" && /^[\w-]+$/.test(chosen) && chosen in known ? chosen : undefined;
  const provider = name === undefined ? undefined : known[name];
  const variable = provider ? text(provider.env_key) : ["CODEX_API_KEY", "OPENAI_API_KEY"].find((one) => env[one]);
  const base = parseBase(provider ? (text(provider.base_url) ?? "") : openAi);
  const key = variable && env[variable];
  if (!base || (!provider && !key)) return modelAccess(env, relay);
  const server = openAiServer("codex", base, key ? [{ placeholder: openAiPlaceholder, key }] : []);
  const at = `model_providers.${name ?? ours}`;
  const settings = {
    [`${at}.base_url`]: insideUrl(relay, server.name, base),
    ...(provider ? {} : { [`${at}.name`]: "OpenAI", [`${at}.wire_api`]: "responses", [`${at}.env_key`]: variable }),
    ...(provider ? {} : { model_provider: ours }),
  };
  const others = modelAccess(env, relay);
  return {
    servers: [server, ...others.servers],
    env: withoutKeys({ ...others.env, ...(key ? { [variable]: openAiPlaceholder } : {}) }, [server]),
    args: Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${JSON.stringify(value)}`]),
  };
}

async function readSettings(env: Record<string, string>): Promise<Settings> {
  const file = join(env.CODEX_HOME ?? join(env.HOME ?? "/nonexistent", ".codex"), "config.toml");
  const content = await readFile(file, "utf8").catch(() => "");
  const { parse } = await import("smol-toml");
  try {
    return parse(content) as Settings;
  } catch {
    // Codex itself reports the mistake.
    return {};
  }
}

const text = (value: unknown) => (typeof value === "string" ? value : undefined);
