import { existsSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import * as z from "zod";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { readYaml } from "../kernel/yaml.ts";
import type { Environment } from "./environment.ts";

type Blocks = { agent: z.ZodObject; crew: z.ZodObject; search: z.ZodObject };

/** A person's own settings for all workspaces. They need no confirmation and override those of a workspace. */
export const userFileOf = ({ agent, crew, search }: Blocks) =>
  z.strictObject({
    trusted_folders: z
      .array(z.string().refine((path) => isAbsolute(path) || path.startsWith("~/"), "expected an absolute path"))
      .max(100)
      .optional()
      .describe("Folders whose workspaces may use every setting without `scriptorium allow`: absolute, or `~/…`"),
    agent: agent
      .partial()
      .optional()
      .describe("The keys of `agent`. A workspace without an `agent` block uses them only with both author keys"),
    crew: crew.partial().optional().describe("The keys of `crew`"),
    search: search.partial().optional().describe("The keys of `search`"),
  });

export type UserFile = {
  file: string;
  trustedFolders: string[];
  /** The keys as written, for `overrideWith`. */
  settings: Record<string, unknown>;
};

export function readUserFile(env: Environment, schema: ReturnType<typeof userFileOf>): Result<UserFile> {
  const home = env.HOME ?? homedir();
  const file = join(env.XDG_CONFIG_HOME || join(home, ".config"), "scriptorium", "config.yaml");
  if (!existsSync(file)) return ok({ file, trustedFolders: [], settings: {} });
  if (statSync(file).mode & 0o022)
    return refuse("denied", `${file} is writable by other users; run: chmod go-w ${file}`);
  const read = readYaml(readFileSync(file, "utf8"), schema, { file, maxBytes: 256 * 1024 });
  if (!read.ok) return read;
  const { trusted_folders = [] } = read.value.value;
  const { trusted_folders: _folders, ...settings } = (read.value.document.toJS() ?? {}) as Record<string, unknown>;
  const trustedFolders = trusted_folders.map((path) => (path.startsWith("~/") ? join(home, path.slice(2)) : path));
  return ok({ file, trustedFolders, settings });
}

/** Maps that are one setting: half of a person's model server with half of a repository's would mix key and address. */
const wholes = [/^crew\.providers\.[^.]+$/, /^crew\.prices\./, /^search\.embeddings$/];

/** The settings of a workspace, with those of the person in their place. */
export function overrideWith(own: Record<string, unknown>, workspace: Record<string, unknown>): unknown {
  const { agent, ...rest } = own;
  const isWhole = isMap(agent) && "author_name" in agent && "author_email" in agent;
  return merged("agent" in workspace || isWhole ? own : rest, workspace);
}

function merged(own: unknown, workspace: unknown, at = ""): unknown {
  if (own === undefined) return workspace;
  if (!isMap(own) || !isMap(workspace) || wholes.some((whole) => whole.test(at))) return own;
  const names = new Set([...Object.keys(workspace), ...Object.keys(own)]);
  return Object.fromEntries(
    [...names].map((name) => [name, merged(own[name], workspace[name], at === "" ? name : `${at}.${name}`)]),
  );
}

/** True if the person's file sets this key, or a whole that it belongs to. */
export function isSetIn(settings: unknown, path: readonly string[]): boolean {
  let here = settings;
  for (const name of path) {
    if (!isMap(here) || !Object.hasOwn(here, name)) return false;
    here = here[name];
  }
  return true;
}

/** Every key that a person's file sets, for `doctor`. */
export const keysSetIn = (settings: unknown, at = ""): string[] =>
  isMap(settings)
    ? Object.entries(settings).flatMap(([name, value]) => keysSetIn(value, at === "" ? name : `${at}.${name}`))
    : [at];

const isMap = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === "object" && !Array.isArray(value);
