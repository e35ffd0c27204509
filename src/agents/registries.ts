import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { hostAndPort } from "./network/policy.ts";
import { findProgram } from "./program.ts";
import { programOutput } from "./program-version.ts";
import { loginsFrom, type RegistryLogins } from "./registry-logins.ts";

/** The package registries of the person, and the settings with which a package manager in a sandbox finds them. */
export type Registries = {
  /** As `host:port`. */
  hosts: string[];
  /** The content of an .npmrc: addresses and settings, no credentials. */
  npmrc: string;
  /** Addresses for managers that do not read an .npmrc. */
  env: Record<string, string>;
  /** Files of certificates that the sandbox has to show. */
  read: string[];
  /** The proxy that npm is configured with. */
  proxy: string | undefined;
  /** The person's logins for these registries, if there are any. */
  logins: RegistryLogins | undefined;
};

type Environment = Readonly<Record<string, string | undefined>>;

/** Settings of npm that decide what is installed, or whether its server is trusted. */
const carried = ["cafile", "strict-ssl", "ignore-scripts", "legacy-peer-deps", "nodedir"];
/** corepack would download a yarn only to answer a question. */
const offline = { COREPACK_ENABLE_NETWORK: "0", COREPACK_ENABLE_DOWNLOAD_PROMPT: "0" };
const isRegistry = /^(@[^:]+:)?registry$/;

/**
 * Asks npm and yarn for the person's own registries. They are asked in the root folder: an .npmrc of the repository must
 * not decide which hosts its install scripts can reach. Logins are kept apart, because those scripts could send them
 * anywhere that the sandbox can reach. `more` has further hosts that a setup may reach.
 */
export async function registriesOf(
  environment: Environment,
  usesYarn: boolean,
  more: readonly string[] = [],
): Promise<Registries> {
  const env = Object.fromEntries(
    Object.entries({ ...environment, ...offline }).filter(([, value]) => value !== undefined),
  ) as Record<string, string>;
  const ask = async (name: string, args: string[]) => {
    const program = findProgram(name, env.PATH ?? "", "/");
    return program && (await programOutput(program, args, { env, cwd: "/" }));
  };
  const [npm, ...yarn] = await Promise.all([
    ask("npm", ["config", "list", "--json"]),
    ...(usesYarn ? ["registry", "npmRegistryServer"] : []).map((key) => ask("yarn", ["config", "get", key])),
  ]);
  const settings = settingsIn(npm);
  const addresses = Object.entries(settings).filter(([key, value]) => isRegistry.test(key) && urlIn(value));
  const own = yarn.map((text) => urlIn(text)).find((url) => url !== undefined);
  const server = own ?? urlIn(settings.registry);
  const kept = Object.entries(settings).filter(([key, value]) => carried.includes(key) && value !== null);
  const cafile = typeof settings.cafile === "string" ? [settings.cafile] : [];
  const proxy = [settings["https-proxy"], settings.proxy].find((value) => typeof value === "string");
  const urls = [...addresses.map(([, value]) => urlIn(value)), own].flatMap((url) => url ?? []);
  const reachable = new Set([...urls.flatMap((url) => [url.host, hostAndPort(url)]), ...more]);
  const files = [settings.globalconfig, settings.userconfig ?? (env.HOME ? join(env.HOME, ".npmrc") : undefined)];
  const logins = loginsFrom({
    npmrc: await Promise.all(files.map(textOf)),
    yarnrc: await textOf(env.HOME && join(env.HOME, ".yarnrc.yml")),
    environment,
    isReachable: (host) => reachable.has(host) || reachable.has(host.replace(/:(443|80)$/, "")),
    defaultRegistry: server,
  });
  return {
    hosts: [...new Set([...urls, ...(usesYarn ? (logins?.addresses ?? []) : [])].map(hostAndPort))],
    npmrc: [...addresses, ...kept].map(([key, value]) => `${key}=${String(value)}\n`).join(""),
    env: server ? { YARN_REGISTRY: server.href, YARN_NPM_REGISTRY_SERVER: server.href.replace(/\/$/, "") } : {},
    read: cafile.filter((path) => existsSync(path)),
    proxy: typeof proxy === "string" ? proxy : undefined,
    logins,
  };
}

const textOf = async (path: unknown) => (typeof path === "string" ? readFile(path, "utf8").catch(() => "") : "");

/** One value could otherwise add lines of its own. */
const isOneLine = (value: unknown) => !/[\r\n]/.test(String(value));

function settingsIn(text: string | undefined): Record<string, unknown> {
  try {
    const read: unknown = JSON.parse(text ?? "{}");
    return Object.fromEntries(Object.entries(read as object).filter(([, value]) => isOneLine(value)));
  } catch {
    return {};
  }
}

/** Without a login in the address. */
function urlIn(value: unknown): URL | undefined {
  try {
    const url = new URL(String(value).trim());
    if (url.protocol !== "https:" && url.protocol !== "http:") return undefined;
    url.username = "";
    url.password = "";
    return url;
  } catch {
    return undefined;
  }
}
