import { accessSync, constants, mkdirSync, realpathSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { AgentConfig, Config } from "../config/config.ts";
import { builtFile, packageFile } from "../kernel/package-files.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { privateFolder } from "../store/disk/private.ts";
import { installation } from "./agent-sandbox.ts";
import { allowed } from "./environment.ts";
import { modelVariables } from "./model-variables.ts";
import { noAgent } from "./no-agent.ts";
import type { StopTimeouts } from "./process.ts";
import { findProgram } from "./program.ts";
import { acpRunner } from "./programs/acp.ts";
import { claudeRunner } from "./programs/claude.ts";
import { codexRunner } from "./programs/codex.ts";
import { commandRunner } from "./programs/command.ts";
import type { Runner } from "./runner.ts";
import type { Sandbox } from "./sandbox/access.ts";
import { findSandbox } from "./sandbox.ts";
import { skillsFolder } from "./skills.ts";

/** The configured agent, with its programs resolved on this machine. */
export type AgentSetup = {
  agent: AgentConfig;
  runner: Runner;
  /** Absolute path of the `scribe` command, and the files that it needs. */
  scribe: string;
  scribeFiles: readonly string[];
  skills: string;
  env: Record<string, string>;
  /** The sandbox of the agent; undefined for an agent in this process. Refuses where there is none. */
  findSandbox?(): Promise<Result<Sandbox>>;
};

/** Checks that the configured programs are executable and the log folder is writable (R17). */
export function setUpAgent(config: Config, stopTimeouts?: StopTimeouts): Result<AgentSetup> {
  const { agent, root, environment } = config;
  if (!agent) return noAgent();
  const trusted = config.trust.check("agents");
  if (!trusted.ok) return trusted;
  const find = (field: string, name: string) => findConfigured(name, root, environment.PATH ?? "", field);

  const scribe = find("scribe_bin", agent.scribeBin ?? fileURLToPath(builtFile("scribe.js")));
  if (!scribe.ok) return scribe;
  const runner = chooseRunner(agent, find, stopTimeouts);
  if (!runner.ok) return runner;
  const writable = agent.logDir === undefined ? ok(true) : checkFolder(agent.logDir);
  if (!writable.ok) return writable;
  const env = allowed(environment, [...agent.env, ...modelVariables(agent.runner, environment)]);
  return ok({
    agent,
    runner: runner.value,
    // Modules are imported relative to the real path.
    scribe: realpathSync(scribe.value),
    scribeFiles: [
      installation(realpathSync(scribe.value)),
      dirname(fileURLToPath(builtFile("scribe.js"))),
      fileURLToPath(packageFile("package.json")),
    ],
    skills: skillsFolder(),
    env,
    findSandbox: () => findSandbox(agent.sandbox, environment),
  });
}

function chooseRunner(
  agent: AgentConfig,
  find: (field: string, name: string) => Result<string>,
  stopTimeouts: StopTimeouts | undefined,
): Result<Runner> {
  const timeouts = stopTimeouts ? { stopTimeouts } : {};
  const { isolation, args } = agent;
  if (agent.runner === "claude") {
    const bin = find("claude_bin", agent.claudeBin);
    // An agent in the workspace uses the skills installed there (R8).
    const plugin = isolation === "scratch" ? { pluginDir: skillsFolder() } : {};
    return bin.ok ? ok(claudeRunner({ bin: bin.value, args, isolation, ...plugin, ...timeouts })) : bin;
  }
  if (agent.runner === "codex") {
    const bin = find("codex_bin", agent.codexBin);
    return bin.ok ? ok(codexRunner({ bin: bin.value, args, isolation, ...timeouts })) : bin;
  }
  const [name, ...rest] = agent.command;
  if (!name)
    return refuse("invalid", `scriptorium.yaml: agent.command is missing; the runner ${agent.runner} requires it`);
  const bin = find("command", name);
  if (!bin.ok) return bin;
  const argv = [bin.value, ...rest];
  return ok(agent.runner === "acp" ? acpRunner({ argv, isolation, ...timeouts }) : commandRunner(argv, stopTimeouts));
}

function findConfigured(name: string, root: string, path: string, field: string): Result<string> {
  const found = findProgram(name, path, root);
  if (found) return ok(found);
  const where = name.includes("/") ? `${resolve(root, name)} is not executable` : `${name} is not in PATH`;
  return refuse("invalid", `scriptorium.yaml: agent.${field}: ${where}; install it, or set agent.${field} to its path`);
}

function checkFolder(folder: string): Result<true> {
  try {
    mkdirSync(folder, privateFolder);
    accessSync(folder, constants.W_OK);
    return ok(true);
  } catch (error) {
    return refuse("invalid", `scriptorium.yaml: agent.log_dir: cannot write to ${folder}: ${(error as Error).message}`);
  }
}
