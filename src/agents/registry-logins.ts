import { parse, stringify } from "yaml";

/** What a person logs in to package registries with. It is shown to a package manager only while no script can run. */
export type RegistryLogins = {
  /** Lines of an .npmrc. */
  npmrc: string;
  /** A .yarnrc.yml of the home, for yarn 2 and later; "" if it has nothing to say. */
  yarnrc: string;
  /** For corepack, which downloads from the default registry. */
  env: Record<string, string>;
  /** The values that nothing may print. */
  secrets: string[];
  /** Registries of scopes that only yarn's settings name. */
  addresses: URL[];
};

type Environment = Readonly<Record<string, string | undefined>>;
type Given = {
  /** Texts of the person's .npmrc files; later ones override. */
  npmrc: readonly string[];
  /** Text of the person's ~/.yarnrc.yml. */
  yarnrc: string;
  environment: Environment;
  /** Whether the setup may reach this host, as `host` or `host:port`. */
  isReachable: (host: string) => boolean;
  defaultRegistry: URL | undefined;
};

const hostedKey = /^\/\/([^/\s]+)(\/\S*)?:(_authToken|_auth|username|_password|always-auth)$/;
const plainKey = /^(_authToken|_auth|_password|username|always-auth)$/;
const secretKeys = new Set(["_authToken", "_auth", "_password"]);

/** The logins that belong to registries which the setup reaches; undefined if there are none. */
export function loginsFrom({ npmrc, yarnrc, environment, isReachable, defaultRegistry }: Given) {
  const lines = new Map<string, string>();
  const secrets: string[] = [];
  const env: Record<string, string> = {};
  for (const [key, written] of npmrc.flatMap(settingsIn)) {
    const value = expanded(written, environment);
    // Older forms without a host mean the default registry.
    const full = plainKey.test(key) && defaultRegistry ? `${placeOf(defaultRegistry)}:${key}` : key;
    const [, host = "", , name = ""] = hostedKey.exec(full) ?? [];
    if (name === "" || value === "" || !isReachable(host)) continue;
    lines.set(full, value);
    if (!secretKeys.has(name)) continue;
    secrets.push(value, ...decoded(name, value));
    if (name === "_authToken" && defaultRegistry && full.startsWith(`${placeOf(defaultRegistry)}:`))
      env.COREPACK_NPM_TOKEN = value;
  }
  const yarn = yarnSettings(yarnrc, environment, isReachable);
  secrets.push(...yarn.secrets);
  if (secrets.length === 0) return undefined;
  return {
    npmrc: [...lines].map(([key, value]) => `${key}=${value}\n`).join(""),
    yarnrc: yarn.text,
    env: { ...env, ...(yarn.token ? { COREPACK_NPM_TOKEN: yarn.token } : {}) },
    secrets: [...new Set(secrets)],
    addresses: yarn.addresses,
  } satisfies RegistryLogins;
}

/** As npm names a registry in a key: without protocol, with a slash at the end. */
const placeOf = ({ host, pathname }: URL) => `//${host}${pathname.endsWith("/") ? pathname : `${pathname}/`}`;

function settingsIn(text: string): [string, string][] {
  return text.split(/\r?\n/).flatMap((line): [string, string][] => {
    const [, key, value] = /^\s*([^;#\s=][^=]*?)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (key === undefined || value === undefined) return [];
    return [[key, /^"(.*)"$/.exec(value)?.[1] ?? /^'(.*)'$/.exec(value)?.[1] ?? value]];
  });
}

/** `${NAME}`, and `${NAME:-default}` of yarn; a variable that is not set leaves nothing. */
const expanded = (text: string, environment: Environment) =>
  text.replaceAll(
    /\$\{(\w+)(?:\?|:?-([^}]*))?\}/g,
    (_, name: string, fallback: string | undefined) => environment[name] ?? fallback ?? "",
  );

/** The password inside a base64 value, which a program could print instead of it. */
function decoded(name: string, value: string): string[] {
  if (name === "_authToken") return [];
  const text = Buffer.from(value, "base64").toString("utf8");
  return [text, ...(name === "_auth" ? [text.slice(text.indexOf(":") + 1)] : [])].filter((one) => one.length >= 8);
}

const yarnLogin = ["npmAuthToken", "npmAuthIdent", "npmAlwaysAuth"];

type Entry = Record<string, unknown>;

function yarnSettings(text: string, environment: Environment, isReachable: Given["isReachable"]) {
  const none = { text: "", token: undefined as string | undefined, secrets: [] as string[], addresses: [] as URL[] };
  const read = objectIn(text);
  if (!read) return none;
  const { secrets, addresses } = none;
  const login = (entry: Entry): Entry => {
    const kept = Object.fromEntries(
      yarnLogin.flatMap((key) => (entry[key] === undefined ? [] : [[key, expandedValue(entry[key], environment)]])),
    );
    for (const value of [kept.npmAuthToken, kept.npmAuthIdent]) if (typeof value === "string") secrets.push(value);
    return kept;
  };
  const entries = (key: string) => Object.entries((read[key] ?? {}) as Record<string, Entry | null>);
  const npmScopes = Object.fromEntries(
    entries("npmScopes").map(([scope, entry]) => {
      const url = addressIn(entry?.npmRegistryServer, environment);
      if (url) addresses.push(url);
      return [scope, { ...(url ? { npmRegistryServer: url.href.replace(/\/$/, "") } : {}), ...login(entry ?? {}) }];
    }),
  );
  const hosts = new Set(addresses.map(({ host }) => host));
  const npmRegistries = Object.fromEntries(
    entries("npmRegistries").flatMap(([key, entry]) => {
      const host = /^(?:https?:)?\/\/([^/]+)/.exec(key)?.[1] ?? "";
      return isReachable(host) || hosts.has(host) ? [[key, login(entry ?? {})]] : [];
    }),
  );
  const own = login(read);
  if (secrets.length === 0) return { ...none, addresses };
  const token = typeof own.npmAuthToken === "string" ? own.npmAuthToken : undefined;
  return { text: stringify({ ...own, npmScopes, npmRegistries }), token, secrets, addresses };
}

const expandedValue = (value: unknown, environment: Environment) =>
  typeof value === "string" ? expanded(value, environment) : value;

function addressIn(value: unknown, environment: Environment): URL | undefined {
  const text = typeof value === "string" ? expanded(value, environment) : "";
  return URL.canParse(text) && /^https?:/.test(text) ? new URL(text) : undefined;
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = parse(text, { maxAliasCount: 0 });
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
