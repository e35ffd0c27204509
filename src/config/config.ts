import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import * as z from "zod";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { readYaml } from "../kernel/yaml.ts";
import type { DatabaseAddress } from "../store/database.ts";
import { defaultLimits } from "../store/postgres/limits.ts";
import { type CrewConfig, crewBlock } from "./crew.ts";
import { cacheFolder, configName, type Environment, stateFolderOf } from "./environment.ts";
import { type NetworkMode, networkHosts, networkMode } from "./network.ts";
import { type OidcConfig, oidcBlock, ownOidcBlock, withoutSecret } from "./oidc.ts";
import { type PersonaDefinition, personaList } from "./persona.ts";
import { type SandboxConfig, sandboxKeys } from "./sandbox.ts";
import { baseUrlIn, serverKeys, trustedProxiesIn } from "./server.ts";
import { type SessionConfig, sessionBlock } from "./session.ts";
import { type SettingsTrust, settingsTrust } from "./settings-trust.ts";
import { sensitiveSettings } from "./trust/settings.ts";
import { openTrust } from "./trust.ts";
import { isSetIn, keysSetIn, overrideWith, readUserFile, userFileOf } from "./user-file.ts";

const folder = z
  .string()
  .regex(/^(?!\.\.?(\/|$))[\w.-]+(\/(?!\.\.?(\/|$))[\w.-]+)*$/, "expected a folder inside the workspace, such as wiki");

/** As `git check-ref-format --branch` accepts it, without spaces and revision syntax. */
export const branchName = z
  .string()
  .max(200)
  .regex(
    /^(?![-/.])(?!.*(?:\.\.|\/\/|\/\.|@\{|\.lock(?:\/|$)))[^\u0000-\u0020\u007f~^:?*[\\]*[^\u0000-\u0020\u007f~^:?*[\\./]$/,
    "expected the name of a git branch, such as wiki",
  );

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
  author_name: line.describe("Git author name of what agents propose"),
  author_email: line
    .regex(/^[^\s@,;:"()[\]\\]+@[^\s@,;:"()[\]\\]+$/, "expected an e-mail address such as agent@example.org")
    .describe("Git author e-mail address of what agents propose"),
  runner: z
    .enum(["claude", "codex", "acp", "command"], { error: "expected claude, codex, acp or command" })
    .default("claude")
    .describe("Which agent runs jobs: Claude Code, Codex, any ACP agent, or any other command"),
  claude_bin: argument.optional().describe("Path of Claude Code; `claude` in PATH if empty or left out"),
  codex_bin: argument.optional().describe("Path of Codex; `codex` in PATH if empty or left out"),
  command: z
    .array(argument)
    .min(1)
    .optional()
    .describe(
      "Program and arguments of an `acp` or `command` agent. `{prompt}`, `{prompt_file}`, `{cwd}`, `{model}` and `{mcp_config}` are replaced; no shell is involved",
    ),
  args: z.array(argument).default([]).describe("Further arguments for Claude Code or Codex"),
  model: line.optional().describe("Model to request; the agent's own default if left out"),
  env: z.array(variable).default([]).describe("Names of further environment variables that the agent gets"),
  scribe_bin: argument.optional().describe("Path of `scribe`; the one of this installation if empty or left out"),
  wb_agent_bin: argument.optional().describe("Older name of `scribe_bin`"),
  isolation: z
    .enum(["scratch", "workspace"], { error: "expected scratch or workspace" })
    .default("scratch")
    .describe(
      "Where the agent runs. `scratch`: in a temporary folder with copies of the pages, without a shell. `workspace`: in the repository, read-only, whose hooks and settings then run in the sandbox",
    ),
  network: networkMode,
  network_hosts: networkHosts,
  ...sandboxKeys,
  max_concurrent_jobs: z.int().min(1).max(64).default(1).describe("Maximum number of jobs that run at once"),
  incorporate_timeout: duration.default("5m").describe("Time limit of an `incorporate` job, such as 90s or 5m"),
  perspective_timeout: duration.default("3m").describe("Time limit of a `perspective` job"),
  recheck_timeout: duration.default("5m").describe("Time limit of a `recheck` job"),
  idle_timeout: duration.optional().describe("Stop an agent that prints nothing for this long; no limit if left out"),
  log_dir: argument
    .optional()
    .describe("Folder of the agents' logs; `.scriptorium/agent-logs` if left out, no log files if empty"),
});

const postgresUrl = z.string().regex(/^postgres(ql)?:\/\//, "expected a PostgreSQL URL such as postgres://host/name");

const postgresqlBlock = z
  .strictObject({
    listen: postgresUrl
      .optional()
      .describe(
        "Address of the server itself, for LISTEN, where `database` is a pooler such as PgBouncer. The variable `SCRIPTORIUM_DATABASE_LISTEN_URL` overrides it",
      ),
    connections: z
      .int()
      .min(2)
      .max(200)
      .default(defaultLimits.connections)
      .describe("Maximum number of connections of one process, apart from the one that listens"),
    connect_timeout: duration.default("5s").describe("Time limit for opening a connection"),
    statement_timeout: duration
      .default("1m")
      .describe("Time limit of one statement, with its wait for locks. Migrations, rebuilds and moves have none"),
    retry_timeout: duration
      .default("5s")
      .describe("How long a call waits for a database that was lost, before it fails"),
    start_timeout: duration.default("30s").describe("How long a process that starts waits for the database"),
  })
  .prefault({});

const searchKeys = z.strictObject({
  embeddings: z
    .strictObject({
      url: z
        .url({ protocol: /^https?$/, error: "expected an address such as http://127.0.0.1:11434/v1" })
        .describe("Address of a server with the OpenAI embeddings API, such as Ollama"),
      model: z.string().min(1).max(200).describe("Model name on that server"),
    })
    .optional()
    .describe("Embedding server to use instead of the local model; its key is in `SCRIPTORIUM_EMBEDDINGS_KEY`"),
});

export const configFile = z.strictObject({
  name: z
    .string()
    .trim()
    .min(1)
    .max(200)
    .optional()
    .describe("Name of the workspace, shown in the browser; the folder's name if left out"),
  wiki: folder.default("wiki").describe("Folder of the wiki with its `schema.yaml`"),
  sources: folder.default("sources").describe("Folder of the sources"),
  store: z
    .string()
    .regex(
      /^(files|database|\.\.?\/[^\u0000-\u001f]+\.m?js)$/,
      "expected files, database, or the path of a module such as ./my-store.js",
    )
    .default("files")
    .describe(
      "Where entries are stored: `files` is markdown in git, `database` is rows in the database, `./my-store.js` is a store of your own",
    ),
  database: z
    .string()
    .regex(/^(sqlite$|postgres(ql)?:\/\/)/, "expected sqlite, or a PostgreSQL URL such as postgres://host/name")
    .default("sqlite")
    .describe(
      "`sqlite` (a file in `.scriptorium/`), or a PostgreSQL address. The variable `SCRIPTORIUM_DATABASE_URL` overrides it",
    ),
  postgresql: postgresqlBlock.describe("Connections to PostgreSQL"),
  book_branch: branchName
    .optional()
    .describe(
      "Branch for commits of entries and sources. Your own branch then gets only pages that you approve. The branch that is checked out if left out",
    ),
  claims: z
    .strictObject({
      strategy: z
        .enum(["queue", "lease", "optimistic"], { error: "expected queue, lease or optimistic" })
        .default("queue")
        .describe("How a worker claims a task: atomic dequeue, explicit lock, or version check"),
      lease_seconds: z
        .number()
        .min(1)
        .max(86_400)
        .default(300)
        .describe("Lease duration in seconds; renewed by heartbeats"),
    })
    .default({ strategy: "queue", lease_seconds: 300 })
    .describe("How workers claim tasks"),
  crew: crewBlock.describe("The agents of a run, their sandbox and their limits"),
  agent: agentBlock.optional().describe("The agent that runs jobs. Without this block, jobs are off"),
  personas: personaList
    .default([])
    .describe("Readers that pages can be rewritten for. A page can define its own in its frontmatter"),
  session: sessionBlock.describe("Interactive agents: their role, and what hooks add to their sessions"),
  search: searchKeys.default({}).describe("Search by meaning"),
  approvals: z
    .enum(["recorded", "signed"], { error: "expected recorded or signed" })
    .default("recorded")
    .describe(
      "`recorded`: an approval names the person. `signed`: it is also signed with their SSH or GPG key, as `user.signingkey` and `gpg.format` of git say, in the database and on the commit; `doctor` verifies it",
    ),
  port: z.int().min(0).max(65_535).default(4750).describe("Port of `scriptorium serve`; 0 takes a free port"),
  ...serverKeys,
  oidc: oidcBlock.optional().describe("Sign-in with an identity provider (OpenID Connect)"),
});

/** The person's own file: the blocks whose keys may be sensitive. */
export const userFile = userFileOf({ agent: agentBlock, crew: crewBlock.unwrap(), search: searchKeys }).extend({
  ...{ host: serverKeys.host, base_url: serverKeys.base_url, tls: serverKeys.tls },
  trusted_proxies: serverKeys.trusted_proxies.unwrap().optional(),
  oidc: ownOidcBlock.optional().describe("The keys of `oidc`, and the secret of the client"),
});

export type Config = {
  root: string;
  name: string;
  wiki: string;
  sources: string;
  store: "files" | "database" | "module";
  /** The path of the module, relative to the workspace; set when `store` is `module`. */
  storeModule: string | undefined;
  database: DatabaseAddress;
  /** The branch of entries and sources; undefined for the one that is checked out. */
  bookBranch: string | undefined;
  claims: { strategy: "queue" | "lease" | "optimistic"; leaseMs: number };
  crew: CrewConfig;
  /** Undefined when the workspace configures no agent. */
  agent: AgentConfig | undefined;
  /** The personas of all pages. */
  personas: PersonaDefinition[];
  session: SessionConfig;
  /** An embedding server, instead of a local model. */
  embeddings: { url: string; model: string; key: string | undefined } | undefined;
  /** The folder of the local model, shared by all workspaces of this person. */
  modelFolder: string;
  approvals: "recorded" | "signed";
  port: number;
  /** The address to listen on; undefined for both loopback addresses. */
  host: string | undefined;
  /** The public origin, such as https://wiki.example.org. */
  baseUrl: string | undefined;
  /** Addresses and networks whose forwarded headers are used. */
  trustedProxies: string[];
  /** PEM files, relative to the workspace. */
  tls: { certificate: string; key: string } | undefined;
  oidc: OidcConfig | undefined;
  /** Git-ignored: database, token, locks. */
  stateFolder: string;
  environment: Environment;
  /** Whether sensitive settings of the file may be used. */
  trust: SettingsTrust;
  /** The person's own file, and the keys that it sets. */
  own: { file: string; keys: string[] };
};

export type AgentConfig = SandboxConfig & {
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
  network: NetworkMode;
  networkHosts: string[];
  maxConcurrentJobs: number;
  incorporateMs: number;
  perspectiveMs: number;
  recheckMs: number;
  idleMs: number | undefined;
  /** Undefined when agents have no log files. */
  logDir: string | undefined;
};

/** The local embedding model, which all workspaces of a person share. */
export const modelFolderOf = (env: Environment) =>
  env.SCRIPTORIUM_MODEL_FOLDER ?? join(cacheFolder(env), "models", "all-MiniLM-L6-v2");

export function loadConfig(root: string, env: Environment): Result<Config> {
  const text = readFileSync(join(root, configName), "utf8");
  const read = readYaml(text, configFile, { file: configName, maxBytes: 256 * 1024 });
  if (!read.ok) return read;
  const own = readUserFile(env, userFile);
  if (!own.ok) return own;
  const { file, trustedFolders, settings: all } = own.value;
  const { secret, rest: settings } = withoutSecret(all);
  const written: Record<string, unknown> = read.value.document.toJS() ?? {};
  const isAlone = Object.keys(settings).length === 0;
  const merged = isAlone ? undefined : configFile.safeParse(overrideWith(settings, written));
  if (merged?.success === false)
    return refuse("invalid", `${file} with ${configName}: ${z.prettifyError(merged.error)}`);
  const value = merged?.data ?? read.value.value;
  const baseUrl = baseUrlIn(env);
  if (!baseUrl.ok) return baseUrl;
  const proxies = trustedProxiesIn(env);
  if (!proxies.ok) return proxies;
  const isOwn = (path: readonly string[]) =>
    isSetIn(settings, path) ||
    (path[0] === "database" && env.SCRIPTORIUM_DATABASE_URL !== undefined) ||
    (path.join(".") === "postgresql.listen" && env.SCRIPTORIUM_DATABASE_LISTEN_URL !== undefined) ||
    (path[0] === "base_url" && baseUrl.value !== undefined) ||
    (path[0] === "trusted_proxies" && proxies.value !== undefined);
  const stateFolder = stateFolderOf(root);
  const url = env.SCRIPTORIUM_DATABASE_URL ?? (value.database === "sqlite" ? undefined : value.database);
  return ok({
    root,
    name: value.name ?? root.split("/").at(-1) ?? "workspace",
    wiki: value.wiki,
    sources: value.sources,
    store: value.store === "files" || value.store === "database" ? value.store : "module",
    storeModule: value.store.startsWith(".") ? value.store : undefined,
    database: url
      ? postgresAt(url, value.postgresql, env)
      : { engine: "sqlite", file: join(stateFolder, "scriptorium.db") },
    bookBranch: value.book_branch,
    claims: { strategy: value.claims.strategy, leaseMs: value.claims.lease_seconds * 1000 },
    crew: value.crew,
    agent: value.agent && agentFrom(value.agent, root, stateFolder),
    personas: value.personas,
    session: value.session,
    embeddings: value.search.embeddings && { ...value.search.embeddings, key: env.SCRIPTORIUM_EMBEDDINGS_KEY },
    modelFolder: modelFolderOf(env),
    approvals: value.approvals,
    port: value.port,
    host: value.host === "localhost" ? undefined : value.host,
    baseUrl: baseUrl.value ?? value.base_url,
    trustedProxies: proxies.value ?? value.trusted_proxies,
    tls: value.tls,
    oidc: value.oidc && { ...value.oidc, clientSecret: env.SCRIPTORIUM_OIDC_CLIENT_SECRET || secret },
    stateFolder,
    environment: env,
    trust: settingsTrust(openTrust(root, env, trustedFolders), () => sensitiveSettings(value, root, isOwn)),
    own: { file, keys: keysSetIn(all) },
  });
}

const postgresAt = (url: string, block: z.infer<typeof postgresqlBlock>, env: Environment): DatabaseAddress => ({
  engine: "postgres",
  url,
  listenUrl: env.SCRIPTORIUM_DATABASE_LISTEN_URL ?? block.listen,
  limits: {
    connections: block.connections,
    connectMs: milliseconds(block.connect_timeout),
    statementMs: milliseconds(block.statement_timeout),
    retryMs: milliseconds(block.retry_timeout),
    startMs: milliseconds(block.start_timeout),
  },
});

const agentFrom = (block: z.infer<typeof agentBlock>, root: string, stateFolder: string): AgentConfig => ({
  author: { name: block.author_name, email: block.author_email },
  runner: block.runner,
  claudeBin: block.claude_bin || "claude",
  codexBin: block.codex_bin || "codex",
  command: block.command ?? [],
  args: block.args,
  model: block.model,
  env: block.env,
  scribeBin: block.scribe_bin || block.wb_agent_bin || undefined,
  isolation: block.isolation,
  network: block.network,
  networkHosts: block.network_hosts,
  sandbox: block.sandbox,
  read: block.read,
  own: block.own,
  limits: block.limits,
  maxConcurrentJobs: block.max_concurrent_jobs,
  incorporateMs: milliseconds(block.incorporate_timeout),
  perspectiveMs: milliseconds(block.perspective_timeout),
  recheckMs: milliseconds(block.recheck_timeout),
  idleMs: block.idle_timeout === undefined ? undefined : milliseconds(block.idle_timeout),
  logDir: logFolder(block.log_dir, root, stateFolder),
});

function logFolder(configured: string | undefined, root: string, stateFolder: string): string | undefined {
  if (configured === "") return undefined;
  return configured === undefined ? join(stateFolder, "agent-logs") : resolve(root, configured);
}
