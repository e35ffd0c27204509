import { basename } from "node:path";
import type { Environment } from "../config/environment.ts";
import { list } from "../kernel/nearest.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { ProcessInfo } from "./ancestors.ts";

/** Variables that an agent program sets for the commands it runs. IDEs set others in the terminals of people. */
const variables: Readonly<Record<string, string>> = {
  SCRIPTORIUM_JOB: "a job of Scriptorium",
  SCRIPTORIUM_RUN: "an agent of Scriptorium",
  CLAUDECODE: "Claude Code",
  CLAUDE_CODE_ENTRYPOINT: "Claude Code",
  CODEX_CI: "Codex",
  CODEX_SANDBOX: "Codex",
  CODEX_SANDBOX_NETWORK_DISABLED: "Codex",
  CODEX_THREAD_ID: "Codex",
  GEMINI_CLI: "Gemini CLI",
  QWEN_CODE: "Qwen Code",
  OPENCODE: "opencode",
  COPILOT_CLI: "Copilot CLI",
  COPILOT_AGENT_SESSION_ID: "Copilot",
  CURSOR_AGENT: "Cursor's agent",
  GOOSE_TERMINAL: "Goose",
  CLINE_ACTIVE: "Cline",
  AUGMENT_AGENT: "Auggie",
  ANTIGRAVITY_AGENT: "Antigravity",
  AI_AGENT: "an AI agent",
};

/** `AGENT` has other meanings too, so only the values that agent programs give it count. */
const agentValues = new Set(["1", "true", "amp", "crush", "goose", "opencode", "claude", "codex", "gemini", "qwen"]);

/** Agent programs by the name of their executable: a command can be started without the variables, not without a parent. */
const programs: Readonly<Record<string, string>> = {
  claude: "Claude Code",
  codex: "Codex",
  gemini: "Gemini CLI",
  qwen: "Qwen Code",
  opencode: "opencode",
  copilot: "Copilot CLI",
  "cursor-agent": "Cursor's agent",
  aider: "Aider",
  amp: "Amp",
  crush: "Crush",
  goose: "Goose",
  auggie: "Auggie",
};

const interpreters = /^(node|nodejs|bun|deno|python[\d.]*|uv|uvx)$/;

/** The agent that a process belongs to, and how it was recognised. */
export type AgentMark = { agent: string; because: string };

/** The agent that this process belongs to: by its own environment, or by that or the program of an ancestor. */
export function agentMark(env: Environment, ancestors: readonly ProcessInfo[]): AgentMark | undefined {
  const own = variableIn(env);
  if (own) return { agent: own.agent, because: `${own.name} is set` };
  for (const { pid, env: inherited, args } of ancestors) {
    const variable = variableIn(inherited);
    if (variable) return { agent: variable.agent, because: `${variable.name} is set in its parent process ${pid}` };
    const program = programOf(args);
    const agent = program === undefined ? undefined : programs[program];
    if (agent) return { agent, because: `its parent process ${pid} is ${program}` };
  }
  return undefined;
}

function variableIn(env: Environment): { name: string; agent: string } | undefined {
  const found = Object.entries(variables).find(([name]) => env[name]);
  if (found) return { name: found[0], agent: found[1] };
  const { AGENT = "" } = env;
  return agentValues.has(AGENT.toLowerCase()) ? { name: "AGENT", agent: "an AI agent" } : undefined;
}

/** The name of the program, or of the script that an interpreter runs. */
function programOf(args: readonly string[]): string | undefined {
  const [first = "", ...rest] = args;
  const name = plainName(first);
  if (!interpreters.test(name)) return known(name);
  const script = rest.find((word) => !word.startsWith("-"));
  return script === undefined ? undefined : known(plainName(script));
}

const plainName = (path: string) => basename(path).replace(/\.(m?js|cjs|exe|py)$/, "");
const known = (name: string) => (Object.hasOwn(programs, name) ? name : undefined);

/**
 * The job that this process was started for. It is read from the ancestors too, because a command can drop the
 * variable, and it must be the same everywhere, because a command can name another job.
 */
export function jobMark(env: Environment, ancestors: readonly ProcessInfo[]): Result<string | undefined> {
  const jobs = new Set([env, ...ancestors.map((one) => one.env)].flatMap((one) => one.SCRIPTORIUM_JOB || []));
  if (jobs.size > 1)
    return refuse("denied", `SCRIPTORIUM_JOB names ${list([...jobs])}; a command belongs to the job that started it`);
  return ok([...jobs][0]);
}
