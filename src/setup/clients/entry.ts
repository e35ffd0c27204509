import { basename } from "node:path";
import type { Environment } from "../../config/environment.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { type Change, readText } from "../change.ts";
import { type Client, fileOf, type Scope, type ServerCommand, serverName, shownFile } from "./clients.ts";
import { type JsonObject, jsonSettings, readJsonEntry, removeJsonEntry, setJsonEntry } from "./json-entry.ts";
import { readTomlEntry, removeTomlEntry, setTomlEntry, tomlSettings } from "./toml-entry.ts";

/** The place of our entry in the configuration of one client. */
export type EntryPlace = { client: Client; scope: Scope; root: string; env: Environment };

const lenient = { comments: true, trailingCommas: true };

type OpenFile = { change: Omit<Change, "after">; path: [string, string] };

function openFile({ client, scope, root, env }: EntryPlace): Result<OpenFile> {
  const file = fileOf(client, scope, root, env);
  const shown = shownFile(client, scope, root, env);
  if (file === undefined || shown === undefined) {
    return refuse(
      "invalid",
      `Scriptorium writes the ${client.title} entry per project only; leave out --scope ${scope}`,
    );
  }
  const inside = scope === "project" ? root : undefined;
  const before = readText(file, shown, inside);
  if (!before.ok) return before;
  return ok({ change: { file, shown, inside, before: before.value }, path: [client.key, serverName] });
}

/** The entry as the file has it; undefined when there is none. */
export function readEntry(place: EntryPlace): Result<JsonObject | undefined> {
  const open = openFile(place);
  if (!open.ok) return open;
  const { change, path } = open.value;
  return entryIn(place.client, change, path);
}

function entryIn(
  { format, dialect = lenient }: Client,
  { before = "", shown }: Omit<Change, "after">,
  path: [string, string],
) {
  return format === "toml"
    ? readTomlEntry({ text: before, shown, path })
    : readJsonEntry({ text: before, shown, path, dialect });
}

/** The change that adds our entry or brings it up to date. An entry of the same name that is not ours is refused. */
export function connectChange(place: EntryPlace, server: ServerCommand): Result<Change> {
  const open = openFile(place);
  if (!open.ok) return open;
  const { change, path } = open.value;
  const { client, scope } = place;
  const found = entryIn(client, change, path);
  if (!found.ok) return found;
  if (found.value && !isOurs(found.value)) {
    const started = commandOf(found.value).join(" ") || "no command";
    return refuse(
      "conflict",
      `${change.shown} has an entry ${serverName} that starts something else (${started}); rename or remove it first`,
    );
  }
  const entry = client.entry(server, scope);
  const after = withEntry(client, change, path, entry);
  return after.ok ? ok({ ...change, after: after.value }) : after;
}

function withEntry(
  client: Client,
  change: Omit<Change, "after">,
  path: [string, string],
  entry: JsonObject,
): Result<string> {
  const { before = "", shown } = change;
  if (client.format === "toml") {
    return setTomlEntry({ text: before, shown, path }, entry as { [key: string]: string | string[] });
  }
  if (before.trim() !== "")
    return setJsonEntry({ text: before, shown, path, dialect: client.dialect ?? lenient }, entry);
  const [group, name] = path;
  return ok(`${JSON.stringify({ ...client.skeleton, [group]: { [name]: entry } }, null, 2)}\n`);
}

/** The change that removes our entry; undefined when there is none of ours. */
export function disconnectChange(place: EntryPlace): Result<Change | undefined> {
  const open = openFile(place);
  if (!open.ok) return open;
  const { change, path } = open.value;
  const { before, shown } = change;
  // Comments that the client does not read must not keep our entry in the file.
  const client = { ...place.client, dialect: lenient };
  const found = entryIn(client, change, path);
  if (!found.ok) return before?.includes(serverName) ? found : ok(undefined);
  if (before === undefined || !found.value || !isOurs(found.value)) return ok(undefined);
  const { format, dialect } = client;
  const at = { text: before, shown, path };
  const after = format === "toml" ? removeTomlEntry(at) : removeJsonEntry({ ...at, dialect });
  return after.ok ? ok({ ...change, after: after.value }) : after;
}

/** True if two texts of the file have the same settings apart from our entry; an empty list of servers is none. */
export function sameOtherwise({ client }: EntryPlace, a: string, b: string): boolean {
  const others = (text: string) => {
    const all = (client.format === "toml" ? tomlSettings(text) : jsonSettings(text)) ?? {};
    const { [serverName]: _ours, ...servers } = (all[client.key] ?? {}) as JsonObject;
    return JSON.stringify({ ...all, [client.key]: servers });
  };
  return others(a) === others(b);
}

/** True if the entry starts Scriptorium: `scriptorium mcp`, `npx scriptorium@… mcp` or `node …/scriptorium.js mcp`. */
export function isOurs(entry: JsonObject): boolean {
  const words = commandOf(entry);
  return words.includes("mcp") && words.some((word) => /^scriptorium(\.js)?(@.*)?$/.test(basename(word)));
}

/** The words of an entry's command: a string with args, or for opencode one list. */
export function commandOf({ command, args }: JsonObject): string[] {
  return [command, args].flat().filter((word): word is string => typeof word === "string");
}
