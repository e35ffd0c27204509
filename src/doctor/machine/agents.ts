import { allowed } from "../../agents/environment.ts";
import { knownProgram, loginOf } from "../../agents/known-programs.ts";
import { addressOf, configuredProviders, missingKey, needsKey, splitModelName } from "../../agents/model/providers.ts";
import { findProgram } from "../../agents/program.ts";
import { programVersion } from "../../agents/program-version.ts";
import type { Config } from "../../config/config.ts";
import type { Environment } from "../../config/environment.ts";
import { chosenAgent } from "../../crew/agent/parts.ts";
import { type Finding, findingsOf, type Purpose } from "../finding.ts";
import { answers } from "./reach.ts";

/** One agent, with what it is for. */
type Use = {
  purpose: Purpose;
  /** False when it is only the default of something that is not configured. */
  isConfigured: boolean;
  runner: string;
  /** As configured: a name on PATH or a path. */
  program: string;
  model: string | undefined;
  /** Variables that the agent gets, beyond those of the runners claude and codex. */
  env: readonly string[];
};

export const usesCrew = ({ crew, agent }: Config) => agent !== undefined || Object.keys(crew.agents).length > 0;

export async function checkJobAgent(config: Config): Promise<Finding[]> {
  const { agent } = config;
  if (!agent) {
    const { optional } = findingsOf("jobs", "agent");
    const fix = "add to scriptorium.yaml: agent: {author_name: Scriptorium agent, author_email: agent@example.org}";
    return [optional("no agent is configured, so that jobs are off", fix)];
  }
  const program = programOf(config, agent.runner, agent.command);
  const use = { purpose: "jobs" as const, isConfigured: true, runner: agent.runner, program };
  return checkUse({ ...use, model: agent.model, env: agent.env }, config.environment, config.root);
}

export async function checkCrewAgents(config: Config | undefined, env: Environment): Promise<Finding[]> {
  const common = { purpose: "crew" as const, env: config?.agent?.env ?? [] };
  if (!config)
    return checkUse(
      { ...common, isConfigured: false, runner: "claude", program: "claude", model: undefined },
      env,
      "/",
    );
  const uses = new Map<string, Use>();
  for (const part of ["pm", "worker", "qc"] as const) {
    const { runner, command, model } = chosenAgent(config, part);
    const program = programOf(config, runner, command);
    const use = { ...common, isConfigured: usesCrew(config), runner, program, model };
    uses.set(runner === "model" ? `model ${splitModelName(model).provider}` : program, use);
  }
  const found = await Promise.all(
    [...uses.values()].map((use) =>
      use.runner === "model" ? checkModel(config, use.model) : checkUse(use, env, config.root),
    ),
  );
  return found.flat();
}

const programOf = ({ agent }: Config, runner: string, command: readonly string[]) =>
  runner === "claude"
    ? (agent?.claudeBin ?? "claude")
    : runner === "codex"
      ? (agent?.codexBin ?? "codex")
      : (command[0] ?? "");

async function checkUse(use: Use, env: Environment, root: string): Promise<Finding[]> {
  const { ok, missing, optional } = findingsOf(use.purpose, "agent");
  const absent = use.isConfigured ? missing : optional;
  if (use.program === "")
    return [missing(`the runner ${use.runner} has no command`, "add command: [program, argument]")];
  const path = findProgram(use.program, env.PATH ?? "", root);
  const known = knownProgram(use.program) ?? knownProgram(use.runner);
  if (!path) {
    const where = use.program.includes("/") ? "is not executable" : "is not in PATH";
    return [absent(`${use.program} ${where}`, known?.install ?? `install ${use.program}, or change scriptorium.yaml`)];
  }
  // A path comes from a file of the repository: found, but not run.
  const version = use.program.includes("/") ? undefined : await programVersion(path, allowed(env, []));
  return [
    ok(`${version ? `${use.program} ${version}` : use.program} (runner ${use.runner})`),
    ...(known ? [checkLogin(use, known, env)] : []),
    ...(use.runner === "claude" ? await checkBaseUrl(use, env) : []),
  ];
}

/** Only whether there is a login; whether it is still valid is known to the program alone. */
function checkLogin(use: Use, known: NonNullable<ReturnType<typeof knownProgram>>, env: Environment): Finding {
  const { ok, missing, warning, optional } = findingsOf(use.purpose, "login");
  const login = loginOf(known, env);
  if (!login) {
    // Claude Code keeps its login in the keychain there.
    if (process.platform === "darwin") return ok(`no login file or variable; it may be in the keychain`);
    return (use.isConfigured ? missing : optional)(`no login or API key found for ${use.program}`, known.login.command);
  }
  if ("file" in login) return ok(`signed in (${login.file})`);
  const isPassed = use.runner === "claude" || use.runner === "codex" || use.env.includes(login.variable);
  if (isPassed) return ok(`${login.variable} is set`);
  const fix = `add to agent in scriptorium.yaml: env: [${login.variable}]`;
  return warning(`${login.variable} is set, but the runner ${use.runner} does not pass it to the agent`, fix);
}

async function checkBaseUrl(use: Use, env: Environment): Promise<Finding[]> {
  const url = env.ANTHROPIC_BASE_URL;
  if (!url) return [];
  const { ok, missing } = findingsOf(use.purpose, "model");
  if (await answers(url)) return [ok(`${url} answers`)];
  return [
    missing(`ANTHROPIC_BASE_URL is ${url}, which does not answer`, "start that server, or: unset ANTHROPIC_BASE_URL"),
  ];
}

async function checkModel(config: Config, model: string | undefined): Promise<Finding[]> {
  const { ok, missing, warning } = findingsOf("crew", "model");
  const { provider: name } = splitModelName(model);
  const provider = configuredProviders(config.crew.providers, config.environment)[name];
  if (!provider) {
    const fix = `add it to crew.providers in scriptorium.yaml`;
    return [missing(`no provider for the model "${model ?? ""}"`, fix)];
  }
  if (needsKey(provider)) return [missing(missingKey(name, provider))];
  const url = addressOf(provider);
  const { HTTPS_PROXY, https_proxy } = config.environment;
  if (url.startsWith("https:") && (HTTPS_PROXY ?? https_proxy))
    return [warning(`${url} was not checked: it is behind a proxy`)];
  const answer = await answers(`${url.replace(/\/$/, "")}/models`);
  if (answer) return [ok(`${model}: ${url} answers`)];
  return [
    missing(`${model}: ${url} does not answer`, "start the server, or change crew.providers in scriptorium.yaml"),
  ];
}
