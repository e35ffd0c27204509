import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { configName } from "../../config/environment.ts";
import { readYaml } from "../../kernel/yaml.ts";
import type { Query } from "../../store/database.ts";
import { parseJsonOr } from "../../store/json.ts";
import { findMeta, setMeta } from "../../store/queries/meta.ts";
import type { CrewApp } from "./crew-app.ts";

/** What a worker without a repository needs to know of the workspace. */
const recorded = z.object({
  /** The folder of the workspace in its repository: "" or "docs/". */
  prefix: z.string().regex(/^(?:[^/\0]+\/)*$/),
  /** The format of git's object names. */
  format: z.enum(["sha1", "sha256"]),
  store: z.enum(["files", "database", "module"]),
  wiki: z.string(),
  /** scriptorium.yaml without the keys that belong to one machine. */
  settings: z.string(),
});

export type RecordedWorkspace = z.infer<typeof recorded>;

const key = "workspace";
/** An address may have a password, and a port belongs to one machine. */
const ownKeys = ["database", "port"];

/** Called by machines that have the repository. */
export async function recordWorkspace({ db, git, config, packs }: CrewApp): Promise<void> {
  if (!packs.isOn() || packs.isWorkers()) return;
  const { prefix, format } = await git.place();
  const { store, wiki, root } = config;
  const text = await readFile(join(root, configName), "utf8");
  const read = readYaml(text, z.looseObject({}), { file: configName, maxBytes: 256 * 1024 });
  if (!read.ok) return;
  const { document } = read.value;
  for (const name of ownKeys) document.delete(name);
  const value = JSON.stringify({ prefix, format, store, wiki, settings: String(document) } satisfies RecordedWorkspace);
  if ((await findMeta(db.read, key)) !== value) await db.write((tx) => setMeta(tx, key, value));
}

export async function recordedWorkspace(query: Query): Promise<RecordedWorkspace | undefined> {
  const found = await findMeta(query, key);
  return found === undefined ? undefined : recorded.safeParse(parseJsonOr<unknown>(found, undefined)).data;
}
