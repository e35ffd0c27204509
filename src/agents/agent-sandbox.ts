import { existsSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, relative } from "node:path";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { AgentNetwork } from "./network/agent-network.ts";
import type { Invocation } from "./process.ts";
import { findProgram } from "./program.ts";
import type { RunSpec } from "./runner.ts";
import type { SandboxPolicy } from "./sandbox.ts";

/** An agent's own configuration folder: the variable that names it, its default in the home, the files to share. */
export type ConfigFolder = { variable: string; inHome: string; files: readonly string[] };

/** The part of an agent's network that is inside: the relay that starts the agent, and the files that it needs. */
type NetworkFiles = Pick<AgentNetwork, "relay" | "read" | "ports">;

/**
 * The same invocation inside a sandbox. The agent can reach its folder, the machine's programs and its own, its
 * prompt, the socket of its tools and its login. Its home is new and empty, so that a person's settings do not affect
 * the agent, and files that it leaves there do not affect the person.
 */
export function inSandbox(
  { command, args, env, ...rest }: Invocation,
  spec: RunSpec,
  policy: SandboxPolicy,
  { kept, config, network }: { kept: string; config: ConfigFolder | undefined; network: NetworkFiles },
): Result<Invocation> {
  const program = findProgram(command, env.PATH ?? "", spec.cwd);
  if (!program) return refuse("not_found", `${command} is not executable; install it, or configure its path`);
  const real = realpathSync(program);
  const home = env.HOME ?? "/nonexistent";
  const insideHome = policy.sandbox.home ?? home;
  const login = configFiles(config, env, home, insideHome);
  const sandboxEnv = {
    ...Object.fromEntries(
      Object.entries(env).filter(([name]) => !homeVariables.has(name) && name !== config?.variable),
    ),
    ...login.env,
    PATH: [...(env.PATH ? [env.PATH] : []), dirname(process.execPath)].join(":"),
  };
  const wrapped = policy.sandbox.wrap([...network.relay, real, ...args] as [string, ...string[]], {
    folder: spec.cwd,
    write: policy.write,
    hide: policy.hide ?? [],
    ...(policy.repository ? { repository: policy.repository } : {}),
    ports: network.ports,
    limits: policy.limits,
    read: [
      ...policy.read,
      ...network.read,
      ...[installation(real), process.execPath, kept],
      ...[spec.mcp?.command, ...(spec.mcp?.args ?? [])].filter((path) => path !== undefined && isAbsolute(path)),
      ...certificates.flatMap((name) => env[name] ?? []),
    ] as string[],
    own: [...login.files, ...policy.own.map((path) => mappedHome(path, home, insideHome))],
    env: sandboxEnv,
  });
  return ok({ ...rest, ...wrapped, isSandboxed: true });
}

const homeVariables = new Set(["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "TMPDIR"]);
const certificates = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"];

/** The node_modules folder that a program is installed in: it imports packages from there. */
export function installation(program: string): string {
  const modules = program.lastIndexOf("/node_modules/");
  return modules === -1 ? program : program.slice(0, modules + "/node_modules".length);
}

function configFiles(folder: ConfigFolder | undefined, env: Record<string, string>, home: string, insideHome: string) {
  if (!folder) return { env: {}, files: [] };
  const from = env[folder.variable] ?? join(home, folder.inHome);
  const to = insideHome === home ? from : join(insideHome, folder.inHome);
  const existing = folder.files.filter((name) => existsSync(join(from, name)));
  return {
    // Codex refuses to start with a folder that does not exist.
    env: existing.length > 0 ? { [folder.variable]: to } : {},
    files: existing.map((name) => ({ from: join(from, name), to: join(to, name) })),
  };
}

/** Files of the home are mapped to the same place in the sandbox's home. */
function mappedHome(path: string, home: string, insideHome: string): { from: string; to: string } {
  const from = path.startsWith("~/") ? join(home, path.slice(2)) : path;
  const within = relative(home, from);
  return { from, to: within.startsWith("..") || isAbsolute(within) ? from : join(insideHome, within) };
}
