import { existsSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, relative } from "node:path";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Invocation } from "./process.ts";
import { findProgram } from "./program.ts";
import type { RunSpec } from "./runner.ts";
import { homeInside, type Walls } from "./sandbox.ts";
import { marker } from "./survivors.ts";

/** What a kind of program keeps of itself, and where it looks for that. */
export type OwnFolder = { variable: string; inHome: string; files: readonly string[] };

/**
 * The same call inside the walls: the agent sees its folder, the machine's programs and its own, its
 * prompt, the socket of its tools and its login. Its home is a new one, so that no setting of a person
 * steers it, and nothing that it leaves there steers the person.
 */
export function walled(
  { command, args, env, ...rest }: Invocation,
  spec: RunSpec,
  walls: Walls,
  { kept, folder }: { kept: string; folder: OwnFolder | undefined },
): Result<Invocation> {
  const program = findProgram(command, env.PATH ?? "", spec.cwd);
  if (!program) return refuse("not_found", `${command} is no program that can be run; install it, or give its path`);
  const real = realpathSync(program);
  const home = env.HOME ?? "/nonexistent";
  const login = ownFiles(folder, env, home);
  const inside = {
    ...Object.fromEntries(Object.entries(env).filter(([name]) => !ofTheOldHome.has(name))),
    ...login.env,
    PATH: [...(env.PATH ? [env.PATH] : []), dirname(process.execPath)].join(":"),
    [marker]: spec.id,
  };
  const wrapped = walls.sandbox.wrap([real, ...args], {
    folder: spec.cwd,
    write: walls.write,
    network: walls.network,
    read: [
      ...walls.read,
      ...[installation(real), process.execPath, kept],
      ...[spec.mcp?.command, ...(spec.mcp?.args ?? [])].filter((path) => path !== undefined && isAbsolute(path)),
      ...certificates.flatMap((name) => env[name] ?? []),
    ] as string[],
    own: [...login.files, ...walls.own.map((path) => placed(path, home))],
    env: inside,
  });
  return ok({ ...rest, ...wrapped, inside: true });
}

const ofTheOldHome = new Set(["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "TMPDIR"]);
const certificates = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"];

/** A package is more than its program: the modules it is installed among belong to it. */
function installation(program: string): string {
  const modules = program.lastIndexOf("/node_modules/");
  return modules === -1 ? program : program.slice(0, modules + "/node_modules".length);
}

function ownFiles(folder: OwnFolder | undefined, env: Record<string, string>, home: string) {
  if (!folder) return { env: {}, files: [] };
  const from = env[folder.variable] ?? join(home, folder.inHome);
  const to = join(homeInside, folder.inHome);
  const there = folder.files.filter((name) => existsSync(join(from, name)));
  return {
    env: { [folder.variable]: to },
    files: there.map((name) => ({ from: join(from, name), to: join(to, name) })),
  };
}

function placed(path: string, home: string): { from: string; to: string } {
  const from = path.startsWith("~/") ? join(home, path.slice(2)) : path;
  const within = relative(home, from);
  return { from, to: within.startsWith("..") || isAbsolute(within) ? from : join(homeInside, within) };
}
