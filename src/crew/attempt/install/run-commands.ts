import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { installation } from "../../../agents/agent-sandbox.ts";
import { type CommandResult, runBounded } from "../../../agents/bounded.ts";
import { openNetwork } from "../../../agents/network/agent-network.ts";
import { findProgram } from "../../../agents/program.ts";
import type { Registries } from "../../../agents/registries.ts";
import type { RegistryLogins } from "../../../agents/registry-logins.ts";
import type { Sandbox, SandboxAccess } from "../../../agents/sandbox/access.ts";
import type { Config } from "../../../config/config.ts";
import type { DestinationUse } from "../../../kernel/destination-use.ts";
import { redactor } from "../../../kernel/redact.ts";
import { storable } from "../../../kernel/storable.ts";
import { privateFile, privateFolder } from "../../../store/disk/private.ts";

type Place = Pick<SandboxAccess, "folder" | "repository"> & {
  /** A folder of this setup outside the checkout: caches of package managers. */
  scratch: string;
};

/** `failure` says what failed, in words for a person; undefined if every command succeeded. */
export type CommandsResult = { failure: string | undefined; destinations: DestinationUse[] };

const mostCharacters = 1500;
const refusal =
  "is not a registry of your npm or yarn configuration; to let setups reach it, add it to registry_hosts in the crew block";

type Options = {
  sandbox: Sandbox;
  config: Config;
  run: string;
  registries: Registries;
  /** Set for a download that runs no scripts. */
  logins?: RegistryLogins | undefined;
};

const unsigned =
  "corepack checks signatures that mirrors of the npm registry often leave out; set COREPACK_INTEGRITY_KEYS=0 in your environment to install without that check, or install the package manager with npm";

/**
 * Runs the commands of a setup in the sandbox, one after the other. Install scripts are code of strangers: they see the
 * checkout and an empty home, no token of a registry, and reach only the registries.
 */
export async function runCommands(
  options: Options,
  commands: readonly (readonly string[])[],
  place: Place,
  signal: AbortSignal,
): Promise<CommandsResult> {
  const { logins } = options;
  // Beside the scratch folder, which the install scripts see afterwards.
  const secret = `${place.scratch}-logins`;
  if (!logins) return run(options, commands, { ...place, secret: undefined }, signal);
  await rm(secret, { recursive: true, force: true });
  await mkdir(secret, privateFolder);
  try {
    await writeFile(join(secret, "npmrc"), options.registries.npmrc + logins.npmrc, privateFile);
    await writeFile(join(secret, "yarnrc.yml"), logins.yarnrc, privateFile);
    return await run(options, commands, { ...place, secret }, signal);
  } finally {
    await rm(secret, { recursive: true, force: true });
  }
}

async function run(
  { sandbox, config, run, registries, logins }: Options,
  commands: readonly (readonly string[])[],
  { scratch, secret, ...place }: Place & { secret: string | undefined },
  signal: AbortSignal,
): Promise<CommandsResult> {
  const { environment, crew } = config;
  const path = [environment.PATH ?? "/usr/bin:/bin", dirname(process.execPath)].join(":");
  const missing = commands.map(([program = ""]) => program).find((name) => !isThere(name, path));
  if (missing !== undefined)
    return { failure: `${missing} is not in PATH; install it, or change the setup of the plan`, destinations: [] };
  await mkdir(scratch, privateFolder);
  await writeFile(join(scratch, "npmrc"), registries.npmrc, privateFile);
  const network = await openNetwork({
    policy: { mode: "model-only", hosts: [...registries.hosts, ...crew.registry_hosts], refusal },
    sandbox,
    folder: scratch,
    env: { ...(registries.proxy ? { https_proxy: registries.proxy } : {}), ...proxyOf(environment) },
    access: async () => ({ servers: [], env: {}, args: [] }),
    loginHosts: [],
  });
  // Only npm reads its cafile; every program that runs on Node reads the variable.
  const [cafile] = registries.read;
  const certificates = { ...(cafile ? { NODE_EXTRA_CA_CERTS: cafile } : {}), ...certificatesOf(environment) };
  const home = secret !== undefined && logins?.yarnrc ? sandbox.home : undefined;
  const programs = commands.flatMap(([name = ""]) => findProgram(name, path, "/") ?? []).map(installation);
  const access: SandboxAccess = {
    ...place,
    write: true,
    read: [
      ...[...crew.read, ...network.read, process.execPath, ...programs, ...registries.read],
      ...(secret === undefined ? [] : [join(secret, "npmrc")]),
      ...Object.values(certificates),
    ],
    own: [
      { from: scratch, to: scratch },
      ...(home === undefined ? [] : [{ from: join(secret ?? "", "yarnrc.yml"), to: join(home, ".yarnrc.yml") }]),
    ],
    ports: network.ports,
    limits: crew.limits,
    env: {
      ...{ ...certificates, ...network.env, ...managerEnv(scratch, registries, network.env), PATH: path },
      ...pick(environment, ["COREPACK_INTEGRITY_KEYS"]),
      ...(isYarn1(commands) ? { YARN_CACHE_FOLDER: join(scratch, "yarn-1") } : {}),
      ...(secret === undefined ? {} : { ...logins?.env, ...downloading, npm_config_userconfig: join(secret, "npmrc") }),
    },
  };
  const until = performance.now() + crew.setup_minutes * 60_000;
  const ran = firstFailure(commands, async (command, i) => {
    const argv = [...network.relay, ...command] as [string, ...string[]];
    // Beside the scratch folder, which the commands can write to.
    const logFile = `${scratch}-${i}.log`;
    await rm(logFile, { force: true });
    const options = { run, wallMs: Math.max(1, Math.round(until - performance.now())), signal, logFile };
    const result = await runBounded(sandbox, argv, access, options);
    const redact = redactor({}, logins?.secrets);
    const said = redact(await readFile(logFile, "utf8").catch(() => result.output));
    await rm(logFile, { force: true });
    return failureOf(command, result, said, crew.setup_minutes);
  });
  const [failure, destinations] = await ran.then(
    async (found) => [found, await network.close()] as const,
    async (error: unknown) => {
      await network.close();
      throw error;
    },
  );
  const refused = destinations.find(({ allowed }) => !allowed)?.reason;
  return { failure: failure && refused ? `${failure}\n${refused}` : failure, destinations };
}

/** No program that the repository names runs while the logins are there. */
const downloading = {
  ...{ npm_config_ignore_scripts: "true", npm_config_git: "git", YARN_ENABLE_SCRIPTS: "false" },
  ...{ COREPACK_ENV_FILE: "0", COREPACK_ENABLE_UNSAFE_CUSTOM_URLS: "0" },
};

const isYarn1 = (commands: readonly (readonly string[])[]) =>
  commands.some((command) => command.includes("yarn") && command.includes("--frozen-lockfile"));

async function firstFailure<T>(all: readonly T[], run: (one: T, i: number) => Promise<string | undefined>) {
  for (const [i, one] of all.entries()) {
    const failure = await run(one, i);
    if (failure !== undefined) return failure;
  }
  return undefined;
}

function failureOf(
  command: readonly string[],
  ran: CommandResult,
  output: string,
  minutes: number,
): string | undefined {
  if (ran.ended === "exit" && ran.exitCode === 0 && !ran.error) return undefined;
  const how =
    ran.ended === "timeout"
      ? `took longer than ${minutes} minutes (setup_minutes)`
      : (ran.error ?? `exited with code ${ran.exitCode}`);
  const said = storable(stripVTControlCharacters(output)).trim();
  const hint = /No compatible signature found|Cannot find matching keyid/.test(said) ? `\n${unsigned}` : "";
  return [`${command.join(" ")} ${how}`, ...(said ? [shortened(said)] : [])].join(":\n") + hint;
}

/** npm says what is wrong first, and then how it is used. */
function shortened(text: string): string {
  const half = mostCharacters / 2;
  return text.length <= mostCharacters ? text : `${text.slice(0, half)}\n…\n${text.slice(-half)}`;
}

/** A path is looked up in the checkout, which a command before it may still create. */
const isThere = (name: string, path: string) => name.includes("/") || findProgram(name, path, "/") !== undefined;

const proxyNames = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"];
const certificateNames = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"];

const pick = (environment: Config["environment"], names: readonly string[]) =>
  Object.fromEntries(names.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])));
const proxyOf = (environment: Config["environment"]) => pick(environment, proxyNames);
const certificatesOf = (environment: Config["environment"]) => pick(environment, certificateNames);

/** Caches on disk, since the sandbox's home is in memory; and no question that nobody would answer. */
function managerEnv(scratch: string, { env }: Registries, { https_proxy = "" }: Record<string, string>) {
  const at = (name: string) => join(scratch, name);
  return {
    ...{ LANG: "C.UTF-8", TERM: "dumb", CI: "true" },
    ...{ npm_config_userconfig: at("npmrc"), npm_config_cache: at("npm"), npm_config_store_dir: at("pnpm") },
    // What a download with the person's logins has put there.
    ...{ npm_config_prefer_offline: "true" },
    ...{ npm_config_audit: "false", npm_config_fund: "false", npm_config_update_notifier: "false" },
    ...env,
    // Packages must be inside the checkout: nothing else is kept.
    ...{ YARN_ENABLE_GLOBAL_CACHE: "false", YARN_GLOBAL_FOLDER: at("yarn"), YARN_ENABLE_TELEMETRY: "0" },
    ...{ YARN_HTTP_PROXY: https_proxy, YARN_HTTPS_PROXY: https_proxy },
    ...{ COREPACK_HOME: at("corepack"), COREPACK_ENABLE_DOWNLOAD_PROMPT: "0" },
    ...(env.YARN_NPM_REGISTRY_SERVER ? { COREPACK_NPM_REGISTRY: env.YARN_NPM_REGISTRY_SERVER } : {}),
    ...{ UV_CACHE_DIR: at("uv"), PIP_CACHE_DIR: at("pip"), CARGO_HOME: at("cargo"), GOPATH: at("go") },
  };
}
