import { execFile } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { promisify } from "node:util";
import { findProgram } from "../../agents/program.ts";
import type { Environment } from "../../config/environment.ts";
import { type Client, clients, type Scope } from "./clients.ts";
import { isOurs, readEntry } from "./entry.ts";
import { packageAbove } from "./launch.ts";

/** A client of this machine. `login` is undefined where it cannot be told without reading secrets. */
export type FoundClient = {
  client: Client;
  program: string | undefined;
  version: string | undefined;
  login: boolean | undefined;
  connected: Scope[];
};

/** Every known client, installed or not. Reads no secrets: a login is a variable that is set or a file that exists. */
export const detectClients = (root: string, env: Environment): Promise<FoundClient[]> =>
  Promise.all(
    clients.map(async (client) => {
      const program = client.programs
        .map((name) => findProgram(name, env.PATH ?? "", "/"))
        .find((path) => path !== undefined);
      return {
        client,
        program,
        version: program && (await versionOf(program, client, env)),
        login: client.login && hasLogin(client.login, env),
        connected: (["project", "user"] as const).filter((scope) => isConnected(client, scope, root, env)),
      };
    }),
  );

/** The clients whose project file has our entry. Starts no program. */
export const connectedClients = (root: string, env: Environment): Client[] =>
  clients.filter((client) => isConnected(client, "project", root, env));

function isConnected(client: Client, scope: Scope, root: string, env: Environment): boolean {
  if (scope === "user" && !client.files.user) return false;
  const entry = readEntry({ client, scope, root, env });
  return entry.ok && entry.value !== undefined && isOurs(entry.value);
}

/** On macOS logins are in the keychain: without a file or variable nothing is known. */
function hasLogin({ variables, files }: NonNullable<Client["login"]>, env: Environment): boolean | undefined {
  const found = variables.some((name) => env[name]) || files(env).some((file) => existsSync(file));
  return found || (process.platform === "darwin" ? undefined : false);
}

const longestMs = 5000;

/** From package.json, which takes no time; a program without one is asked. */
async function versionOf(program: string, client: Client, env: Environment): Promise<string | undefined> {
  const known = packageAbove(realpathSync(program));
  if (known?.name === client.package && known?.version) return known.version;
  try {
    const { stdout } = await promisify(execFile)(program, ["--version"], { timeout: longestMs, env });
    return /\d{1,9}\.\d{1,9}[\w.-]{0,40}/.exec(stdout)?.[0];
  } catch {
    return undefined;
  }
}
