import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import * as z from "zod";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { readYaml } from "../kernel/yaml.ts";
import type { DatabaseAddress } from "../store/database.ts";
import { type CrewConfig, crewBlock } from "./crew.ts";
import { type PersonaDefinition, personaList } from "./persona.ts";

export const configName = "scriptorium.yaml";

const folder = z
  .string()
  .regex(/^(?!\.\.?(\/|$))[\w.-]+(\/(?!\.\.?(\/|$))[\w.-]+)*$/, "expected a folder inside the workspace, such as wiki");

const line = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .regex(/^[^\u0000-\u001f<>]*$/, "expected one line without < and >");

const durationText = z.string().regex(/^(\d+(ms|s|m|h))+$/, "expected a duration such as 90s, 5m or 1h30m");
const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Parses a duration such as 1h30m to milliseconds. */
const milliseconds = (text: string) =>
  [...text.matchAll(/(?<!\d)(\d+)(ms|s|m|h)/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * (units[unit ?? ""] ?? 0),
    0,
  );

const duration = durationText.refine((text) => {
  const ms = milliseconds(text);
  return ms >= 1000 && ms <= 24 * 3_600_000;
}, "expected between 1s and 24h");

const argument = z
  .string()
  .max(4000)
  .regex(/^[^\u0000]*$/, "expected text without NUL");
const variable = z.string().regex(/^[A-Za-z_]\w*$/, "expected the name of an environment variable");

const agentBlock = z.strictObject({
  author_name: line.describe("Author name of agents' commits"),
  author_email: line.describe("Author email of agents' commits"),
  runner: z
    .enum(["claude", "codex", "acp", "command"], { error: "expected claude, codex, acp or command" })
    .default("claude")
    .describe("Agent that runs jobs: claude, codex, any ACP agent, or any command"),
  claude_bin: argument.min(1).optional().describe("Path of Claude Code; default: claude in PATH"),
  codex_bin: argument.min(1).optional().describe("Path of Codex; default: codex in PATH"),
  command: z
    .array(argument)
    .min(1)
    .optional()
    .describe(
      "Command line for the runners acp and command; placeholders: {prompt}, {prompt_file}, {cwd}, {model}, {mcp_config}",
    ),
  args: z.array(argument).default([]).describe("Additional arguments for claude or codex"),
  model: line.optional().describe("Model; default: the agent's own choice"),
  env: z.array(variable).default([]).describe("Names of additional environment variables to pass to the agent"),
  scribe_bin: argument.min(1).optional().describe("Path of scribe; default: the one in this package"),
  wb_agent_bin: argument.min(1).optional().describe("Old name of scribe_bin"),
  isolation: z
    .enum(["scratch", "workspace"], { error: "expected scratch or workspace" })
    .default("scratch")
    .describe(
      "scratch: copies in a temporary folder, without a shell; workspace: in the repository, with its settings",
    ),
  max_concurrent_jobs: z.int().min(1).max(64).default(1).describe("Maximum number of jobs at the same time"),
  incorporate_timeout: duration.default("5m").describe("Time limit of a job of kind incorporate"),
  perspective_timeout: duration.default("3m").describe("Time limit of a job of kind perspective"),
  idle_timeout: duration.optional().describe("Stop an agent that prints nothing for this long"),
  log_dir: argument.min(1).optional().describe("Folder of agents' logs; default: .scriptorium/agent-logs"),
});

export const configFile = z.strictObject({
  name: z.string().trim().min(1).max(200).optional().describe("Name of the workspace; default: the name of its folder"),
  wiki: folder.default("wiki").describe("Folder of the wiki, with its schema.yaml"),
  sources: folder.default("sources").describe("Folder of sources"),
  store: z
    .enum(["files", "database"], { error: "expected files or database" })
    .default("files")
    .describe("Where entries are stored: markdown files in git, or the database"),
  database: z
    .string()
    .regex(/^(sqlite$|postgres(ql)?:\/\/)/, "expected sqlite, or a PostgreSQL URL such as postgres://host/name")
    .default("sqlite")
    .describe("sqlite (in .scriptorium/), or a PostgreSQL URL; SCRIPTORIUM_DATABASE_URL overrides it"),
  claims: z
    .strictObject({
      strategy: z
        .enum(["queue", "lease", "optimistic"], { error: "expected queue, lease or optimistic" })
        .default("queue"),
      lease_seconds: z.number().min(1).max(86_400).default(300),
    })
    .default({ strategy: "queue", lease_seconds: 300 })
    .describe("How workers claim tasks, and the lease of a claim in seconds"),
  crew: crewBlock.describe("Agents of runs, their models and limits"),
  agent: agentBlock.optional().describe("Agent for jobs; jobs are disabled without it"),
  personas: personaList.default([]).describe("Personas for all pages; a page can define its own in its frontmatter"),
  search: z
    .strictObject({
      embeddings: z
        .strictObject({
          url: z.url({ protocol: /^https?$/, error: "expected a URL such as http://127.0.0.1:11434/v1" }),
          model: z.string().min(1).max(200),
        })
        .optional(),
    })
    .default({})
    .describe("Embeddings server instead of the local model; SCRIPTORIUM_EMBEDDINGS_KEY is its key"),
  port: z.int().min(0).max(65_535).default(4750).describe("Port of scriptorium serve"),
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
  /** Undefined when the workspace configures no agent. */
  agent: AgentConfig | undefined;
  /** The personas of all pages. */
  personas: PersonaDefinition[];
  /** An embedding server, instead of a local model. */
  embeddings: { url: string; model: string; key: string | undefined } | undefined;
  /** The folder of the local model, shared by all workspaces of this person. */
  modelFolder: string;
  port: number;
  /** Git-ignored: database, token, locks. */
  stateFolder: string;
  environment: Environment;
};

export type AgentConfig = {
  author: { name: string; email: string };
  runner: "claude" | "codex" | "acp" | "command";
  /** As configured: relative to the workspace, or looked up on PATH. */
  claudeBin: string;
  codexBin: string;
  command: string[];
  args: string[];
  model: string | undefined;
  env: string[];
  scribeBin: string | undefined;
  isolation: "scratch" | "workspace";
  maxConcurrentJobs: number;
  incorporateMs: number;
  perspectiveMs: number;
  idleMs: number | undefined;
  logDir: string;
};

/** The only place that reads the environment. */
export const environment = (): Environment => ({ ...process.env });

/** The cache folder: files that can be downloaded again and belong to no workspace. */
export const cacheFolder = (env: Environment) =>
  join(env.XDG_CACHE_HOME ?? join(env.HOME ?? homedir(), ".cache"), "scriptorium");

/** The workspace of `from`: the nearest parent folder with a scriptorium.yaml. */
export function findWorkspace(from: string): Result<string> {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    if (existsSync(join(folder, configName))) return ok(folder);
    if (folder === dirname(folder)) break;
  }
  return refuse(
    "not_found",
    `${resolve(from)} is not in a workspace: no ${configName} here or in a parent folder. Create a workspace with: scriptorium init`,
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
    agent: value.agent && agentFrom(value.agent, root, stateFolder),
    personas: value.personas,
    embeddings: value.search.embeddings && { ...value.search.embeddings, key: env.SCRIPTORIUM_EMBEDDINGS_KEY },
    modelFolder: env.SCRIPTORIUM_MODEL_FOLDER ?? join(cacheFolder(env), "models", "all-MiniLM-L6-v2"),
    port: value.port,
    stateFolder,
    environment: env,
  });
}

const agentFrom = (block: z.infer<typeof agentBlock>, root: string, stateFolder: string): AgentConfig => ({
  author: { name: block.author_name, email: block.author_email },
  runner: block.runner,
  claudeBin: block.claude_bin ?? "claude",
  codexBin: block.codex_bin ?? "codex",
  command: block.command ?? [],
  args: block.args,
  model: block.model,
  env: block.env,
  scribeBin: block.scribe_bin ?? block.wb_agent_bin,
  isolation: block.isolation,
  maxConcurrentJobs: block.max_concurrent_jobs,
  incorporateMs: milliseconds(block.incorporate_timeout),
  perspectiveMs: milliseconds(block.perspective_timeout),
  idleMs: block.idle_timeout === undefined ? undefined : milliseconds(block.idle_timeout),
  logDir: block.log_dir === undefined ? join(stateFolder, "agent-logs") : resolve(root, block.log_dir),
});
