/** The part of Scriptorium that does not work until a setting is allowed. */
export type TrustArea = "database" | "search" | "agents" | "server";

export type SensitiveKey = {
  /** As a phrase without a subject. */
  why: string;
  area: TrustArea;
  /** Values that need no confirmation. An empty list never needs one. */
  safe?: readonly unknown[];
  /** The largest number that needs no confirmation. */
  most?: number;
  /** True if words of the value may name files of the repository that are then run. */
  runs?: true;
};

const runs = (why: string, safe: readonly string[] = []): SensitiveKey => ({ why, area: "agents", safe, runs: true });
const agents = (why: string, safe: readonly unknown[] = []): SensitiveKey => ({ why, area: "agents", safe });

const server = (why: string, safe: readonly unknown[] = []): SensitiveKey => ({ why, area: "server", safe });

const limit = (what: string, most: number): SensitiveKey => ({
  why: `raises the limit of ${what} of agents and their commands`,
  area: "agents",
  most,
});

/** The keys of src/config/sandbox.ts and network.ts. */
const sandboxIn = (block: string): Record<string, SensitiveKey> => ({
  [`${block}.sandbox`]: agents("runs agents and their commands without a sandbox, with your permissions", [
    "auto",
    "bubblewrap",
  ]),
  [`${block}.read`]: agents("shows these paths to agents and their commands"),
  [`${block}.own`]: agents("lets agents read and write these paths"),
  [`${block}.network`]: agents("lets agents reach every public address", ["off", "model-only"]),
  [`${block}.network_hosts`]: agents("lets agents reach these hosts"),
  [`${block}.limits.memory_mb`]: limit("memory", 4096),
  [`${block}.limits.processes`]: limit("processes", 1024),
  [`${block}.limits.cpu_minutes`]: limit("CPU time", 120),
  [`${block}.limits.disk_mb`]: limit("disk space", 4096),
});

/**
 * Every key of scriptorium.yaml. A key is sensitive if it runs a program, sends data or a secret to an address, or
 * weakens a protection: a cloned repository must not decide that. `plain` keys take effect at once. A test compares
 * the list with the schema, so that a new key cannot be forgotten.
 */
export const keyTrust: Readonly<Record<string, "plain" | SensitiveKey>> = {
  name: "plain",
  wiki: "plain",
  sources: "plain",
  store: {
    why: "runs this module in every Scriptorium process, with your permissions, and stores all entries in it",
    area: "database",
    safe: ["files", "database"],
    runs: true,
  },
  database: {
    why: "stores and reads everything in a database at this address, with your PostgreSQL password",
    area: "database",
    safe: ["sqlite"],
  },
  "postgresql.listen": {
    why: "connects to a database at this address, with your PostgreSQL password",
    area: "database",
  },
  "postgresql.connections": "plain",
  "postgresql.connect_timeout": "plain",
  "postgresql.statement_timeout": "plain",
  "postgresql.retry_timeout": "plain",
  "postgresql.start_timeout": "plain",
  approvals: "plain",
  book_branch: "plain",
  "retention.events_days": "plain",
  "retention.logs_days": "plain",
  "retention.runs_days": "plain",
  port: "plain",
  host: server("opens the server to other machines at this address", ["localhost", "127.0.0.1", "::1"]),
  base_url: server("accepts requests of browsers at this address"),
  trusted_proxies: server("believes these addresses which client and which host a request is from"),
  "tls.certificate": server("serves HTTPS with this certificate"),
  "tls.key": server("serves HTTPS with this key"),

  "oidc.issuer": server("lets this provider decide who signs in, and sends SCRIPTORIUM_OIDC_CLIENT_SECRET to it"),
  "oidc.client_id": server("accepts people who signed in to this client of the provider"),
  "oidc.label": "plain",
  "oidc.scopes": "plain",
  "oidc.name_claim": server("takes the names of people from this claim", ["name"]),
  "oidc.groups_claim": server("takes the groups of people from this claim", ["groups"]),
  "oidc.ranks": server("gives this rank to everybody in the group"),
  "oidc.default_rank": server("gives this rank to everybody whom the provider knows", ["none"]),
  "oidc.session_hours": "plain",

  "claims.strategy": "plain",
  "claims.lease_seconds": "plain",

  "crew.workers": "plain",
  ...sandboxIn("crew"),
  "crew.setup": "plain",
  "crew.setup_minutes": "plain",
  "crew.registry_hosts": agents("lets install scripts reach these hosts"),
  "crew.command_seconds": "plain",
  "crew.attempt_minutes": "plain",
  "crew.idle_minutes": "plain",
  "crew.budget.run_tokens": "plain",
  "crew.budget.run_usd": "plain",
  "crew.budget.task_tokens": "plain",
  "crew.budget.task_usd": "plain",
  "crew.budget.attempt_tokens": "plain",
  "crew.budget.attempt_usd": "plain",
  "crew.budget.attempt_output_tokens": "plain",
  "crew.outage_minutes": "plain",
  "crew.packs": "plain",
  "crew.pack_mb": "plain",
  "crew.reports": "plain",
  "crew.questions": "plain",
  "crew.agents.<name>.runner": "plain",
  "crew.agents.<name>.model": "plain",
  "crew.agents.<name>.role": "plain",
  "crew.agents.<name>.answer_tokens": "plain",
  "crew.models.<name>.context_tokens": "plain",
  "crew.models.<name>.answer_tokens": "plain",
  "crew.agents.<name>.command": runs("runs this program in runs"),
  "crew.providers.<name>.kind": "plain",
  "crew.providers.<name>.base_url": agents("sends prompts and the API key to this address"),
  "crew.providers.<name>.key_env": agents("sends the value of this environment variable to the model server"),
  "crew.prices.<name>.input": agents("counts budgets in US dollars with this price"),
  "crew.prices.<name>.output": agents("counts budgets in US dollars with this price"),
  "crew.prices.<name>.cache_read": agents("counts budgets in US dollars with this price"),
  "crew.prices.<name>.cache_write": agents("counts budgets in US dollars with this price"),

  "agent.author_name": "plain",
  "agent.author_email": "plain",
  "agent.runner": "plain",
  "agent.claude_bin": runs("runs this program as Claude Code", ["claude", ""]),
  "agent.codex_bin": runs("runs this program as Codex", ["codex", ""]),
  "agent.command": runs("runs this program for jobs and runs"),
  "agent.args": runs("adds these arguments to Claude Code or Codex, which can turn off its permission checks"),
  "agent.model": "plain",
  "agent.env": agents("passes these environment variables to agents"),
  "agent.scribe_bin": runs("runs this program as scribe", [""]),
  "agent.wb_agent_bin": runs("runs this program as scribe", [""]),
  "agent.isolation": agents("runs agents of jobs in the repository, whose hooks and settings then run", ["scratch"]),
  ...sandboxIn("agent"),
  "agent.max_concurrent_jobs": "plain",
  "agent.incorporate_timeout": "plain",
  "agent.perspective_timeout": "plain",
  "agent.recheck_timeout": "plain",
  "agent.idle_timeout": "plain",
  "agent.log_dir": agents("writes the logs of agents to this folder", [""]),

  "personas[].name": "plain",
  "personas[].description": "plain",
  "personas[].guidance": "plain",

  "session.role": "plain",
  "session.start_tokens": "plain",
  "session.recall_tokens": "plain",
  "session.ask_to_record": "plain",

  "search.embeddings.url": {
    why: "sends the text of pages and queries, and SCRIPTORIUM_EMBEDDINGS_KEY, to this address",
    area: "search",
  },
  "search.embeddings.model": "plain",
};
