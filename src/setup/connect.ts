import type { Config } from "../config/config.ts";
import type { Environment } from "../config/environment.ts";
import { suggest } from "../kernel/nearest.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { type Applied, applyAll, type Change } from "./change.ts";
import { type Client, clients, type Scope, type ServerCommand } from "./clients/clients.ts";
import { connectChange } from "./clients/entry.ts";
import { chooseLaunch } from "./clients/launch.ts";
import { addToRecord } from "./record.ts";

/** How the clients are to start the server. */
export type Wish = { scope: Scope; role: string | undefined; tools: string | undefined };

export type WantedEntry = { client: Client; scope: Scope; server: ServerCommand };
export type Wanted = { entries: WantedEntry[]; why: string; isPortable: boolean };
export type Plan = Omit<Wanted, "entries"> & { entries: (WantedEntry & { change: Change })[] };

export function clientsNamed(names: readonly string[]): Result<Client[]> {
  const known = clients.map(({ name }) => name);
  const found: Client[] = [];
  for (const name of new Set(names)) {
    const client = clients.find((one) => one.name === name);
    if (!client) return refuse("invalid", `client ${name} is not supported; ${suggest(name, known)}`);
    found.push(client);
  }
  return ok(found);
}

/** The entries that the clients need, whatever their files have now. */
export function wantedEntries(env: Environment, chosen: readonly Client[], wish: Wish): Wanted {
  const { command, args, why, isPortable } = chooseLaunch(env);
  const options = [
    ...(wish.role === undefined ? [] : ["--role", wish.role]),
    ...(wish.tools === undefined ? [] : ["--tools", wish.tools]),
  ];
  const entries = chosen.map((client) => ({
    client,
    scope: wish.scope,
    server: { command, args: [...args, "mcp", ...options, ...(client.args ?? [])] },
  }));
  return { entries, why, isPortable };
}

/** The changes that connect the clients. Nothing is written: one file that cannot be edited refuses them all. */
export function planEntries(root: string, env: Environment, { entries: wanted, ...why }: Wanted): Result<Plan> {
  const entries: Plan["entries"] = [];
  for (const { client, scope, server } of wanted) {
    const change = connectChange({ client, scope, root, env }, server);
    if (!change.ok) return change;
    entries.push({ client, scope, server, change: change.value });
  }
  return ok({ entries, ...why });
}

/** The changes to make: entries that are there already change nothing, and clients that share a file share its change. */
export const changesOf = ({ entries }: Plan): Change[] => {
  const changes = entries.map(({ change }) => change).filter(({ before, after }) => before !== after);
  return changes.filter(({ file }, index) => changes.findIndex((other) => other.file === file) === index);
};

/** Makes the changes, all or none, and records them for `remove`. */
export function writeEntries(
  config: Pick<Config, "root" | "stateFolder">,
  changes: readonly Change[],
): Result<Applied[]> {
  const done = applyAll(changes);
  if (done.ok) addToRecord(config.root, config.stateFolder, done.value);
  return done;
}
