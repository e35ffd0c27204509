import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import * as z from "zod";
import { type CrewConfig, crewBlock } from "./config/crew.ts";
import { ok, type Result, refuse } from "./result.ts";
import type { DatabaseAddress } from "./store/database.ts";
import { readYaml } from "./yaml.ts";

export const configName = "scriptorium.yaml";

const folder = z
  .string()
  .regex(/^(?!\.\.?(\/|$))[\w.-]+(\/(?!\.\.?(\/|$))[\w.-]+)*$/, "expected a folder inside the workspace, such as wiki");

export const configFile = z.strictObject({
  name: z.string().trim().min(1).max(200).optional().describe("What people call this workspace"),
  wiki: folder.default("wiki").describe("The folder of the knowledge base, with its schema.yaml"),
  sources: folder.default("sources").describe("The folder of immutable raw inputs"),
  store: z
    .enum(["files", "database"], { error: "expected files or database" })
    .default("files")
    .describe("Where entries are kept: as markdown files in git, or in the database"),
  database: z
    .string()
    .regex(/^(sqlite$|postgres(ql)?:\/\/)/, "expected sqlite, or a PostgreSQL address such as postgres://host/name")
    .default("sqlite")
    .describe("sqlite (in .scriptorium/), or a PostgreSQL address; SCRIPTORIUM_DATABASE_URL goes before it"),
  claims: z
    .strictObject({
      strategy: z
        .enum(["queue", "lease", "optimistic"], { error: "expected queue, lease or optimistic" })
        .default("queue"),
      lease_seconds: z.number().min(1).max(86_400).default(300),
    })
    .default({ strategy: "queue", lease_seconds: 300 })
    .describe("How workers come to their tasks, and how long one keeps a task without a sign of life"),
  crew: crewBlock.describe("Who plays which part in a run, on what, and how far it may go"),
  port: z.int().min(0).max(65_535).default(4750).describe("Where `scriptorium serve` listens on this machine"),
});

export type Environment = Record<string, string | undefined>;

export type Config = {
  root: string;
  name: string;
  wiki: string;
  sources: string;
  store: "files" | "database";
  database: DatabaseAddress;
  claims: { strategy: "queue" | "lease" | "optimistic"; leaseMs: number };
  crew: CrewConfig;
  port: number;
  /** Git-ignored: database, token, locks. */
  stateFolder: string;
  environment: Environment;
};

/** The environment is read here and nowhere else. */
export const environment = (): Environment => ({ ...process.env });

/** The workspace that holds `from`: the nearest folder upwards with a scriptorium.yaml. */
export function findWorkspace(from: string): Result<string> {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    if (existsSync(join(folder, configName))) return ok(folder);
    if (folder === dirname(folder)) break;
  }
  return refuse(
    "not_found",
    `no ${configName} in ${resolve(from)} or above it; make a workspace with: scriptorium init`,
  );
}

export function loadConfig(root: string, env: Environment): Result<Config> {
  const text = readFileSync(join(root, configName), "utf8");
  const read = readYaml(text, configFile, { file: configName, maxBytes: 256 * 1024 });
  if (!read.ok) return read;
  const { value } = read.value;
  const stateFolder = join(root, ".scriptorium");
  const url = env.SCRIPTORIUM_DATABASE_URL ?? (value.database === "sqlite" ? undefined : value.database);
  return ok({
    root,
    name: value.name ?? root.split("/").at(-1) ?? "workspace",
    wiki: value.wiki,
    sources: value.sources,
    store: value.store,
    database: url ? { engine: "postgres", url } : { engine: "sqlite", file: join(stateFolder, "scriptorium.db") },
    claims: { strategy: value.claims.strategy, leaseMs: value.claims.lease_seconds * 1000 },
    crew: value.crew,
    port: value.port,
    stateFolder,
    environment: env,
  });
}
