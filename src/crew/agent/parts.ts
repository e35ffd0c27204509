import { allowed } from "../../agents/environment.ts";
import type { OwnModelLimits } from "../../agents/model/model-limits.ts";
import { configuredProviders, needsKey } from "../../agents/model/providers.ts";
import { modelRunner } from "../../agents/model.ts";
import { modelVariables } from "../../agents/model-variables.ts";
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

/** The agent that the configuration names for a part; the default is Claude Code, as for jobs. */
export function chosenAgent({ crew, agent }: Config, part: CrewPart) {
  const wanted = { ...crew.agents.all, ...crew.agents[part] };
  const runner: RunnerName = wanted.runner ?? agent?.runner ?? "claude";
  return {
    runner,
    command: wanted.command ?? agent?.command ?? [],
    model: wanted.model ?? (runner === "model" ? undefined : agent?.model),
    role: wanted.role ?? usualRoles[part],
  };
}

export function configuredAgents(config: Config): CrewAgents {
  const made = new Map<string, Result<Runner>>();
  return (part) => {
    const trusted = config.trust.check("agents");
    if (!trusted.ok) return trusted;
    const { runner: name, command, model, role } = chosenAgent(config, part);
    const key = `${name} ${command.join("\0")}`;
    const runner = made.get(key) ?? makers[name](config, command);
    made.set(key, runner);
    if (!runner.ok) return runner;
    if (name === "model" && !model) {
      return refuse(
        "invalid",
        `scriptorium.yaml: crew.agents.${part} has the runner model but no model; add model: provider/model`,
      );
    }
    const { environment, agent } = config;
    const env = allowed(environment, [...(agent?.env ?? []), ...modelVariables(name, environment)]);
    return ok({ runner: runner.value, model, role, env });
  };
}

/** The providers whose models a task may name: those with a key, if the part calls models over an API. */
export const usableProviders = (config: Config, part: CrewPart): string[] =>
  chosenAgent(config, part).runner === "model"
    ? Object.entries(configuredProviders(config.crew.providers, config.environment))
        .filter(([name, provider]) => !needsKey(provider) && (name !== "ollama" || "ollama" in config.crew.providers))
        .map(([name]) => name)
    : [];

/** The roles of the templates; another schema names its own under crew.agents. */
const usualRoles: Partial<Record<CrewPart, string>> = { pm: "planner", worker: "engineer", qc: "architect" };

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
    ok(
      modelRunner({
        providers: configuredProviders(crew.providers, environment),
        models: modelLimits(crew.models),
        prices: pricesFrom(crew.prices),
      }),
    ),
};

const modelLimits = (models: Config["crew"]["models"]): OwnModelLimits =>
  Object.fromEntries(
    Object.entries(models).map(([name, { context_tokens: contextTokens, answer_tokens: answerTokens }]) => [
      name,
      { ...(contextTokens ? { contextTokens } : {}), ...(answerTokens ? { answerTokens } : {}) },
    ]),
  );

const needsCommand = (name: string) =>
  `scriptorium.yaml: the runner ${name} needs a command; add command: [program, argument]`;
