/**
 * A model's API as an agent sees it: under `<relay>/<name>`, with placeholders for its keys. The proxy replaces a
 * placeholder by the key on the way out, so that the key never enters the sandbox (T19).
 */
export type ModelServer = {
  name: string;
  /** The address on this host's side. */
  base: URL;
  keys: readonly { placeholder: string; key: string }[];
  /** Headers that the person configured for every request; they may be secret too. */
  headers: Readonly<Record<string, string>>;
  /** The paths below `base` that ask a model. Others, such as files and organisations, need no agent. */
  paths: RegExp;
};

/** The environment of an agent that reaches its model through the relay. */
export type ModelAccess = {
  servers: ModelServer[];
  env: Record<string, string>;
  /** Arguments for a program that does not read its model's address from a variable. */
  args: string[];
};

type Env = Readonly<Record<string, string>>;

type Api = {
  name: string;
  /** The variable of its address; read by most programs that speak this API. */
  address: string;
  base: string;
  /** The variables of its keys, with a placeholder in the form that programs expect. */
  keys: Readonly<Record<string, string>>;
  /** A variable with further headers, one in each line. */
  headers?: string;
  paths: RegExp;
};

const openAiPaths = /^\/(chat\/completions|completions|responses(\/compact)?|embeddings|models(\/[\w.:@/-]+)?)$/;

const apis: readonly Api[] = [
  {
    name: "anthropic",
    address: "ANTHROPIC_BASE_URL",
    base: "https://api.anthropic.com",
    keys: {
      ANTHROPIC_API_KEY: "sk-ant-api03-placeholder-of-scriptorium",
      ANTHROPIC_AUTH_TOKEN: "placeholder-of-scriptorium-for-the-token",
      CLAUDE_CODE_OAUTH_TOKEN: "sk-ant-oat01-placeholder-of-scriptorium",
    },
    headers: "ANTHROPIC_CUSTOM_HEADERS",
    paths: /^\/v1\/(messages(\/count_tokens)?|complete|models(\/[\w.:@-]+)?)$/,
  },
  {
    name: "openai",
    address: "OPENAI_BASE_URL",
    base: "https://api.openai.com/v1",
    keys: { OPENAI_API_KEY: "sk-placeholder-of-scriptorium" },
    paths: openAiPaths,
  },
  {
    name: "gemini",
    address: "GOOGLE_GEMINI_BASE_URL",
    base: "https://generativelanguage.googleapis.com",
    keys: { GEMINI_API_KEY: "AIza-placeholder-of-scriptorium-1", GOOGLE_API_KEY: "AIza-placeholder-of-scriptorium-2" },
    paths: /^\/v1(alpha|beta)?\/models(\/[\w.-]+(:\w+)?)?$/,
  },
];

/** The model servers that an environment names, and the environment with placeholders and relay addresses instead. */
export function modelAccess(env: Env, relay: string): ModelAccess {
  const inside: Record<string, string> = { ...env };
  const servers = apis.flatMap((api): ModelServer[] => {
    const given = Object.entries(api.keys).filter(([variable]) => env[variable]);
    const address = env[api.address];
    const base = parseBase(address ?? api.base);
    if (api.headers) delete inside[api.headers];
    if (!base || (given.length === 0 && !address)) return [];
    for (const [variable, placeholder] of given) inside[variable] = placeholder;
    inside[api.address] = insideUrl(relay, api.name, base);
    const keys = given.map(([variable, placeholder]) => ({ placeholder, key: env[variable] ?? "" }));
    return [{ name: api.name, base, keys, headers: headerLines(api.headers && env[api.headers]), paths: api.paths }];
  });
  return { servers, env: withoutKeys(inside, servers), args: [] };
}

/** One API in the OpenAI format at a given address, for a program that is configured by arguments. */
export const openAiServer = (name: string, base: URL, keys: ModelServer["keys"]): ModelServer => ({
  ...{ name, base, keys, headers: {}, paths: openAiPaths },
});

export const openAiPlaceholder = "sk-placeholder-of-scriptorium";

/** The address inside, with the path of the real one: some programs derive other paths from it. */
export const insideUrl = (relay: string, name: string, base: URL) =>
  `${relay}/${name}${base.pathname.replace(/\/$/, "")}`;

export function parseBase(text: string): URL | undefined {
  try {
    const url = new URL(text);
    return url.protocol === "https:" || url.protocol === "http:" ? url : undefined;
  } catch {
    return undefined;
  }
}

/** Replaces a key also where another variable repeats it. */
export function withoutKeys(env: Env, servers: readonly ModelServer[]): Record<string, string> {
  const known = new Map(servers.flatMap(({ keys }) => keys.map(({ key, placeholder }) => [key, placeholder])));
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, known.get(value) ?? value]));
}

/** `Name: value` in each line. */
function headerLines(text = ""): Record<string, string> {
  const lines = text.split(/\r?\n/).flatMap((line) => {
    const [, name, value] = /^([\w-]+):\s*(.*?)\s*$/.exec(line) ?? [];
    return name && value ? [[name.toLowerCase(), value] as const] : [];
  });
  return Object.fromEntries(lines);
}

/** The variables of every known key; none of them belongs into a sandbox without network. */
export const keyVariables: readonly string[] = apis.flatMap(({ keys, headers }) => [
  ...Object.keys(keys),
  ...(headers ? [headers] : []),
]);
