/**
 * Every environment variable of Scriptorium, with its meaning. docs/reference/environment.md is generated
 * from these lists, and a test compares them with the names that the source uses.
 */
export const userVariables = {
  SCRIPTORIUM_BASE_URL:
    "Public address of the server, such as `https://wiki.example.org`. Overrides `base_url` in scriptorium.yaml.",
  SCRIPTORIUM_CLAIM_SECRET:
    "Secret of the claim that `scribe`, `scriptorium mcp --task` and `scriptorium task release` write under. Unlike `--secret`, it is not visible in the list of processes.",
  SCRIPTORIUM_DATABASE_URL:
    "PostgreSQL address. Overrides `database` in scriptorium.yaml, so that the password need not be in git.",
  SCRIPTORIUM_DATABASE_LISTEN_URL:
    "PostgreSQL address for LISTEN, where `SCRIPTORIUM_DATABASE_URL` is a pooler. Overrides `postgresql.listen` in scriptorium.yaml.",
  SCRIPTORIUM_DEBUG: "Any value prints the stack trace of an unexpected error.",
  SCRIPTORIUM_EMBEDDINGS_KEY: "API key of the embedding server in `search.embeddings`.",
  SCRIPTORIUM_HOOK_MS:
    "Time limit of `scriptorium hook` in milliseconds, for slow machines. The default is 800 for prompts and 4000 at the start of a session.",
  SCRIPTORIUM_LOG: "Log level of `scriptorium serve`: `debug`, `info`, `warn` or `error`. The default is `warn`.",
  SCRIPTORIUM_OIDC_CLIENT_SECRET:
    "Secret of the OIDC client in `oidc`. It is read here and in your own settings only, never from scriptorium.yaml.",
  SCRIPTORIUM_TRUSTED_FOLDERS:
    "Folders, separated as in `PATH`, whose workspaces may use every setting without `scriptorium allow`; for CI and containers.",
  SCRIPTORIUM_MODEL_FOLDER:
    "Folder of the local embedding model. The default is `scriptorium/models` in `XDG_CACHE_HOME` or `~/.cache`.",
  SCRIPTORIUM_TOKEN:
    "Token of a person, for scripts: commands act as that person, and decisions such as `proposal approve` need no confirmation. `--token` overrides it.",
} as const;

/** Set by Scriptorium for the processes it starts; users do not set them. */
export const processVariables = {
  SCRIPTORIUM_JOB: "Id of the job that an agent and its commands belong to.",
  SCRIPTORIUM_RUN: "Marks every process of a job or an attempt, so that processes left behind are found and ended.",
  SCRIPTORIUM_SOCKET:
    "Socket on which `scribe` calls the tools of its job, instead of a workspace. Set for every process of a job.",
} as const;

/** Variables with a meaning elsewhere that Scriptorium reads too. */
export const knownVariables = {
  ANTHROPIC_API_KEY: "API key of the provider `anthropic`, and of Claude Code when it runs for a crew.",
  OPENAI_API_KEY: "API key of the provider `openai`, and of Codex when it runs for a crew.",
  CLAUDE_PROJECT_DIR: "Folder in which `scriptorium hook` looks for the workspace; Claude Code sets it.",
  EDITOR: "Editor for `scriptorium plan --open`. `VISUAL` overrides it.",
  XDG_CONFIG_HOME: "Parent folder of `scriptorium/config.yaml`, your own settings. The default is `~/.config`.",
  XDG_STATE_HOME:
    "Parent folder of `scriptorium/allowed`, the settings that you allowed. The default is `~/.local/state`.",
  XDG_CACHE_HOME: "Parent folder of the cache for the embedding model. The default is `~/.cache`.",
} as const;
