import { allowed } from "../../agents/environment.ts";
import type { Providers } from "../../agents/model/providers.ts";
import { modelRunner } from "../../agents/model.ts";
import { acpRunner } from "../../agents/programs/acp.ts";
import { claudeRunner } from "../../agents/programs/claude.ts";
import { codexRunner } from "../../agents/programs/codex.ts";
import { commandRunner } from "../../agents/programs/command.ts";
import type { Runner } from "../../agents/runner.ts";
import type { Config } from "../../config/config.ts";
import type { CrewPart } from "../../kernel/caller.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { CrewAgents } from "../record/run-host.ts";
import { pricesFrom } from "./estimate.ts";

type RunnerName = NonNullable<NonNullable<Config["crew"]["agents"]["all"]>["runner"]>;

/** The agents that the configuration names; the default is Claude Code, as for jobs. */
export function configuredAgents(config: Config): CrewAgents {
  const { agents } = config.crew;
  const made = new Map<string, Result<Runner>>();
  return (part) => {
    const wanted = { ...agents.all, ...agents[part] };
    const name = wanted.runner ?? config.agent?.runner ?? "claude";
    const command = wanted.command ?? config.agent?.command ?? [];
    const key = `${name} ${command.join("\0")}`;
    const runner = made.get(key) ?? makers[name](config, command);
    made.set(key, runner);
    if (!runner.ok) return runner;
    const model = wanted.model ?? (name === "model" ? undefined : config.agent?.model);
    if (name === "model" && !model) {
      return refuse(
        "invalid",
        `scriptorium.yaml: crew.agents.${part} has the runner model but no model; add model: provider/model`,
      );
    }
    const role = wanted.role ?? usualRoles[part];
    return ok({
      runner: runner.value,
      model,
      role,
      env: allowed(config.environment, [...(config.agent?.env ?? []), ...credentials[name]]),
    });
  };
}

/** The roles of the templates; another schema names its own under crew.agents. */
const usualRoles: Partial<Record<CrewPart, string>> = { pm: "planner", worker: "engineer", qc: "architect" };

/** Variables with which a program reaches its model; in scratch isolation no tool of the agent can print them. */
const credentials: Record<RunnerName, string[]> = {
  claude: [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_MAX_RETRIES",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS",
  ],
  codex: ["OPENAI_API_KEY", "CODEX_HOME"],
  acp: [],
  command: [],
  model: [],
};

/** Programs with tools of their own may only read with them; they write and run commands through their desk. */
const isolation = "scratch" as const;

const makers: Record<RunnerName, (config: Config, command: string[]) => Result<Runner>> = {
  claude: ({ agent }) => ok(claudeRunner({ bin: agent?.claudeBin ?? "claude", args: agent?.args ?? [], isolation })),
  codex: ({ agent }) => ok(codexRunner({ bin: agent?.codexBin ?? "codex", args: agent?.args ?? [], isolation })),
  acp: (_config, command) =>
    command.length > 0 ? ok(acpRunner({ argv: command, isolation })) : refuse("invalid", needsCommand("acp")),
  command: (_config, command) =>
    command.length > 0 ? ok(commandRunner(command)) : refuse("invalid", needsCommand("command")),
  model: ({ crew, environment }) =>
    ok(modelRunner({ providers: providersFrom(crew, environment), prices: pricesFrom(crew.prices) })),
};

const needsCommand = (name: string) =>
  `scriptorium.yaml: the runner ${name} needs a command; add command: [program, argument]`;

/** Keys are read from the variables that the configuration names, never from the configuration itself. */
function providersFrom({ providers }: Config["crew"], environment: Config["environment"]): Providers {
  const usual: Config["crew"]["providers"] = {
    anthropic: { kind: "anthropic", key_env: "ANTHROPIC_API_KEY" },
    openai: { kind: "openai", key_env: "OPENAI_API_KEY" },
    ollama: { kind: "openai-compatible" },
  };
  const known = Object.entries({ ...usual, ...providers }).map(([name, { kind, base_url, key_env }]) => {
    const key = key_env ? environment[key_env] : undefined;
    return [name, { kind, ...(base_url ? { baseUrl: base_url } : {}), ...(key ? { key } : {}) }] as const;
  });
  return Object.fromEntries(known);
}
