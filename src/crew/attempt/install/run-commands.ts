import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { installation } from "../../../agents/agent-sandbox.ts";
import { type CommandResult, runBounded } from "../../../agents/bounded.ts";
import { openNetwork } from "../../../agents/network/agent-network.ts";
import { findProgram } from "../../../agents/program.ts";
import { type Registries, registriesOf } from "../../../agents/registries.ts";
import type { Sandbox, SandboxAccess } from "../../../agents/sandbox/access.ts";
import type { Config } from "../../../config/config.ts";
import type { DestinationUse } from "../../../kernel/destination-use.ts";
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

/**
 * Runs the commands of a setup in the sandbox, one after the other. Install scripts are code of strangers: they see the
 * checkout and an empty home, no token of a registry, and reach only the registries.
 */
export async function runCommands(
  { sandbox, config, run }: { sandbox: Sandbox; config: Config; run: string },
  commands: readonly (readonly string[])[],
  { scratch, ...place }: Place,
  signal: AbortSignal,
): Promise<CommandsResult> {
  const { environment, crew } = config;
  const path = [environment.PATH ?? "/usr/bin:/bin", dirname(process.execPath)].join(":");
  const missing = commands.map(([program = ""]) => program).find((name) => !isThere(name, path));
  if (missing !== undefined)
    return { failure: `${missing} is not in PATH; install it, or change the setup of the plan`, destinations: [] };
  const usesYarn = commands.flat().includes("yarn");
  const registries = await registriesOf(environment, usesYarn);
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
  const programs = commands.flatMap(([name = ""]) => findProgram(name, path, "/") ?? []).map(installation);
  const access: SandboxAccess = {
    ...place,
    write: true,
    read: [
      ...[...crew.read, ...network.read, process.execPath, ...programs, ...registries.read],
      ...Object.values(certificates),
    ],
    own: [{ from: scratch, to: scratch }],
    ports: network.ports,
    limits: crew.limits,
    env: {
      ...{ ...certificates, ...network.env, ...managerEnv(scratch, registries, network.env), PATH: path },
      ...pick(environment, ["COREPACK_INTEGRITY_KEYS"]),
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
    const said = await readFile(logFile, "utf8").catch(() => result.output);
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
  return [`${command.join(" ")} ${how}`, ...(said ? [shortened(said)] : [])].join(":\n");
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
