import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, relative } from "node:path";
import type { Environment } from "../../config/environment.ts";
import type { JsonDialect, JsonObject } from "./json-entry.ts";
import { workspaceFolder } from "./launch.ts";

export type Scope = "project" | "user";
export type ServerCommand = { command: string; args: readonly string[] };

/** Where and how a client keeps its MCP servers. */
export type Client = {
  name: string;
  title: string;
  /** Programs on PATH that show that the client is installed. */
  programs: readonly string[];
  /** The npm package of the program, whose package.json has the version. */
  package?: string;
  /** Variables and files whose presence shows a login; their contents are never read. */
  login?: { variables: readonly string[]; files: (env: Environment) => readonly string[] };
  /** Files by scope, relative to the workspace or to the home folder; an existing one is preferred to the first. */
  files: { project: readonly string[]; user?: (env: Environment) => readonly string[] };
  format: "json" | "toml";
  /** What its JSON may have; comments and trailing commas if left out. */
  dialect?: JsonDialect;
  /** The key that holds the servers. */
  key: string;
  entry(server: ServerCommand, scope: Scope): JsonObject;
  /** Added to the arguments where the client starts servers outside the project. */
  args?: readonly string[];
  /** Keys of a file that is created. */
  skeleton?: JsonObject;
  /** What the client asks or needs before it starts the server of a project. */
  first: string;
};

const strictJson: JsonDialect = { comments: false, trailingCommas: false };
const withComments: JsonDialect = { comments: true, trailingCommas: false };

const stdio = ({ command, args }: ServerCommand) => ({ type: "stdio", command, args: [...args] });
const plain = ({ command, args }: ServerCommand) => ({ command, args: [...args] });
export const homeOf = (env: Environment) => env.HOME ?? homedir();

/** The formats and dialects were checked against each CLI itself, and for Cursor and VS Code against their documentation. */
export const clients: readonly Client[] = [
  {
    name: "claude",
    title: "Claude Code",
    programs: ["claude"],
    package: "@anthropic-ai/claude-code",
    login: {
      variables: ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
      files: (env) => [join(env.CLAUDE_CONFIG_DIR ?? join(homeOf(env), ".claude"), ".credentials.json")],
    },
    files: { project: [".mcp.json"], user: (env) => [join(env.CLAUDE_CONFIG_DIR ?? homeOf(env), ".claude.json")] },
    format: "json",
    dialect: strictJson,
    key: "mcpServers",
    entry: stdio,
    first: "Claude Code asks once whether to use the project's server: start `claude` here and approve it.",
  },
  {
    name: "codex",
    title: "Codex",
    programs: ["codex"],
    package: "@openai/codex",
    login: {
      variables: ["OPENAI_API_KEY", "CODEX_API_KEY"],
      files: (env) => [join(env.CODEX_HOME ?? join(homeOf(env), ".codex"), "auth.json")],
    },
    files: {
      project: [".codex/config.toml"],
      user: (env) => [join(env.CODEX_HOME ?? join(homeOf(env), ".codex"), "config.toml")],
    },
    format: "toml",
    key: "mcp_servers",
    entry: plain,
    first: "Codex reads a project's servers only in a trusted folder: start `codex` here and trust it.",
  },
  {
    name: "cursor",
    title: "Cursor",
    programs: ["cursor", "cursor-agent"],
    files: { project: [".cursor/mcp.json"], user: (env) => [join(homeOf(env), ".cursor/mcp.json")] },
    format: "json",
    key: "mcpServers",
    entry: plain,
    // Cursor starts servers in the home folder.
    args: ["--dir", workspaceFolder],
    first: "In Cursor, enable scriptorium under Settings, Tools & MCP.",
  },
  {
    name: "vscode",
    title: "VS Code",
    programs: ["code"],
    files: { project: [".vscode/mcp.json"] },
    format: "json",
    key: "servers",
    entry: stdio,
    args: ["--dir", workspaceFolder],
    first: "VS Code asks whether to trust the server when it first starts it.",
  },
  {
    name: "gemini",
    title: "Gemini CLI",
    programs: ["gemini"],
    package: "@google/gemini-cli",
    login: {
      variables: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
      files: (env) => [join(homeOf(env), ".gemini/oauth_creds.json")],
    },
    files: { project: [".gemini/settings.json"], user: (env) => [join(homeOf(env), ".gemini/settings.json")] },
    format: "json",
    dialect: withComments,
    key: "mcpServers",
    entry: plain,
    first: "Gemini CLI starts servers only in a trusted folder: start `gemini` here and trust it.",
  },
  {
    name: "opencode",
    title: "opencode",
    programs: ["opencode"],
    package: "opencode-ai",
    login: {
      variables: ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"],
      files: (env) => [join(env.XDG_DATA_HOME ?? join(homeOf(env), ".local/share"), "opencode/auth.json")],
    },
    files: {
      project: ["opencode.json", "opencode.jsonc"],
      user: (env) =>
        ["opencode.json", "opencode.jsonc"].map((file) =>
          join(env.XDG_CONFIG_HOME ?? join(homeOf(env), ".config"), "opencode", file),
        ),
    },
    format: "json",
    key: "mcp",
    entry: ({ command, args }) => ({ type: "local", command: [command, ...args], enabled: true }),
    skeleton: { $schema: "https://opencode.ai/config.json" },
    first: "opencode starts the server with the next session.",
  },
  {
    name: "qwen",
    title: "Qwen Code",
    programs: ["qwen"],
    package: "@qwen-code/qwen-code",
    login: { variables: ["OPENAI_API_KEY"], files: (env) => [join(homeOf(env), ".qwen/oauth_creds.json")] },
    files: { project: [".qwen/settings.json"], user: (env) => [join(homeOf(env), ".qwen/settings.json")] },
    format: "json",
    dialect: withComments,
    key: "mcpServers",
    entry: plain,
    first: "Qwen Code starts the server with the next session.",
  },
  {
    name: "copilot",
    title: "GitHub Copilot CLI",
    programs: ["copilot"],
    package: "@github/copilot",
    login: { variables: ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"], files: () => [] },
    files: {
      // The file of Claude Code, which Copilot CLI reads too: one entry serves both.
      project: [".mcp.json"],
      user: (env) => [join(env.COPILOT_HOME ?? join(homeOf(env), ".copilot"), "mcp-config.json")],
    },
    format: "json",
    dialect: strictJson,
    key: "mcpServers",
    entry: (server, scope) => (scope === "project" ? stdio(server) : { ...stdio(server), type: "local", tools: ["*"] }),
    first: "Copilot CLI reads a project's servers only in a trusted folder: start `copilot` here and trust it.",
  },
];

/** The name of our server in every client. */
export const serverName = "scriptorium";

/** The file of a client in a scope, absolute; undefined where the client has no such scope. */
export function fileOf({ files }: Client, scope: Scope, root: string, env: Environment): string | undefined {
  const candidates = scope === "project" ? files.project.map((file) => join(root, file)) : (files.user?.(env) ?? []);
  return candidates.find((file) => existsSync(file)) ?? candidates[0];
}

/** The file's name in messages: relative to the workspace, or to the home folder as ~. */
export function shownFile(client: Client, scope: Scope, root: string, env: Environment): string | undefined {
  const file = fileOf(client, scope, root, env);
  if (file === undefined || scope === "project") return file && relative(root, file);
  return file.startsWith(`${homeOf(env)}/`) ? `~${file.slice(homeOf(env).length)}` : file;
}
