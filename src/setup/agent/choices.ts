import type { Environment } from "../../config/environment.ts";

/** An agent program that can be set up without editing scriptorium.yaml: its runner, and the variables that it needs. */
export type AgentChoice = {
  /** As in `clients`. */
  name: string;
  runner: "claude" | "codex" | "acp";
  /** For the runner `acp`. */
  command?: readonly string[];
  /** Variables that the runner does not pass by itself. */
  variables: readonly string[];
  install: string;
  signIn: string;
};

export const agentChoices: readonly AgentChoice[] = [
  {
    name: "claude",
    runner: "claude",
    variables: [],
    install: "npm install -g @anthropic-ai/claude-code",
    signIn: "claude auth login, or export ANTHROPIC_API_KEY=…",
  },
  {
    name: "codex",
    runner: "codex",
    variables: [],
    install: "npm install -g @openai/codex",
    signIn: "codex login, or export OPENAI_API_KEY=…",
  },
  {
    name: "gemini",
    runner: "acp",
    command: ["gemini", "--acp", "--skip-trust"],
    variables: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    install: "npm install -g @google/gemini-cli",
    signIn: "gemini (and sign in), or export GEMINI_API_KEY=…",
  },
  {
    name: "qwen",
    runner: "acp",
    command: ["qwen", "--acp"],
    variables: ["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"],
    install: "npm install -g @qwen-code/qwen-code",
    signIn: "qwen (and sign in), or export OPENAI_API_KEY=…",
  },
  {
    name: "opencode",
    runner: "acp",
    command: ["opencode", "acp"],
    variables: ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"],
    install: "npm install -g opencode-ai",
    signIn: "opencode auth login, or export ANTHROPIC_API_KEY=…",
  },
  {
    name: "copilot",
    runner: "acp",
    command: ["copilot", "--acp"],
    variables: ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"],
    install: "npm install -g @github/copilot",
    signIn: "copilot (and /login), or export COPILOT_GITHUB_TOKEN=…",
  },
];

/** Variables with a key of a model. Only their names are ever shown. */
const keyVariables = [
  "ANTHROPIC_API_KEY",
  "ANTHROPIC_AUTH_TOKEN",
  "CLAUDE_CODE_OAUTH_TOKEN",
  "OPENAI_API_KEY",
  "CODEX_API_KEY",
  "GEMINI_API_KEY",
  "GOOGLE_API_KEY",
  "COPILOT_GITHUB_TOKEN",
  "GH_TOKEN",
  "GITHUB_TOKEN",
];

export const keysIn = (env: Environment): string[] => keyVariables.filter((name) => env[name]);

/** The keys of `agent` that a choice sets; undefined removes one. Others of the block stay. */
export function keysFor(choice: AgentChoice, model: string | undefined, env: Environment, before: AgentBlock) {
  const passed = choice.variables.filter((name) => env[name]);
  const names = [...new Set([...(before.env ?? []), ...passed])];
  return {
    runner: choice.runner,
    model,
    command: choice.command && [...choice.command],
    // Arguments of one program mean nothing to another.
    ...((before.runner ?? "claude") === choice.runner ? {} : { args: undefined }),
    ...(passed.length > 0 ? { env: names } : {}),
  };
}

export type AgentBlock = { runner?: string; env?: string[]; command?: string[]; model?: string };
